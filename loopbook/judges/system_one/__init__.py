"""The judge behind a System One server: TypeSafe's, or any that speaks as it does.

Theory. Everything that can be right or wrong without a network is pure: what is sent (``wire``,
``fitting``), what came (``parsing``, ``numbers``), who is spoken to and how (``address``, ``dialects``).
``client`` makes the request; ``key`` finds the key, which goes into one header and nowhere else;
``lines`` holds what the judges of one process share. Nothing raises out of ``ask``: each way to fail
is a word of ``loopbook.advisors.asking.FAILURES``, and that word is all a book keeps of it.
"""

from loopbook.judges.system_one.client import SystemOne
from loopbook.judges.system_one.dialects import DIALECTS, Dialect
from loopbook.judges.system_one.key import Key
from loopbook.judges.system_one.prices import Price

__all__ = ["DIALECTS", "Dialect", "Key", "Price", "SystemOne"]
