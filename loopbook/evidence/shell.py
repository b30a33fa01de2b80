"""A command line read with the bash grammar: simple commands and what surrounds them.

Theory. Whether an exit code speaks for a command depends on where the command stands: in a
pipeline, behind ``&&``, before ``|| true``, in a loop. So a line becomes a small tree of six
node types, and every simple command in it is listed once, in source order. Three rules:

1. Reading never fails and never takes long. What the grammar cannot read, and what no person
   would write (very long, very deep), is *broken*: its words are there, its structure is not.
2. What is data is no command: quoted text, comments, the body of a here-document.
3. Wrappers (``env``, ``timeout 60``, ``uv run``, ``bash -c "..."``) are unfolded, so that
   ``levels`` holds the words from the outside to the inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter
import tree_sitter_bash

from loopbook.evidence.shell_tree import (
    Branch,
    Chain,
    Command,
    Group,
    Loose,
    Negated,
    Node,
    Pipeline,
    Redirect,
    Script,
    Sequence,
    Words,
)
from loopbook.evidence.wrappers import inline_script, unfolded

#: Above these a line is broken: characters, open brackets, nested nodes, commands, parser steps.
MAX_CHARS, MAX_OPEN, MAX_DEPTH, MAX_COMMANDS, MAX_STEPS = 64_000, 60, 60, 300, 200
MAX_HEREDOCS = 20
TEXT_CHARS = 1_000


def parse(line: str) -> Script:
    """Read a command line; never raises.

    >>> [c.words for c in parse("cd web && FOO=1 timeout 60 npx jest -t 'a b' 2>&1 | tail").commands]
    [('cd', 'web'), ('jest', '-t', 'a b'), ('tail',)]
    >>> parse("echo 'npm test' # pytest").commands[0].words
    ('echo', 'npm test')
    >>> parse("echo $(").broken
    True
    """
    source = without_heredocs(re.sub(r"\r\n?", "\n", line[: MAX_CHARS * 4]).replace("\0", "\ufffd"))
    data = source.encode("utf-8", "replace")
    if len(line) > MAX_CHARS * 4 or len(data) > MAX_CHARS or _too_deep(source):
        return Script(Loose(()), (), broken=True)
    root = _tree(data)
    reader = _Reader(data)
    if root is None:
        return Script(Loose(()), (), broken=True)
    if not root.has_error:
        try:
            node = reader.block(root.children, 0)
            return Script(node, tuple(reader.ordered()), tuple(reader.redirects))
        except _NotReadError:
            reader = _Reader(data)
    return reader.rough(root)


def without_heredocs(source: str) -> str:
    """Here-documents taken out: their bodies are data, and the grammar is unsure of them in pipes.

    A ``<<`` whose closing line never comes is left as it stands.

    >>> without_heredocs("python - <<'EOF' | tail -1\\npytest\\nEOF\\nls")
    'python -  | tail -1\\nls'
    """
    if "<<" not in source:
        return source
    lines = source.split("\n")
    # One look-up per delimiter, not a walk per delimiter: many openings must stay linear.
    places: dict[str, list[int]] = {}
    for number in range(len(lines) - 1, 0, -1):
        places.setdefault(lines[number].lstrip("\t"), []).append(number)
    kept: list[str] = []
    number = 0
    while number < len(lines):
        text, number = _taken_out(lines[number], number, places)
        kept.append(text)
        number += 1
    return "\n".join(kept)


_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]{0,9}(?:'([^'\n]{1,99})'|\"([^\"\n]{1,99})\"|\\?([A-Za-z_]\w{0,99}))")


def _taken_out(text: str, number: int, places: dict[str, list[int]]) -> tuple[str, int]:
    """A line without its here-documents, and the number of the last line they take."""
    for match in list(_HEREDOC.finditer(text)):
        ends = places.get(next(filter(None, match.groups())), [])
        while ends and ends[-1] <= number:
            ends.pop()
        if ends:
            number = ends[-1]
            text = text.replace(match.group(), "", 1)
    return text, number


def _too_deep(source: str) -> bool:
    """Whether brackets or here-documents pile up absurdly: the parser is quadratic in open ones."""
    if source.count("<<") > MAX_HEREDOCS:
        return True
    depth = 0
    for match in re.finditer(r"[({]|[)}]", source):
        depth = depth + 1 if match.group() in "({" else max(0, depth - 1)
        if depth > MAX_OPEN:
            return True
    return False


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_bash.language())


#: Bytes of characters beyond ASCII, each as one that means nothing in a word. The grammar's scanner
#: looks code points up in a table of 256, so that an emoji behind a brace can end the process.
_ASCII = bytes(byte if byte < 0x80 else ord("%") for byte in range(256))


def _tree(data: bytes) -> tree_sitter.Node | None:
    """The grammar's tree, or ``None`` when the parser takes too many steps.

    It is the tree of the same bytes without what is beyond ASCII: all places are those of ``data``.
    A parser belongs to one thread and costs a microsecond, so each call makes its own.
    """
    steps = iter(range(MAX_STEPS))
    plain = data.translate(_ASCII)

    def chunk(offset: int, _point: object) -> bytes:
        return plain[offset : offset + 16_384]

    def enough(_offset: int, _error: bool) -> bool:
        return next(steps, None) is None

    parser = tree_sitter.Parser(_language())
    try:
        return parser.parse(chunk, encoding="utf8", progress_callback=enough).root_node
    except ValueError:
        return None


class _NotReadError(Exception):
    """More commands or nesting than anybody writes, or what the grammar takes and shells refuse."""


_BLOCKS = frozenset({"program", "do_group", "compound_statement", "subshell", "else_clause", "case_item"})
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_LOOSE = frozenset(
    {"for_statement", "c_style_for_statement", "while_statement", "case_statement", "function_definition"}
)


class _Reader:
    """One walk over one tree, in source order, with the shell's options as they change."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.commands: list[Command | None] = []
        self.redirects: list[Redirect] = []
        self.pipefail = False
        self.errexit = False

    def ordered(self) -> Iterator[Command]:
        return (command for command in self.commands if command is not None)

    def text(self, node: tree_sitter.Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # --- structure -------------------------------------------------------------------

    def block(self, children: list[tree_sitter.Node], depth: int) -> Node:
        """The statements among these children as one node; ``&`` makes the one before it loose."""
        items: list[Node] = []
        strict: list[bool] = []
        for child in children:
            if child.type == "&" and items:
                items[-1] = Loose((items[-1],), zero=True)
            elif child.is_named and (node := self.node(child, depth + 1)) is not None:
                items.append(node)
                strict.append(self.errexit)
        return items[0] if len(items) == 1 else Sequence(tuple(items), tuple(strict))

    def node(self, node: tree_sitter.Node, depth: int) -> Node | None:
        """A statement, or ``None`` for what is none (words, patterns, comments)."""
        if depth > MAX_DEPTH:
            raise _NotReadError
        kind = node.type
        if kind in _COMMANDS:
            return self.command(node, depth)
        if kind in ("variable_assignment", "variable_assignments"):
            return self.assignment(node, depth)
        if kind == "list":
            return self.chain(node, depth)
        if kind == "pipeline":
            return self.pipeline(node, depth)
        if kind == "negated_command":
            return Negated(self.block(node.children, depth))
        if kind == "redirected_statement":
            return self.redirected(node, depth)
        if kind == "subshell":
            return self.subshell(node.children, depth)
        if kind == "if_statement":
            return self.branch(node.children, depth)
        if kind in _LOOSE:
            return Loose((self.block(node.children, depth),), zero=kind == "function_definition")
        return self.block(node.children, depth) if kind in _BLOCKS else None

    def chain(self, node: tree_sitter.Node, depth: int) -> Node:
        links: list[tuple[str, tree_sitter.Node]] = []
        while node.type == "list" and len(node.children) == 3:  # left-recursive, and often long
            links.append((node.children[1].type, node.children[2]))
            node = node.children[0]
        chain = self.block([node], depth)
        if len(links) > MAX_COMMANDS:
            raise _NotReadError
        for op, right in reversed(links):
            chain = Chain(op, chain, self.block([right], depth))
        return chain

    def pipeline(self, node: tree_sitter.Node, depth: int) -> Node:
        items: list[Node] = []
        for child in node.named_children:
            before = (self.pipefail, self.errexit)
            items.append(self.block([child], depth))
            self.pipefail, self.errexit = before  # each part is a subshell
        if any(isinstance(item, Negated) for item in items[1:]):
            raise _NotReadError  # shells take a "!" at a pipeline's beginning alone
        if isinstance(items[0], Negated):  # the grammar hangs the ! of a pipeline on its first part
            return Negated(Pipeline((items[0].item, *items[1:]), self.pipefail))
        return Pipeline(tuple(items), self.pipefail)

    def subshell(self, children: list[tree_sitter.Node], depth: int) -> Group:
        before = (self.pipefail, self.errexit)
        group = Group(self.block(children, depth))
        self.pipefail, self.errexit = before
        return group

    def branch(self, children: list[tree_sitter.Node], depth: int) -> Branch:
        """``if`` and ``elif``: what stands before ``then`` is the condition."""
        if depth > MAX_DEPTH:
            raise _NotReadError
        then = next(i for i, child in enumerate(children) if child.type == "then")
        rest = [i for i, child in enumerate(children) if child.type in ("elif_clause", "else_clause")]
        condition = self.block(children[:then], depth)
        body = self.block(children[then : rest[0] if rest else None], depth)
        other: Node | None = None
        if rest and children[rest[0]].type == "elif_clause":
            # The clauses after an elif are its siblings: read them as its own.
            other = self.branch(children[rest[0]].children + children[rest[0] + 1 :], depth + 1)
        elif rest:
            other = self.block(children[rest[0]].children, depth)
        return Branch(condition, body, other)

    def redirected(self, node: tree_sitter.Node, depth: int) -> Node:
        found = tuple(self.redirect(child) for child in node.children if child.type == "file_redirect")
        self.redirects.extend(found)
        body = self.block([c for c in node.children if not c.type.endswith("_redirect")], depth)
        if isinstance(body, Command):
            body = body._replace(redirects=found)
            self.commands[body.at] = body
        return body

    def redirect(self, node: tree_sitter.Node) -> Redirect:
        op = "".join(self.text(c) for c in node.children if c.type == "file_descriptor" or not c.is_named)
        target = node.child_by_field_name("destination")
        return Redirect(op, self.value(target) if target is not None else "")

    # --- commands ----------------------------------------------------------------------

    def command(self, node: tree_sitter.Node, depth: int) -> Command:
        at = self._place()
        parts = [c for c in node.children if not c.type.endswith("_redirect")]
        env = tuple(self.text(c) for c in parts if c.type == "variable_assignment")
        if node.type == "command":
            parts = [c for c in parts if c.type != "variable_assignment"]
        words = ("[",) if node.type == "test_command" else tuple(self.value(c) for c in parts)
        end = parts[-1].end_byte if parts else node.end_byte
        text = self.data[node.start_byte : end][: TEXT_CHARS * 4].decode("utf-8", "replace")
        inner = self.inner(node, depth)
        levels, exact = unfolded(words)
        script = None
        if (inline := inline_script(levels[-1])) is not None:
            script = self.nested(inline, levels[-1], depth)
        self._options(levels[-1])
        command = Command(at, levels, " ".join(text.split())[:TEXT_CHARS], env, (), exact, inner, script)
        self.commands[at] = command
        return command

    def assignment(self, node: tree_sitter.Node, depth: int) -> Command:
        at = self._place()
        parts = [node] if node.type == "variable_assignment" else node.named_children
        env = tuple(self.text(part) for part in parts)
        command = Command(at, ((),), self.text(node)[:TEXT_CHARS], env, inner=self.inner(node, depth))
        self.commands[at] = command
        return command

    def _place(self) -> int:
        if len(self.commands) >= MAX_COMMANDS:
            raise _NotReadError
        self.commands.append(None)
        return len(self.commands) - 1

    def inner(self, node: tree_sitter.Node, depth: int) -> tuple[Node, ...]:
        """The substitutions anywhere in a command's words, each a subshell without ``set -e``."""
        errexit, self.errexit = self.errexit, False
        found: list[Node] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in ("command_substitution", "process_substitution"):
                found.append(self.subshell(child.children, depth + 1))
            elif child.child_count:
                stack.extend(reversed(child.children))
        self.errexit = errexit
        return tuple(found)

    def nested(self, inline: str, words: Words, depth: int) -> Node | None:
        """What ``bash -c`` runs: read like a line of its own, its commands listed with ours."""
        data = without_heredocs(inline).encode("utf-8", "replace")
        root = _tree(data)
        if root is None or root.has_error or depth > MAX_DEPTH // 2 or _too_deep(inline):
            return None
        outer = self.data, self.pipefail, self.errexit
        self.data = data
        if words[0] != "eval":  # a shell of its own, with the options it is given
            self.pipefail = "pipefail" in words
            self.errexit = any(re.match(r"-[a-z]*e[a-z]*$", word) for word in words[1:-1])
        try:
            return self.subshell(root.children, depth + 1)
        finally:
            self.data, self.pipefail, self.errexit = outer

    def _options(self, words: Words) -> None:
        """``set -e``, ``set -euo pipefail``, ``set +e``: in force from here on."""
        if words[:1] != ("set",):
            return
        for word, following in zip(words[1:], (*words[2:], ""), strict=True):
            if re.match(r"[-+][a-zA-Z]+$", word):
                on = word[0] == "-"
                self.errexit = on if "e" in word or (following == "errexit" and "o" in word) else self.errexit
                self.pipefail = on if "o" in word and following == "pipefail" else self.pipefail

    def value(self, node: tree_sitter.Node) -> str:
        """A word as the program sees it; expansions stay as written."""
        text = self.text(node)
        if node.type == "raw_string":
            return text[1:-1]
        if node.type == "ansi_c_string":
            return text[2:-1]
        if node.type == "string":
            return re.sub(r'\\(["\\$`])', r"\1", text[1:-1])
        if node.type in ("concatenation", "command_name") and node.child_count:
            return "".join(self.value(child) for child in node.children)
        return re.sub(r"\\(.)", r"\1", text) if node.type == "word" else text

    def rough(self, root: tree_sitter.Node) -> Script:
        """The words of a broken line: enough to see which programs it names, not how they stand."""
        stack, seen = [root], 0
        while stack and len(self.commands) < MAX_COMMANDS and seen < MAX_STEPS * 100:
            node = stack.pop()
            seen += 1
            if node.type == "command":
                words = tuple(self.value(c) for c in node.children if c.type != "variable_assignment")
                self.commands.append(Command(len(self.commands), (words,)))
            elif node.type == "file_redirect":
                self.redirects.append(self.redirect(node))
            stack.extend(reversed(node.children))
        return Script(Loose(()), tuple(self.ordered()), tuple(self.redirects), broken=True)
