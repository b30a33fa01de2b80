"""An advisor of one's own: could this change lose data?

It asks one question about each change, and speaks when the answer is likely yes and the user has not decided
anything since. Whatever holds for all advisors (never twice, one message a run, so many continuations) is the
flow's; that it keeps quiet while a child is out or the run waits is its own, and it takes that over from
second thought.
"""

from __future__ import annotations

from loopbook.advisors.asking import Answer, Failure, Likely, Noul, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import AskPacket, Decision, Gate, PassOver, Policy, Say, Scene, Silence
from loopbook.projections import BookState
from loopbook.projections.state import Heard

LOSES = Noul(
    "Could `last_change` lose data that people have?",
    "Rows, columns or files that hold data may be gone after it.",
    "Everything that was there can be read after it, or be brought back.",
)
#: Reasons of second thought that are about its own questions, and do not quiet anybody else.
ITS_OWN = ("nothing-new", "not-waiting-unit")


class DataLoss:
    """Warns of a change after which data may be gone."""

    name = "data-loss"
    takes_turn = True
    likely = 0.5

    def gate(self, state: BookState, scene: Scene) -> Gate:
        """Ask about the newest change, once."""
        quiet = SecondThought().gate(state, scene)
        if isinstance(quiet, PassOver) and quiet.reason not in ITS_OWN:
            return quiet
        change, heard = state.work.last["change"], state.loop.heard.get(self.name, Heard())
        if change <= heard.read_to or state.life.declared:
            return PassOver("nothing-new")
        return AskPacket(Packet({"last_change": change, "intent": state.life.intent}, {"loses": LOSES}))

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        """Speak where data may be gone and the user has not decided since."""
        loses = answer.values.get("loses") if isinstance(answer, Answer) else None
        if packet is None or not isinstance(loses, Likely):
            return Decision(Silence("judge-failed"), judged=False)
        last = state.work.last
        if loses.noul < self.likely or last["decision"] > last["change"]:
            return Decision(Silence("agrees"))
        text = "this may lose data: say how it is brought back, and ask the user before going on"
        return Decision(Say(text, f"change {last['change']}", last["change"]))

    def policy(self) -> Policy:
        """What it decides by, as it is kept with each decision."""
        return Policy({"likely": self.likely}, {"policy": "1"})
