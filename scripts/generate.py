"""Write what is generated from the code, or check that it is fresh (``--check``, as CI does).

python scripts/generate.py [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import JsonValue
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from loopbook.advisors.asking import FAILURES
from loopbook.cli.reference import markdown
from loopbook.events import BY_TYPE, Event
from loopbook.judges.system_one import DIALECTS, Dialect
from loopbook.kinds import Kind, draw, parse, words

ROOT = Path(__file__).resolve().parent.parent


def kinds_page() -> str:
    """``docs/kinds.md``: every built-in kind, its phases, what they need, and a drawing."""
    files = sorted((ROOT / "specs" / "kinds").glob("*.toml"))
    return _KINDS_INTRO + "".join(_kind_section(parse(file.read_text("utf-8"), file.name)) for file in files)


_KINDS_INTRO = """\
# Loop kinds

Generated from `specs/kinds/*.toml` by `scripts/generate.py`; edit those.

A loop kind is data: phases in order, each with needs that evidence meets. The first phase with an unmet
need is `next`. A dotted arrow shows what opens a phase again; a phase with a dashed border is there only
in some loops. `continues` marks the phases to which an advisory lets the run go on.

## A kind of your own

A TOML file in your folder of kinds; `loopbook kinds check FILE` names what is wrong with one.

```toml
name = "release"
title = "Cut a release"

[[phase]]
name = "agree"
needs = [{ evidence = "decision", where = { decided_by = "user" }, after = "source", missing = "no yes" }]

[[phase]]
name = "verify"
continues = true
needs = [
  { is = "verified", missing = "no passing check since the last change" },
  { evidence = "check", where = { scope = ["lint", "types"] }, after = "change", missing = "no lint" },
]

[[phase]]
name = "close"
needs = [{ is = "closable" }]
```

| in a need | meaning |
|---|---|
| `evidence` | a type of evidence: change, check, review, decision, source or child_reported |
| `where` | per field of that event the value it must have, or a list of which one will do |
| `after` | it must follow the last event of this type; while there was none, any match counts |
| `is` | instead of the three: `verified`, `reviewed`, `no_open_finding` or `closable` |
| `missing` | the words an advisory prints while the need is unmet |

The last phase is `close`, and it alone needs `closable`: no unit going on, no child out, no todo without a
follow-up. `reviewed` asks nothing of a loop whose review tier is `none`, and `no_open_finding` asks only
while a finding is open there; a phase of which no need asks anything is not there.

`verified`: since the last change a check of scope tests, build or manual has passed, and no failure of any
scope (lint, types and format too) stands since then. A failure stands until the same check passes, or a pass
of the whole scope that it is a part of; an outcome `unknown` neither passes nor fails. A change begins anew.

`reviewed`: since the last change somebody has reviewed. Where the loop's review tier is `light` any review
counts, where it is `full` one of tier full; what the review found is `no_open_finding`'s to ask.

### Loaded

Put the file into a folder, and name that folder: `kinds_dir` in your settings, or `LOOPBOOK_KINDS_DIR`. One
there with the name of a built-in one takes its place. `loopbook kinds list` shows which there are.

    LOOPBOOK_KINDS_DIR=kinds loopbook loop start --kind release --intent 'Cut 1.4'

```python
from pathlib import Path
from loopbook import Books

with Books.open("memory:", kinds_dir=Path("kinds")) as books:
    loop = books.start("release", "Cut 1.4")
```
"""


def _kind_section(kind: Kind) -> str:
    rows = "".join(
        f"| {phase.name} | {'; '.join(map(words, phase.needs))} | {'yes' if phase.continues else ''} |\n"
        for phase in kind.phases
    )
    return (
        f"\n## {kind.name}: {kind.title}\n\n| phase | needs | continues |\n|---|---|---|\n{rows}"
        f"\n```mermaid\n{draw(kind)}\n```\n"
    )


def judge_page() -> str:
    """``docs/judge.md`` as it stands, its tables written anew."""
    page = (ROOT / "docs" / "judge.md").read_text("utf-8")
    for name, table in (("dialects", _dialects()), ("failures", _failures())):
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        page = before + mark + table + end + after
    return page


def _dialects() -> str:
    columns = ("name", "server", "base", "then", "model", "key", "options", "questions")
    rows = "".join(_dialect(row) for row in DIALECTS)
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n{rows}"


def _dialect(row: Dialect) -> str:
    named = " (by name)" if row.by_name and row.base.startswith("http") else ""
    model = f"`{row.model}`" if row.model else "yours, if it takes one"
    key = "needed" if row.keyed else "if any"
    cells = (f"`{row.name}`{named}", row.title, row.base, f"`{row.path}`", model, key)
    return f"| {' | '.join(cells)} | {row.options} | {row.questions or 'any number'} |\n"


def _failures() -> str:
    rows = (f"| `{kind}` | {meaning} |\n" for kind, meaning in FAILURES.items())
    return "| kind | what it tells |\n|---|---|\n" + "".join(rows)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schema(cls: type[Event]) -> dict[str, JsonValue]:
    """One event's own fields as JSON, with its ``type``; what a newer writer adds is allowed."""
    schema = cls.model_json_schema(mode="serialization", schema_generator=_Plain)
    own = {"title": schema.pop("title"), "description": schema.pop("description")}
    return {"$schema": _DIALECT, **own, **schema, "required": sorted({"type", *schema.get("required", ())})}


class _Plain(GenerateJsonSchema):
    """Descriptions without their doctests, which mean nothing outside Python."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        text = str(made.get("description", "")).partition(">>>")[0]
        return {**made, "description": " ".join(text.replace("``", "`").split())}


def entry_schema() -> dict[str, JsonValue]:
    """An entry as ``loop log --json`` shows it: its place, the envelope, and the event's own fields."""
    text: dict[str, JsonValue] = {"type": "string"}
    digest: dict[str, JsonValue] = {"type": "string", "pattern": "^([0-9a-f]{64})?$"}
    count: dict[str, JsonValue] = {"type": "integer", "minimum": 1}
    envelope: dict[str, JsonValue] = {
        "stream": text, "seq": count, "type": text, "at": {"type": "string", "format": "date-time"},
        "session": text, "unit": text, "host_ref": text, "line": {"type": "integer"}, "v": count,
        "prev": digest, "sum": digest,
    }  # fmt: skip
    known: list[JsonValue] = [{"$ref": f"{name}.json"} for name in sorted(BY_TYPE)]
    newer: JsonValue = {"properties": {"type": {"not": {"enum": [*sorted(BY_TYPE)]}}}}
    return {
        "$schema": _DIALECT,
        "title": "Entry",
        "description": "An entry of a book. In a store, stream, seq and type are columns beside the rest.",
        "type": "object",
        "properties": envelope,
        "required": ["stream", "seq", "type", "at", "session", "v", "prev", "sum"],
        "oneOf": [*known, newer],
    }


def _json(schema: Callable[[], Mapping[str, JsonValue]]) -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _schemas() -> dict[str, Callable[[], str]]:
    made: dict[str, Callable[[], dict[str, JsonValue]]] = {"entry": entry_schema}
    made |= {name: partial(event_schema, cls) for name, cls in BY_TYPE.items()}
    return {f"specs/schemas/{name}.json": partial(_json, schema) for name, schema in made.items()}


#: Every generated file, by its path from the root, and what makes its text.
OUTPUTS: Mapping[str, Callable[[], str]] = {
    "docs/kinds.md": kinds_page,
    "docs/judge.md": judge_page,
    "docs/commands.md": markdown,
    **_schemas(),
}


def main(arguments: list[str]) -> int:
    """Write all outputs, or with ``--check`` name the stale ones and return 1."""
    stale = []
    for name, make in OUTPUTS.items():
        path, text = ROOT / name, make()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
