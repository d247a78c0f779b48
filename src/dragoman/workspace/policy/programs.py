"""What is known about programs by their names: which run others, which are shells, which change the shell.

Lists, no rules. A program that is missing here is judged by the words it is called with; one that is here
makes a command harder to allow, never easier.
"""

from __future__ import annotations

import re
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _names(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell cmd elvish nu xonsh yash"
)

POSIX_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
"""Whose `-c` takes a line that we can read."""

RUNNERS: Final = _names("""
    sudo doas su pkexec runuser gosu setpriv capsh sudoedit run0
    chroot unshare nsenter fakeroot systemd-run at batch crontab bwrap firejail
    env nice ionice chrt taskset stdbuf setsid setarch linux64 linux32 flock
    xargs parallel watch entr strace ltrace gdb script expect unbuffer
    busybox toybox ssh nc ncat socat screen tmux disown
    """)
"""They run what their arguments or their input say: with other rights, elsewhere, again, or watched."""

BUILTINS: Final = _names("""
    eval exec source . alias unalias trap set shopt enable hash builtin
    export readonly declare typeset local unset read mapfile readarray let
    getopts bind complete compgen coproc function return fc history setopt
    unsetopt zmodload autoload noglob nocorrect emulate bg fg jobs zcompile
    """)
"""They change what the words after them mean."""

RESERVED: Final = _names(
    "if then else elif fi do done case esac while until for in select foreach repeat end { } ! [[ ]] (("
)

FIND_ACTIONS: Final = _names("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls")

HARMLESS_VARIABLES: Final = _names("""
    CI NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES LANG LANGUAGE TZ TERM
    DEBIAN_FRONTEND CLAUDECODE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED GIT_TERMINAL_PROMPT
    """)
"""They change how things look; any other variable may change what a program does."""

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|osascript|Rscript|R|ghci|irb|groovy)"
    r"[\d.]*"
)


def is_interpreter(name: str) -> bool:
    """Whether a program runs what it reads when it is called without arguments."""
    return _INTERPRETER.fullmatch(name) is not None


def is_harmless(variable: str) -> bool:
    return variable in HARMLESS_VARIABLES or variable.startswith("LC_")


def name_of(program: str) -> str:
    """The last part of a program's path, without the ending that Windows gives it."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name
