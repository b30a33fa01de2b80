"""The four questions of second thought. A changed word is another question set: its hash is kept."""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.advisors.asking import Choice, Noul, Question, Score

#: Grows with every change of the wording below.
VERSION = "1"

QUESTIONS: Mapping[str, Question] = {
    "move": Choice(
        "Which move fits the recorded work? `phase.next` is what a program computed from the record; you only"
        " judge whether the work behind it holds. A step's own words may be the agent's unverified claim.",
        {
            "advance": "The work recorded so far is sound enough to go on with `phase.next`.",
            "back": "The work of `phase.current` or before it is wrong or does not serve `intent`, and must"
            " be taken up again before `phase.next`.",
            "ask_user": "Going on needs a decision that only the user can make: `intent` is ambiguous, in"
            " conflict with the record, or would be widened.",
        },
    ),
    "done": Noul(
        "Does the record show that everything `intent` asks for has been done?",
        "Each part of `intent` is met by work in the record, not only announced.",
        "Some part of `intent` is missing from the record, or only claimed.",
    ),
    "review_tier": Choice(
        "Which review does this work still need before it can be relied on?",
        {
            "none": "No further review: the work is small, safe to undo, or has been reviewed enough.",
            "light": "One reader should look over the change for obvious mistakes.",
            "full": "Somebody should examine it thoroughly: it is wide, subtle, or hard to undo.",
        },
    ),
    "quality": Score(
        "How good is the recorded work for its `intent`?",
        (
            "Wrong: it does not do what `intent` asks, or breaks something else.",
            "Thin: it goes in the right direction, with gaps that will be noticed.",
            "Sound: it does what `intent` asks, with small things to improve.",
            "Excellent: complete, careful, and nothing to add.",
        ),
    ),
}
