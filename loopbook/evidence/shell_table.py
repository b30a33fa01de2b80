"""Programs that stand before another program, as data; and those that are surely no check.

``python -m X`` is a wrapper of ``X`` like any other. A row is read so: after the program come
the words of ``sub`` in order (``|`` between alternatives); options are skipped, with their value
where ``takes`` names them; an option in ``stops`` means that nothing is run; then ``skip`` own
arguments; then, for ``marked``, everything behind ``marker``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Wrapper(NamedTuple):
    """How one program runs another. ``exact``: it hands on the other's exit code."""

    sub: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    marker: str = "--"
    marked: bool = False
    exact: bool = True


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set: how the tables are written."""
    return frozenset(text.split())


def _row(
    sub: str = "", takes: str = "", stops: str = "", skip: int = 0, marker: str = "--", **more: bool
) -> Wrapper:
    return Wrapper(tuple(sub.split()), word_set(takes), word_set(stops), skip, marker=marker, **more)


_UV_TAKES = (
    "--with --with-editable --with-requirements -p --python --extra --group --only-group --no-group "
    "--package --directory --project --env-file --index --index-url --cache-dir --color --from --config-file"
)
_DOCKER_TAKES = "-e --env --env-file -u --user -w --workdir --index --detach-keys"
_COMPOSE_TAKES = f"{_DOCKER_TAKES} -f --file -p --project-name --profile --project-directory"
_NPX_TAKES = "-p --package -w --workspace --prefix -C --dir --cwd --filter -F"

#: Wrappers by program; the first row that fits is taken.
WRAPPERS: Mapping[str, tuple[Wrapper, ...]] = {
    "env": (_row(takes="-u --unset -C --chdir", assigns=True),),
    "time": (_row(takes="-f --format -o --output"),),
    "timeout": (_row(takes="-k --kill-after -s --signal", skip=1),),
    "gtimeout": (_row(takes="-k --kill-after -s --signal", skip=1),),
    "nice": (_row(takes="-n --adjustment"),),
    "ionice": (_row(takes="-c -n"),),
    "nohup": (_row(),),
    "setsid": (_row(),),
    "sudo": (_row(takes="-u -g -C -D -h -p -U", stops="-l -v", assigns=True),),
    "doas": (_row(takes="-u -C"),),
    "command": (_row(stops="-v -V"),),
    "builtin": (_row(),),
    "exec": (_row(takes="-a"),),
    "stdbuf": (_row(takes="-i -o -e"),),
    "unbuffer": (_row(),),
    "chronic": (_row(),),
    "caffeinate": (_row(takes="-t -w"),),
    "xvfb-run": (_row(takes="-n -s -e -f -w -p --server-args --server-num"),),
    "flock": (_row(takes="-w -E --timeout", skip=1),),
    "taskset": (_row(skip=1),),
    "xargs": (_row(takes="-n -P -I -L -d -s -a -E --max-args --max-procs --delimiter", exact=False),),
    "coproc": (_row(),),
    "python": (_row("-m", takes="-W -X", stops="-c"), _row(takes="-W -X", stops="-c -m")),
    "coverage": (
        _row("run -m", takes="--source --omit --include --rcfile --data-file --context"),
        _row("run", takes="--source --omit --include --rcfile --data-file --context", stops="-m"),
    ),
    "uv": (_row("run -m|--module", takes=_UV_TAKES), _row("run", takes=_UV_TAKES, stops="-m --module"),
           _row("tool run", takes=_UV_TAKES)),
    "uvx": (_row(takes=_UV_TAKES),),
    "pipx": (_row("run", takes="--spec --python"),),
    "poetry": (_row("run", takes="-C --directory -P --project"),),
    "pipenv": (_row("run"),),
    "pdm": (_row("run", takes="-p --project -e"),),
    "rye": (_row("run", takes="--pyproject"),),
    "hatch": (_row("run", takes="-e --env"), _row("-e run", takes="")),
    "pixi": (_row("run", takes="-e --environment --manifest-path"),),
    "conda": (_row("run", takes="-n --name -p --prefix --cwd"),),
    "mamba": (_row("run", takes="-n --name -p --prefix --cwd"),),
    "micromamba": (_row("run", takes="-n --name -p --prefix"),),
    "node": (_row(
        takes="-r --require --import --loader --env-file", stops="-e -p -c --eval --print --check --test"),),
    "npx": (_row(takes=_NPX_TAKES, stops="-c --call"),),
    "bunx": (_row(takes="-p --package"),),
    "npm": (_row("exec|x", takes=_NPX_TAKES, stops="-c --call"),),
    "pnpm": (_row("exec|dlx|x", takes=_NPX_TAKES),),
    "pnpx": (_row(takes=_NPX_TAKES),),
    "yarn": (_row("exec|dlx", takes=_NPX_TAKES), _row("workspace exec", takes="")),
    "bun": (_row("x", takes="-p --package"),),
    "dotenv": (_row(takes="-e -f -c", assigns=True),),
    "c8": (_row(takes="-r --reporter --include --exclude"),),
    "nyc": (_row(takes="-r --reporter --include --exclude"),),
    "cross-env": (_row(assigns=True),),
    "dotenvx": (_row("run", takes="-f"),),
    "doppler": (_row("run", takes="-p -c --project --config", marked=True),),
    "op": (_row("run", takes="--env-file", marked=True),),
    "bundle": (_row("exec", takes="--gemfile"),),
    "rbenv": (_row("exec"),),
    "asdf": (_row("exec"),),
    "mise": (_row("exec|x", marked=True),),
    "rtx": (_row("exec|x", marked=True),),
    "direnv": (_row("exec", skip=1),),
    "devbox": (_row("run", marked=False),),
    "nix": (_row("develop|shell", marker="-c", marked=True), _row(
        "develop|shell", marker="--command", marked=True)),
    "fvm": (_row(stops="--version"),),
    "xcrun": (_row(takes="--sdk --toolchain"),),
    "symfony": (_row("php"), _row("run")),
    "composer": (_row("exec", takes="-d --working-dir"),),
    "php": (_row(takes="-d -c", stops="-r -l -v -i -m"),),
    "ruby": (_row("-S", takes="-I -r"),),
    "rustup": (_row("run", skip=1),),
    "docker": (_row("exec", takes=_DOCKER_TAKES, skip=1), _row("compose exec", takes=_COMPOSE_TAKES, skip=1)),
    "docker-compose": (_row("exec", takes=_COMPOSE_TAKES, skip=1),),
    "podman": (_row("exec", takes=_DOCKER_TAKES, skip=1),),
    "kubectl": (_row("exec", takes="-n --namespace -c --container --context", marked=True),),
    "sail": (_row("php|bin"),),
}  # fmt: skip

#: Wrappers of plain programs; the others look names up in a project of their own.
PLAIN_WRAPPERS = word_set(
    "env time timeout gtimeout nice ionice nohup setsid sudo doas command builtin exec stdbuf unbuffer "
    "chronic "
    "caffeinate flock taskset xargs docker docker-compose podman kubectl"
)

#: Programs that run a command elsewhere or many times: where it only reads text, so do they. What else
#: they run is anybody's guess.
CARRIERS: Mapping[str, Wrapper] = {
    "find": _row(marker="-exec", marked=True),
    "ssh": _row(takes="-p -i -l -o -F -J -L -R -D -b -c -E -I -m -O -Q -S -W -w", skip=1),
}

#: Interpreters, and the options behind which their code stands.
INTERPRETERS: Mapping[str, frozenset[str]] = {
    "python": word_set("-c"),
    "node": word_set("-e -p -pe --eval --print"),
    "deno": word_set("eval"),
    "bun": word_set("-e"),
    "ruby": word_set("-e -ne -pe -lne -rjson"),
    "perl": word_set("-e -ne -pe -lne -nle -ple -E -0ne -0pe"),
    "php": word_set("-r"),
}
#: Modules of Python itself that check nothing.
NO_CHECK_MODULES = word_set("json.tool pip venv ensurepip site http.server zipfile tarfile virtualenv")

#: Programs that run a script handed to them as an argument.
INLINE_SCRIPTS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "eval"})

#: Programs that only show or shape text: what they print proves nothing about a run.
READERS = word_set(
    "man info tldr view batcat glow mdcat delta difft dd Get-Content Select-String Write-Host Write-Output "
    "findstr "
    "cat tac head tail less more bat nl echo printf grep egrep fgrep rg ag ack zgrep zcat sed awk gawk "
    "mawk jq yq "
    "wc sort uniq cut tr tee column paste join comm fold fmt rev diff cmp colordiff strings od xxd hexdump "
    "file "
    "stat ls tree du df pwd basename dirname realpath readlink true false : test [ type which whereis whoami "
    "id date uname hostname env printenv seq expr bc cal sleep clear history md5sum sha1sum sha256sum cksum "
    "base64 tput yes cd pushd popd dirs command"
)

#: Programs known to be no check, besides the readers: files, processes, settings, network.
NO_CHECKS = word_set(
    "mkdir rmdir rm cp mv ln touch chmod chown install truncate mktemp rsync scp tar zip unzip gzip gunzip "
    "xz "
    "split patch kill pkill killall ps pgrep top htop lsof jobs wait fg bg disown nproc free uptime "
    "export unset set shopt declare typeset local readonly alias unalias source . umask ulimit trap return "
    "exit "
    "break continue shift read let exec git gh glab hub hg svn jj curl wget http dig nslookup ping nc "
    "netstat ss "
    "ssh-keygen ssh-add apt apt-get brew yum dnf apk pacman snap pip pip3 virtualenv venv pyenv nvm n fnm "
    "volta "
    "gem rbenv sdkman systemctl service journalctl launchctl crontab xdg-open open pbcopy pbpaste say "
    "psql mysql sqlite3 redis-cli createdb dropdb find fd locate code vim vi nano ed tmux "
    "vercel netlify heroku flyctl fly aws gcloud az terraform pulumi helm docker docker-compose podman "
    "kubectl "
    "adb xset loopbook ipconfig ifconfig ip"
)

#: Programs of which some subcommands are known to be no check (the others may be anything).
NO_CHECK_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    program: word_set(words)
    for program, words in {
        "npm": "install i ci add uninstall remove rm update up ls list outdated view info show init "
               "create audit fund link unlink config get set whoami login logout version pack publish "
               "prune dedupe search explain why root prefix bin cache help pkg",
        "pnpm": "install i add remove rm update up ls list outdated why init create config store fetch "
                "import prune link unlink view info root bin patch",
        "yarn": "install add remove upgrade up list why info init create config cache global link unlink "
                "import outdated set plugin",
        "bun": "install i add remove rm update link unlink init create pm upgrade outdated",
        "deno": "install add remove cache info upgrade init types doc completions",
        "uv": "sync add remove lock pip venv tool python cache init tree export self version",
        "poetry": "install add remove update lock show env config init new self cache export check "
                  "search version",
        "pipenv": "install uninstall lock sync update graph",
        "pdm": "install add remove update lock sync list info init config use export",
        "rye": "sync add remove lock init pin show list",
        "conda": "install create activate deactivate env list info update remove config search",
        "cargo": "add remove rm new init fetch update metadata tree search install uninstall login owner "
                 "generate-lockfile vendor locate-project pkgid version clean",
        "go": "mod get env list doc version work clean fmt generate install tool telemetry",
        "mix": "phx.server deps.compile "
        "deps.get deps.update deps.clean deps.tree deps.unlock deps local.hex local.rebar "
               "archive.install new phx.new phx.routes phx.gen.secret ecto.create ecto.migrate ecto.drop "
               "ecto.rollback ecto.setup ecto.reset ecto.gen.migration ecto.migrations hex.info "
               "hex.outdated help clean ash.codegen ash.setup ash.migrate usage_rules.docs "
               "usage_rules.search.docs igniter.install",
        "bundle": "install add update lock list show info outdated config init clean",
        "composer": "install require remove update dump-autoload dumpautoload show info outdated init config",
        "dotnet": "restore new add remove list nuget sln tool clean workload --version --info --list-sdks",
        "flutter": "pub create doctor devices clean upgrade config precache",
        "dart": "pub create",
        "swift": "package",
        "rustup": "update install default show toolchain component target",
        "pre-commit": "install uninstall autoupdate clean gc install-hooks sample-config",
        "gradle": "tasks dependencies projects properties wrapper clean --stop --status",
        "mvn": "dependency:tree dependency:resolve help:effective-pom clean",
        "make": "clean install help",
        "nix": "flake search profile store",
        "rails": "routes generate g destroy db:migrate db:create db:seed db:rollback db:setup "
                 "credentials:edit",
        "rake": "routes db:migrate db:create db:seed db:rollback db:setup -T",
        "bd": "ready list show create update close sync dep init stats reopen blocked",
    }.items()
}  # fmt: skip

#: Of programs known to be no check, the subcommands and options that may run anything after all.
MAY_CHECK: Mapping[str, frozenset[str]] = {
    "git": frozenset({"bisect", "rebase", "submodule", "hook"}),
    "docker": frozenset({"run", "exec", "up", "build", "buildx", "start"}),
    "docker-compose": frozenset({"run", "exec", "up", "build"}),
    "podman": frozenset({"run", "exec", "build"}),
    "kubectl": frozenset({"exec", "run"}),
    "find": frozenset({"-exec", "-execdir", "-ok"}),
    "tmux": word_set(
        "send-keys send new-session new new-window neww split-window splitw run-shell run respawn-pane"
    ),
    "helm": frozenset({"test"}),
    "systemctl": frozenset({"start", "restart"}),
    "psql": frozenset({"-f", "--file"}),
    "adb": frozenset({"shell"}),
    "az": frozenset({"pipelines"}),
    "gh": frozenset({"workflow"}),
}

#: Formatters: without their checking option they rewrite files and check nothing. The value is the
#: subcommand that formats (empty: the bare program).
FORMATTERS: Mapping[str, frozenset[str]] = {
    **{
        program: frozenset()
        for program in word_set(
            "black isort prettier yapf autopep8 autoflake pyupgrade gofmt goimports gofumpt golines rustfmt "
        "shfmt clang-format php-cs-fixer pint swiftformat stylua nixfmt google-java-format scalafmt "
        "standardjs "
        "docformatter add-trailing-comma taplo cmake-format ormolu fourmolu prettierd buildifier"
        )
    },
    **{
        program: word_set(words)
        for program, words in {
            "ruff": "format", "cargo": "fmt fix", "mix": "format", "biome": "format", "deno": "fmt",
            "dart": "format fix",
            "terraform": "fmt", "dprint": "fmt", "dotnet": "format", "gleam": "format", "forge": "fmt",
            "buf": "format",
            "swift-format": "format", "go": "fmt fix", "zig": "fmt", "uv": "format", "rome": "format",
        }.items()
    },
}  # fmt: skip

#: Programs whose files are written by an option; the value names the options.
FIXERS: Mapping[str, frozenset[str]] = {
    program: word_set(words)
    for program, words in {
        "ruff": "--fix --fix-only --unsafe-fixes", "eslint": "--fix", "oxlint": "--fix", "stylelint": "--fix",
        "biome": "--write --fix --apply --apply-unsafe",
        "rubocop": "-a -A --autocorrect --autocorrect-all --fix",
        "standard": "--fix", "xo": "--fix", "standardrb": "--fix", "golangci-lint": "--fix", "cargo": "--fix",
        "sed": "-i --in-place", "gsed": "-i --in-place", "perl": "-i -pi", "ruby": "-i -pi", "awk": "-i",
        "gofmt": "-w", "goimports": "-w", "shfmt": "-w", "markdownlint": "--fix -f", "ktlint": "-F --format",
        "swiftlint": "--fix", "tsc": "--build -b", "pytest": "--snapshot-update --inline-snapshot",
        "jest": "-u --updateSnapshot", "vitest": "-u --update", "clang-tidy": "--fix -fix",
        "codespell": "-w --write-changes", "typos": "-w --write-changes", "mix": "--fix",
    }.items()
}  # fmt: skip

#: Programs that write the files they are given, whatever their options.
FILE_WRITERS = word_set(
    "tee cp mv rm ln install truncate patch rsync unzip gunzip dd phpcbf sponge codemod jscodeshift 2to3 "
    "ast-grep comby protoc sqlc openapi-generator"
)

#: Subcommands that write files of the working folder; for the others nothing of it changes.
WRITING_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    program: word_set(words)
    for program, words in {
        "git": "apply am checkout switch restore stash reset merge rebase pull cherry-pick revert clean "
               "rm mv submodule sparse-checkout read-tree checkout-index filter-branch",
        "npm": "install i ci add uninstall remove rm update up dedupe link version init pkg",
        "pnpm": "install i add remove rm update up init patch",
        "yarn": "install add remove upgrade up init set",
        "bun": "install i add remove rm update init", "uv": "sync add remove lock init",
        "pip": "install uninstall",
        "poetry": "install add remove update lock init new", "cargo": "add remove rm update new init fix",
        "go": "mod get generate fix", "bundle": "install add update",
        "composer": "install require remove update",
        "mix": "deps.get deps.update ash.codegen ecto.gen.migration phx.gen.html phx.gen.live "
               "phx.gen.context phx.gen.schema gettext.extract gettext.merge igniter.install "
               "ash.gen.resource",
        "rails": "generate g destroy d db:migrate db:rollback db:schema:dump",
        "jj": "restore abandon rebase squash new edit undo",
        "hg": "update revert pull import", "svn": "update revert patch merge", "terraform": "init",
        "prisma": "generate migrate format", "alembic": "revision",
        "django-admin": "startapp startproject makemigrations",
        "manage.py": "makemigrations startapp",
        "artisan": "make:model make:migration make:controller migrate",
        "dotnet": "new add remove", "flutter": "create pub", "swift": "package", "gh": "pr",
    }.items()
}  # fmt: skip
