"""Which files a call wrote and read, from its structured arguments alone.

A shell command is never read for files it produced: what it may have written is a mark on
the call (``evidence.writes``), not a path. A call that failed or never ran produced nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from loopbook.evidence.calls import ToolCall
from loopbook.evidence.shapes import list_of, text_of

#: The most paths that are kept of one call.
PATHS = 50

#: Where hosts put the one file of a call.
PATH_KEYS = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "path")
#: Where they put several.
LIST_KEYS = ("files", "edits", "paths", "file_paths")
#: Where the text of a patch stands.
PATCH_KEYS = ("input", "patch", "patchText", "patch_text")

_SLASHES = "/\\"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+)", re.MULTILINE)


def relativize(path: str, cwd: str | None) -> str:
    """The path from ``cwd`` on, where it lies below; else the path as it is.

    Both kinds of slash count and letter case does not: hosts spell one folder in several ways.

    >>> relativize("C:\\\\Work\\\\app\\\\a.py", "c:\\\\work\\\\app\\\\")
    'a.py'
    >>> relativize("/w-other/a.py", "/w")
    '/w-other/a.py'
    """
    root = (cwd or "").rstrip(_SLASHES)
    rest = path[len(root) :]
    if not root or rest[:1] not in ("/", "\\") or path[: len(root)].lower() != root.lower():
        return path
    return rest.lstrip(_SLASHES) or path


def produced(call: ToolCall) -> tuple[str, ...]:
    """The files an edit or a write that went well wrote, relative to its working folder.

    >>> from loopbook.evidence.calls import CallResult
    >>> write = ToolCall("c1", "Write", "write", {"file_path": "/w/a.py"}, CallResult("ok"), cwd="/w")
    >>> produced(write)
    ('a.py',)
    >>> produced(write._replace(result=CallResult("error")))
    ()
    """
    return named(call) if call.kind in ("edit", "write") and _went_well(call) else ()


def touched(call: ToolCall) -> tuple[str, ...]:
    """The files a read that went well looked into.

    >>> from loopbook.evidence.calls import CallResult
    >>> touched(ToolCall("c1", "Read", "read", {"file_path": "b.py"}, CallResult("ok")))
    ('b.py',)
    """
    return named(call) if call.kind == "read" and _went_well(call) else ()


def named(call: ToolCall) -> tuple[str, ...]:
    """The files a call's arguments name, each once, relative to its working folder, at full length.

    >>> args = {"file_path": " /w/a.py ", "edits": [{"path": "b.py"}]}
    >>> named(ToolCall("c1", "Edit", "edit", args, cwd="/w"))
    ('a.py', 'b.py')
    """
    found = (path.strip() for path in _named(call.input))
    return tuple(dict.fromkeys(relativize(path, call.cwd) for path in found if path))[:PATHS]


def diff_summary(call: ToolCall) -> str | None:
    """How many lines came and went, where the host's own diff or the patch says so.

    >>> from loopbook.evidence.calls import CallResult
    >>> data = {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}]}
    >>> diff_summary(ToolCall("c1", "Edit", "edit", {}, CallResult("ok", data=data)))
    '+2 -1'
    """
    data = call.result.data if call.result else None
    lines = [line for hunk in list_of(data, "structuredPatch") or () for line in list_of(hunk, "lines") or ()]
    if not lines and text_of(data, "type") == "create":
        return f"+{len(text_of(call.input, 'content').splitlines())} -0"
    lines = lines or list(text_of(call.input, *PATCH_KEYS).split("\n"))
    added = sum(isinstance(line, str) and line.startswith("+") for line in lines)
    removed = sum(isinstance(line, str) and line.startswith("-") for line in lines)
    return f"+{added} -{removed}" if added or removed else None


def _went_well(call: ToolCall) -> bool:
    return call.result is not None and call.result.status == "ok"


def _named(args: Mapping[str, object]) -> Iterable[str]:
    yield text_of(args, *PATH_KEYS)
    for key in LIST_KEYS:
        for item in list_of(args, key) or ():
            yield item if isinstance(item, str) else text_of(item, *PATH_KEYS)
    changes = args.get("changes")
    if isinstance(changes, Mapping):
        yield from (path for path in changes if isinstance(path, str))
    yield from _PATCHED.findall(text_of(args, *PATCH_KEYS))
