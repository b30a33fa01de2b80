"""No secret and no lone surrogate is stored, whatever the edges forget."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopbook.book import Book
from loopbook.book.hygiene import Hygiene
from loopbook.entry import Draft
from loopbook.events import (
    Change,
    Check,
    Finding,
    Prompted,
    Review,
    Task,
    TodoOpened,
    Unknown,
)  # fmt: skip
from loopbook.evidence.redaction import Redactor
from tests.book.drafts import OWN

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.mark.parametrize(
    "draft",
    [
        Draft(Task(text=f"use {TOKEN}")),
        Draft(Prompted(prompt=TOKEN, text="x")),
        Draft(Check(command=f"curl -H {TOKEN}", outcome="pass", output_tail=TOKEN)),
        Draft(Change(summary="s", paths=("a", TOKEN))),
        Draft(TodoOpened(todo="t", subject="s", followup={"ref": TOKEN})),
        Draft(Review(tier="full", reviewer="r", findings=(Finding(id="f", severity="nit", text=TOKEN),))),
        Draft(Unknown.model_validate({"type": "verdict", "why": {TOKEN: [TOKEN]}})),
        Draft(Task(text="x"), host_ref=TOKEN, session=TOKEN),
        Draft(Task(text="my-own-secret-value")),
        Draft(Unknown.model_validate({"type": "verdict", "api_key": "anything at all"})),
    ],
)
def test_no_text_of_any_event_keeps_a_secret(draft: Draft, tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    with Book(str(path), redactor=Redactor(["my-own-secret-value"])) as book:
        (entry,) = book.record("guard:p", draft)
        assert "redacted" in repr(entry)
        assert [*book.entries("guard:p")] == [entry]
    stored = path.read_bytes()
    for secret in (TOKEN, "my-own-secret-value", "anything at all"):
        assert secret.encode() not in stored


def test_what_has_nothing_to_hide_is_the_same_object() -> None:
    event = Check(command="pytest", outcome="pass", output_tail="x" * 500)
    hygiene = Hygiene(Redactor())
    assert hygiene.model(event) is event
    assert hygiene.model(Check(command="pytest", outcome="pass", output_tail="x" * 500)) == event


def test_surrogates_within_json_are_replaced_too(book: Book) -> None:
    (entry,) = book.record(
        OWN, Draft(Unknown.model_validate({"type": "x", "a": {"\ud800": ["\udc00", {"b": 1}]}}))
    )
    assert entry.event.model_extra == {"a": {"\ufffd": ["\ufffd", {"b": 1}]}}


def test_surrogates_become_replacement_characters(book: Book) -> None:
    (entry,) = book.record(OWN, Draft(Task(text="a\ud800b\x00"), host_ref="\udc00", session="\ud800"))
    assert (entry.event, entry.host_ref, entry.session) == (Task(text="a\ufffdb\x00"), "\ufffd", "\ufffd")


#: What secrets are made of and what stands around them, to be put together in any way.
_PIECES = [
    "API_KEY=", "token: ", '"password": "', "--token ", "abc123XYZ", "hunter2", "ghp_", "A1b2C3" * 6,
    "sk-ant-", "://user:", "@host", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Bearer ",
    "\\", '"', "'", "\n", " ", "x" * 210, "correct horse", "\ud800", "[redacted secret 9 chars]",
    "curl -u ann:", "pass", "eyJ",
]  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)


@given(st.lists(_TEXTS, min_size=1, max_size=5))
def test_texts_side_by_side_are_cleaned_as_each_is_alone(texts: list[str]) -> None:
    redactor = Redactor(["correct horse"])
    event = Change(summary=texts[0], paths=tuple(texts[1:]))
    alone = [Hygiene(redactor).text(text) for text in texts]
    assert Hygiene(redactor).model(event) == event.model_copy(
        update={"summary": alone[0], "paths": tuple(alone[1:])}
    )


@given(st.lists(_TEXTS, min_size=1, max_size=5))
def test_a_batch_is_cleaned_as_each_draft_is_alone(texts: list[str]) -> None:
    whole, alone = Hygiene(Redactor(["correct horse"])), Hygiene(Redactor(["correct horse"]))
    drafts = [Draft(Task(text=text), host_ref=text, session=text) for text in texts]
    assert whole.drafts(drafts) == tuple(
        Draft(alone.model(draft.event), host_ref=alone.text(text), session=alone.text(text))
        for draft, text in zip(drafts, texts, strict=True)
    )
