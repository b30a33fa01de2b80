"""The kind and the advisor, proved: in memory, in seconds, with nothing but this file."""

from __future__ import annotations

from pathlib import Path

from data_loss import DataLoss
from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant

from loopbook import Decision, Noticed
from loopbook.advisors.second_thought import SecondThought
from loopbook.kinds import parse
from loopbook.testing import book_machine, walk

KIND = parse(Path(__file__).with_name("migrate.toml").read_text("utf-8"))
ADVISORS = (DataLoss(), SecondThought())


def test_every_short_history_can_be_brought_to_its_close() -> None:
    walked = walk(KIND, depth=2, advisors=ADVISORS)
    assert walked.offence is None, walked.offence


class Migrations(book_machine(KIND, advisors=ADVISORS)):  # type: ignore[misc]  # a class made for this kind
    """Whatever happens to a loop: everything in docs/testing.md, and one claim of our own."""

    @invariant()
    def nobody_is_warned_of_what_the_user_has_decided(self) -> None:
        last = ""
        for entry in self.entries:
            if isinstance(entry.event, Decision):
                last = "decision"
            elif entry.event.type == "change":
                last = "change"
            elif isinstance(entry.event, Noticed) and entry.event.advisor == "data-loss":
                assert last == "change", f"seq {entry.seq}"


TestMigrations = Migrations.TestCase
TestMigrations.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
