"""Knowledge about programs: lists by name, and the table of commands that a rule may allow.

A name in a list makes a command easier to deny. The table says which programs and options are understood:
only with those does a rule with a `*` allow a command.

The entries are data, in `program_options`; here is how they are read. An entry is a program, or a program and
its subcommand, and its options:

    -x,--ex     two spellings of one option; no other spelling is the same option
    -x=         it takes a value, attached or as the next word; `-x=?` only an attached one
    -x>         what follows is a command
    (reads)     it changes no file
    (0), (1)    it takes no operand, or one
    (digits)    `-20` is an option
    (onedash)   long options have one dash, and letters are never bundled
    (any)       all its words are operands
    (script)    its one operand is a script; what stands behind that is the script's own
    (carries)   its operands are a command
    (project)   it runs the project's code: what it names must be inside, and `--` hands words on to that code
    (plain)     an operand with `=` in it is a setting
    (sed)       its first operand is a script of sed
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from dragoman_local.workspace.policy.program_options import PROGRAM_OPTIONS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _names(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell cmd elvish nu xonsh yash"
)

POSIX_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
"""Whose `-c` takes a line that we can read."""

RUNNERS: Final = _names("""
    sudo doas su pkexec runuser gosu setpriv capsh sudoedit run0 chroot unshare nsenter fakeroot
    systemd-run at batch crontab bwrap firejail env nice ionice chrt taskset stdbuf setsid setarch
    linux64 linux32 flock xargs parallel watch watchexec entr strace ltrace gdb lldb valgrind perf
    script expect unbuffer rlwrap busybox toybox ssh autossh mosh rsh nc ncat netcat socat telnet screen
    tmux zellij disown dtach caffeinate arch xvfb-run dbus-run-session systemd-inhibit proxychains
    proxychains4 torsocks tsocks proot chronic sem fakechroot ld.so ld-linux.so.2 ld-linux-x86-64.so.2
    make-jobserver sg newgrp daemonize start-stop-daemon reptyr nsjail minijail0 uwsgi cpulimit prlimit
    choom numactl chpst setuidgid s6-setuidgid softlimit find fd fdfind
    uv uvx npx bunx poetry pipenv pdm hatch rye conda mamba bundle rbenv pyenv asdf mise direnv nix nix-shell
    pipx pnpm yarn npm bun docker podman kubectl
    """)
"""They run what their arguments or their input say: with other rights, elsewhere, again, or watched. Rules
that deny look for commands in their words. The list turns questions into refusals, and allows nothing."""

BUILTINS: Final = _names("""
    eval exec source . alias unalias trap set shopt enable hash builtin
    export readonly declare typeset local unset read mapfile readarray let
    getopts bind complete compgen coproc function return fc history setopt
    unsetopt zmodload autoload noglob nocorrect emulate bg fg jobs zcompile
    """)
"""They change what the words after them mean."""

LOOKED_THROUGH: Final = frozenset({"nohup", "time", "command", "timeout"})
"""They do no more than run another command, and are read together with it."""

TREE_PROGRAMS: Final = _names("rm mv cp chmod chown chgrp tar zip 7z rsync scp")
"""An operand of theirs that is a folder stands for all that is in it."""

RESERVED: Final = _names(
    "if then else elif fi do done case esac while until for in select foreach repeat end { } ! [[ ]] (("
)

HARMLESS_VARIABLES: Final = _names("""
    CI NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES LANG LANGUAGE TZ TERM
    DEBIAN_FRONTEND CLAUDECODE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED GIT_TERMINAL_PROMPT
    NODE_ENV RUST_LOG RUST_BACKTRACE PORT VERBOSE
    """)
"""They change how things look; any other variable may change what a program does."""

AGENT_MARKS: Final = frozenset({"CLAUDECODE=1"})
"""What an agent sets for every command, so that programs know who runs them."""

TOOL_VERBS: Final = _names("""
    add append apply chmod clear commit copy cp create delete deploy destroy drop edit erase exec execute
    install kill merge modify move mv overwrite patch post publish purge push put remove rename replace reset
    rm run save send set submit truncate uninstall unlink update upload write
    """)
"""A tool whose name begins so does more than read, whatever kind it says it is."""

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|osascript|Rscript|R|ghci|irb|groovy"
    r"|sqlite3?|psql|mysql|mariadb|duckdb)"
    r"[\d.]*"
)


def is_interpreter(name: str) -> bool:
    """Whether a program runs what it reads when it is called without arguments."""
    return _INTERPRETER.fullmatch(name) is not None


def is_harmless(variable: str) -> bool:
    """Whether setting a variable can't make a program run or load code."""
    return variable in HARMLESS_VARIABLES or variable.startswith("LC_")


def name_of(program: str) -> str:
    """The last part of a program's path, without the ending that Windows gives it."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


class ProgramOption(NamedTuple):
    """One option in all its spellings."""

    names: tuple[str, ...]
    takes: str
    """What stands behind it in the table."""


class ProgramEntry(NamedTuple):
    """The known options of one program, or of one of its subcommands."""

    options: dict[str, ProgramOption]
    marks: frozenset[str]


ALIASES: Final = {
    **dict.fromkeys(("egrep", "fgrep"), "grep"),
    **dict.fromkeys(("sh", "dash", "zsh", "ksh"), "bash"),
    "py.test": "pytest",
    "nodejs": "node",
    "fdfind": "fd",
}
"""Names under which the same options are understood."""


def entry_for(program: str, subcommand: str = "") -> ProgramEntry | None:
    return _table().get((program, subcommand))


@cache
def has_subcommands(program: str) -> bool:
    return any(name == program and subcommand for name, subcommand in _table())


@cache
def _table() -> dict[tuple[str, str], ProgramEntry]:
    table: dict[tuple[str, str], ProgramEntry] = {}
    for block in PROGRAM_OPTIONS.strip().replace("\n ", " ").splitlines():
        program, *fields = block.split()
        subcommand = fields.pop(0) if fields and fields[0][0] not in "-(" else ""
        options = [_option(field) for field in fields if field.startswith("-")]
        table[program, subcommand] = ProgramEntry(
            {name: option for option in options for name in option.names},
            frozenset(field.strip("()") for field in fields if field.startswith("(")),
        )
    return table


def _option(field: str) -> ProgramOption:
    spellings = field.split(",")
    names = tuple(spelling.rstrip("=?>") for spelling in spellings)
    endings = [spelling[len(name) :] for spelling, name in zip(spellings, names, strict=True)]
    return ProgramOption(names, max(endings, key=len))
