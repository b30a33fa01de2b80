"""What a file is that somebody gave as a session: a known host's, another's, or none at all.

Theory. A file is a session as soon as one line of it is a record of a known host, wherever that line
stands and however the file ends; so it is searched until there is one. What is none is named by
what it looks like, so that a packed, empty or mistaken file is told from a session that says little.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loopbook.evidence.shapes import text_of
from loopbook.transcripts.records import BOOKKEEPING

#: Record types of Claude Code.
KNOWN = BOOKKEEPING | {"assistant", "attachment", "progress", "queue-operation", "system", "user"}
#: Record types that only another host writes.
OTHERS = {"session_meta": "Codex", "response_item": "Codex", "turn_context": "Codex", "session": "pi"}
#: How many bytes of a file's beginning tell what it looks like.
HEAD = 4_096

#: First bytes of files that are often given by mistake. What two tell of, the first one names.
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "it is packed with gzip; unpack it first"),
    (b"PK\x03\x04", "it is a zip file; unpack it first"),
    (b"BZh", "it is packed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "it is packed with xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd; unpack it first"),
    (b"SQLite format 3\x00", "it is a SQLite database"),
    (b"\xff\xfe", "it is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16 text; save it as UTF-8"),
    (b"{\x00", "it is UTF-16 text; save it as UTF-8"),
    (b"\x00{", "it is UTF-16 text; save it as UTF-8"),
)


def is_record(record: Mapping[str, object]) -> bool:
    """Whether an object has the shape of Claude Code's records.

    >>> is_record({"type": "user"}), is_record({"type": "new", "uuid": "1"}), is_record({"type": "new"})
    (True, True, False)
    """
    kind = text_of(record, "type")
    return bool(kind) and (kind in KNOWN or bool(text_of(record, "sessionId") or text_of(record, "uuid")))


def other_host(record: Mapping[str, object]) -> str:
    """The host that alone writes such an object, or ""."""
    return "" if "uuid" in record else OTHERS.get(text_of(record, "type"), "")


def looks_like(head: bytes, *, objects: bool = False) -> str:
    """What a file looks like that holds no record; ``objects``: whether it holds JSON objects.

    >>> looks_like(b""), looks_like(b"Dear Ada,")
    ('it is empty', 'it is text, but no JSON Lines')
    """
    for beginning, words in _BEGINNINGS:
        if head.startswith(beginning):
            return words
    if not head.strip():
        return "it holds only blanks" if head else "it is empty"
    if objects:
        return "it holds JSON objects, but no record of a host that is known"
    if b"\x00" in head or not _is_text(head):
        return "it is no text"
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        return "it may be JSON, but has no object on a line of its own"
    return "it is text, but no JSON Lines"


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return len(head) == HEAD and wrong.start > HEAD - 4  # only its last character is cut
    return True


def newest_in(folder: Path) -> Path | None:
    """The session file of a folder that was written last; else of the folders in it."""
    for pattern in ("*.jsonl", "*/*.jsonl"):
        found = [path for path in folder.glob(pattern) if path.is_file()]
        if found:
            return max(found, key=lambda path: (path.stat().st_mtime, path.name))
    return None
