"""A command that may write files is marked, one that plainly writes nothing is not."""

from __future__ import annotations

import pytest
from hypothesis import given

from loopbook.evidence.outcomes import read_command
from loopbook.evidence.shell_table import FILE_WRITERS, FIXERS, FORMATTERS, WRITING_SUBCOMMANDS
from loopbook.evidence.writes import line_may_write
from tests.evidence.shell_strategies import noise

WRITES = """
echo x > a.py && true; echo x >> a.py; cmd 2> err.txt; cmd &> all.txt; (a) > f; sed -i s/a/b/ f
sed -i.bak s/a/b/ f; sed -i '' s/a/b/ f; perl -pi -e s/a/b/ f; perl -i.orig -pe s/a/b/ f; cat a | tee b
patch -p1; git apply a.patch; git am a.mbox; git checkout main; git checkout -- a.py; git restore a.py
git stash; git stash pop; git reset --hard; git merge x; git rebase main; git pull; git cherry-pick x
git revert x; git clean -fd; git switch main; git rm a; git mv a b; ruff format .; ruff check --fix
uv run ruff check . --fix-only; black .; isort .; prettier --write .; eslint --fix .; npx prettier -w .
gofmt -w .; go fmt ./...; cargo fmt; cargo fix; mix format; rustfmt a.rs; dart format .; rubocop -A
cp a b; mv a b; rm -rf src; ln -s a b; rsync a b; npm install; npm run format; make fmt; npm run lint:fix
npm run codegen; find . -name x | xargs sed -i s/a/b/; bash -c 'echo x > f'; sudo cp a b; gh pr checkout 3
mix deps.get; vitest run -u; tsc -b; x=$(echo y > f)
""".replace("\n", ";")

SILENT = """
ls; ls > /dev/null; cmd 2>&1; cmd >&2; cmd 2>/dev/null; cmd < in.txt; cmd &> /dev/null; echo 'a > b'
echo "x >> y"; mkdir -p a; cd a; cat a; grep -rn x .; git status; git diff; git log; git add .
git commit -m x; git push; git fetch; git branch x; git checkout -b new; git stash list; git show x
git apply --check a.patch; git reset --soft HEAD~1; git rm --cached a; sed -n 1,5p a; sed s/a/b/ f
perl -ne print f; pytest; npm test; mix test; ruff check .; ruff format --check .; black --check .
prettier --check .; cargo fmt --check; mix format --check-formatted; gofmt -l .; eslint .; gh pr view
pip list; docker ps; touch a; [ a '>' b ]; [[ a > b ]]; echo x > /tmp/log; cmd | tee /tmp/log; cp a /tmp/b
cmd > /dev/stderr; chmod +x a; npm run format:check; make test; npm ls; npm run build
""".replace("\n", ";")


@pytest.mark.parametrize("line", [line.strip() for line in WRITES.split(";") if line.strip()])
def test_what_may_write_is_marked(line: str) -> None:
    assert line_may_write(line)


@pytest.mark.parametrize("line", [line.strip() for line in SILENT.split(";") if line.strip()])
def test_what_plainly_writes_nothing_is_not_marked(line: str) -> None:
    assert not line_may_write(line)


def test_groups_and_heredocs_that_write_are_marked() -> None:
    assert line_may_write("{ a; b; } > f")
    assert line_may_write("cat <<EOF > a.py\nx\nEOF")
    assert not line_may_write("cat <<EOF\nx > y\nEOF")


def test_the_log_of_a_check_is_no_write() -> None:
    assert not read_command("pytest > log 2>&1; cat log").writes
    assert read_command("pytest > log; ./x > out").writes
    assert read_command("echo x > a.py; pytest > log").writes


def test_a_broken_line_may_write_by_its_redirections() -> None:
    assert read_command("echo 'open > f").writes in (True, False)
    assert read_command("sed -i s/a/b/ f; $(").writes


def test_the_tables_name_no_program_that_only_makes_folders() -> None:
    assert not {"mkdir", "ls", "touch"} & (
        FILE_WRITERS | set(FORMATTERS) | set(FIXERS) | set(WRITING_SUBCOMMANDS)
    )


@given(noise)
def test_any_line_is_read(line: str) -> None:
    assert line_may_write(line) in (True, False)
