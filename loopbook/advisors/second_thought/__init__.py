"""Second thought: does the work behind the computed phase hold?

Theory. A program computes the phase from evidence; a judge only says whether that reading is right.
``SecondThought`` is asked when a run settles and its subject has evidence, or a loose todo, that no
judgment has read, and at a close. It speaks when there is a concern, when todos are loose or when the
run goes on to a phase that continues; else it is silent. Whom it is about is ``subjects``' business,
what the judge sees ``packet``'s, what it is asked ``questions``', what is said ``words``'.
"""

from loopbook.advisors.second_thought.policy import SecondThought, child_of
from loopbook.limits import Thresholds

__all__ = ["SecondThought", "Thresholds", "child_of"]
