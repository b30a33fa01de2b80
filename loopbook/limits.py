"""How long is asked and how much is continued where a caller says nothing else.

Here, so that whoever only records need not import what settles.
"""

from __future__ import annotations

#: How long one settle may ask, and how long what was put off, in seconds.
SETTLE_SEC = 8.0
DELIVER_SEC = 90.0
#: How many runs are continued between two human prompts, over all advisors.
MAX_CONTINUATIONS = 8
