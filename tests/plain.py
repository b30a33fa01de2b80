"""An advisor for tests of the flow."""

from __future__ import annotations

from pydantic import JsonValue

from loopbook.advisors.asking import Answer, Failure, Likely, Noul, Packet
from loopbook.advisors.second_thought import SecondThought
from loopbook.advisors.shape import (
    AskPacket,
    DecideNow,
    Decision,
    Gate,
    PassOver,
    Policy,
    Say,
    Scene,
    Silence,
)
from loopbook.projections import BookState, position


class Plain:
    """An advisor that says what it is told to, by whatever gate it is told."""

    takes_turn = True

    def __init__(self, name: str, gate: str = "now", *, key: str = "k", takes_turn: bool = True) -> None:
        self.name = name
        self.kind = gate
        self.key = key
        self.takes_turn = takes_turn

    def packet(self, state: BookState) -> Packet:
        return Packet({"changes": state.work.last["change"]}, {"ok": Noul("Is it?", "yes", "no")})

    def gate(self, state: BookState, scene: Scene) -> Gate:  # noqa: ARG002 - part of the shape
        packet = self.packet(state)
        gates: dict[str, Gate] = {
            "now": DecideNow(),
            "observe": DecideNow(observe=packet),
            "ask": AskPacket(packet),
            "later": AskPacket(packet, deferred=True),
            "quiet": PassOver("nothing-new"),
            "gone": PassOver("no-loop", written=False),
        }
        return gates[self.kind]

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        if isinstance(answer, Failure):
            return Decision(Silence("judge-failed", answer.kind), judged=False)
        say = Say(f"{self.name} speaks", self.key, state.work.last["change"], continues=True)
        return Decision(say, judged=packet is not None)

    def policy(self) -> Policy:
        settings: dict[str, JsonValue] = {"gate": self.kind, "key": self.key, "takes_turn": self.takes_turn}
        return Policy(versions={"policy": "test"}, settings=settings)

    def under(self, policy: Policy) -> Plain:
        gate, key = policy.settings.get("gate", self.kind), policy.settings.get("key", self.key)
        turn = policy.settings.get("takes_turn", self.takes_turn)
        return type(self)(self.name, str(gate), key=str(key), takes_turn=bool(turn))


class Closer(Plain):
    """One that is asked about a close alone, and objects where it is not likely to be fine."""

    def __init__(self, name: str = "closer", gate: str = "ask", *, key: str = "k", takes_turn: bool = True):
        super().__init__(name, gate, key=key, takes_turn=takes_turn)

    def packet(self, state: BookState) -> Packet:
        asked = {"ok": Noul("Is it?", "yes", "no")}
        return Packet({"claim": state.life.claim}, asked, None, "close")

    def gate(self, state: BookState, scene: Scene) -> Gate:
        return super().gate(state, scene) if state.life.declared else PassOver("nothing-new")

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:
        if not isinstance(answer, Answer):
            return super().decide(state, packet, answer)
        ok = answer.values.get("ok")
        if isinstance(ok, Likely) and ok.noul < 0.5:
            return Decision(Say("not fine", "n", state.life.declared, concerns=("not-fine",), sort="close"))
        return Decision(Silence("agrees", closes=not position(state).missing))


class Facts(Closer):
    """Objects to a close while no source was read; it needs nobody to ask."""

    def decide(self, state: BookState, packet: Packet | None, answer: Answer | Failure | None) -> Decision:  # noqa: ARG002
        if state.work.last["source"]:
            return Decision(Silence("read", closes=True))
        return Decision(Say("read it", "unread", state.life.declared, concerns=("unread",), sort="close"))


class Slow(SecondThought):
    """Takes its time: whatever it asks is asked later."""

    def gate(self, state: BookState, scene: Scene) -> Gate:
        gate = super().gate(state, scene)
        return gate._replace(deferred=True) if isinstance(gate, AskPacket) else gate
