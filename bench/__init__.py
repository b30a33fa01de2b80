"""Benchmarks: ``make bench`` or ``python -m bench``.

Theory. A time says as much of the machine and its other work as of the code; a ratio of two things
done in turn, in the same run, says something of the code. So every row has a reference that does
the least that anybody must do for the same result: raw ``sqlite3`` writing the very rows under the
same pragmas, raw reading and validating, the event store library's own way, a bare Python. What is
measured is the whole of ours: redaction, chain, reservations and catching up are in it.

A row is the median of several rounds, ours and the reference in turn.
"""
