"""Ways to get more out of a terminal than was lent: a corpus.

`{root}` is the folder of the session, `{outside}` a folder beside it. An attack succeeds if `{outside}` gets
a file, if a secret of ours or of `{outside}` is in the output, or if something is alive after the release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SECRET = "sesame-7f3a"

TOUCH = "touch {outside}/witness"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One request."""

    what: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of the request."""
    links: tuple[tuple[str, str], ...] = ()
    """Links that the agent has made in the root, by name and target."""
    programs: tuple[tuple[str, str], ...] = ()
    """Programs that the agent has put into the root, by name and text."""


def shell(text: str, **more: Any) -> Attack:
    return Attack(what=more.pop("what"), command="sh", args=("-c", text), **more)


REFUSED = [
    # A line where a program is expected.
    Attack(what="a second command", command=f"echo a; {TOUCH}"),
    Attack(what="a second command without a space", command="echo;touch"),
    Attack(what="a conditional command", command=f"true && {TOUCH}"),
    Attack(what="a command after a failure", command=f"false || {TOUCH}"),
    Attack(what="a command in the background", command=f"true & {TOUCH}"),
    Attack(what="a second line", command=f"echo a\n{TOUCH}"),
    Attack(what="a carriage return", command=f"echo a\r{TOUCH}"),
    Attack(what="a pipe", command="echo a | tee {outside}/witness"),
    Attack(what="a redirection", command="echo a > {outside}/witness"),
    Attack(what="a substitution", command=f"echo $({TOUCH})"),
    Attack(what="a substitution in quotes", command=f'echo "$({TOUCH})"'),
    Attack(what="an old substitution", command=f"echo `{TOUCH}`"),
    Attack(what="a process substitution", command=f"cat <({TOUCH})"),
    Attack(what="a subshell", command=f"({TOUCH})"),
    Attack(what="a group", command="{" + f" {TOUCH}; " + "}"),
    Attack(what="a variable before a command", command=f"A=b {TOUCH}"),
    Attack(what="an open quote", command=f"echo 'a; {TOUCH}"),
    Attack(what="a builtin", command="cd {outside}"),
    Attack(what="a line with arguments", command=f"{TOUCH};", args=("a",)),
    # Not a command at all.
    Attack(what="no command", command=""),
    Attack(what="white space", command=" \t"),
    Attack(what="NUL in the command", command="echo\0-n"),
    Attack(what="NUL in an argument", command="echo", args=("a\0b",)),
    Attack(what="an endless argument", command="echo", args=("x" * 200_000,)),
    Attack(what="endless arguments", command="echo", args=("x",) * 20_000),
    Attack(what="a folder", command="{root}"),
    Attack(what="a file that is not a program", command="{outside}/secret.txt"),
    # An environment that runs something else.
    Attack(what="a preloaded library", command="true", env={"LD_PRELOAD": "{root}/evil.so"}),
    Attack(what="an audit library", command="true", env={"LD_AUDIT": "{root}/evil.so"}),
    Attack(what="another library path", command="true", env={"LD_LIBRARY_PATH": "{root}"}),
    shell("true", what="a start file of bash", env={"BASH_ENV": "{root}/evil"}),
    shell("true", what="a start file of sh", env={"ENV": "{root}/evil"}),
    shell("true", what="an exported function", env={"BASH_FUNC_true%%": "() { " + TOUCH + "; }"}),
    shell("true", what="a prompt of traces", env={"PS4": f"$({TOUCH})"}),
    Attack(what="a start file of Python", command="python3", env={"PYTHONSTARTUP": "{root}/evil"}),
    Attack(what="options of Perl", command="true", env={"PERL5OPT": "-M{root}/evil"}),
    Attack(what="another tree's mark", command="true", env={"DRAGOMAN_TREE": "0123456789abcdef"}),
    Attack(what="a name that holds a value", command="true", env={"A=B": "c"}),
    Attack(what="a value that holds NUL", command="true", env={"A": "b\0LD_PRELOAD=x"}),
    # Another folder.
    Attack(what="a folder outside", command="touch", args=("witness",), cwd="{outside}"),
    Attack(what="a way up", command="touch", args=("witness",), cwd="{root}/../outside"),
    Attack(
        what="a link out", command="touch", args=("witness",), cwd="{root}/a", links=(("a", "{outside}"),)
    ),
    Attack(
        what="a link out on the way",
        command="touch",
        args=("witness",),
        cwd="{root}/a/outside",
        links=(("a", "{outside}/.."),),
    ),
    Attack(what="a link of the system", command="touch", args=("witness",), cwd="/proc/self/cwd"),
    Attack(what="a twin of the root", command="pwd", cwd="{root}-twin"),
    Attack(what="a relative folder", command="pwd", cwd="."),
    Attack(what="a folder that is a file", command="pwd", cwd="{outside}/secret.txt"),
    Attack(what="a folder with NUL", command="pwd", cwd="{root}\0/../outside"),
    # Shapes.
    Attack(what="arguments that are a line", command="echo", more={"args": f"; {TOUCH}"}),
    Attack(what="a command that is a list", command="", more={"command": ["sh", "-c", TOUCH]}),
    Attack(what="a negative limit", command="echo", more={"outputByteLimit": -1}),
]

CONTAINED = [
    Attack(what="a command in an argument", command="echo", args=(f"; {TOUCH}",)),
    Attack(what="a substitution in an argument", command="echo", args=(f"$({TOUCH})", f"`{TOUCH}`")),
    Attack(what="a line break in an argument", command="echo", args=("a", f"\n{TOUCH}\n")),
    Attack(what="quotes in an argument", command="echo", args=(f"'; {TOUCH}; '", f'"; {TOUCH}; "')),
    Attack(what="a quoted line", command=f"echo '; {TOUCH}'"),
    Attack(
        what="meta that says otherwise",
        command="true",
        more={"_meta": {"command": "sh", "args": ["-c", TOUCH], "shell": True, "cwd": "{outside}"}},
    ),
    Attack(what="our secrets", command="env"),
    Attack(what="the environment of a child", command="cat", args=("/proc/self/environ",)),
    Attack(
        what="a program of the folder that is named like one of the system",
        command="ls",
        env={"PATH": ".:/usr/bin:/bin"},
        programs=(("ls", f"#!/bin/sh\n{TOUCH}\n"),),
    ),
    Attack(
        what="an empty entry of PATH",
        command="ls",
        env={"PATH": ":/usr/bin:/bin"},
        programs=(("ls", f"#!/bin/sh\n{TOUCH}\n"),),
    ),
    shell("cat; read x; echo $x", what="reading what we read"),
    shell("echo owned > /dev/tty", what="our terminal"),
    shell("ls -l /proc/self/fd; cat /proc/self/fd/[3-9]* 2>&1", what="our descriptors"),
    # What stays behind.
    shell("sleep 61 & sleep 61 & echo $!", what="children in the background"),
    shell("nohup sleep 61 >/dev/null 2>&1 &", what="a child that is left alone"),
    shell("setsid sleep 61 & setsid sleep 61 & sleep 61", what="children in sessions of their own"),
    shell("(setsid sh -c 'sleep 61 & sleep 61' &) ; sleep 61", what="a daemon"),
    shell("(setsid sh -c 'exec >/dev/null 2>&1; sleep 61' &)", what="a daemon that outlives its parent"),
    shell("trap '' TERM HUP INT; (trap '' TERM; sleep 61) & sleep 61", what="deaf processes"),
    shell("kill -STOP $$", what="a stopped process"),
    shell("sleep 61 & kill -STOP $!; wait", what="a stopped child"),
    shell("for i in 1 2 3 4 5 6 7 8; do (sleep 61 &) & done; wait; sleep 61", what="a crowd"),
    shell("exec >&- 2>&-; sleep 61", what="a process without output"),
    shell("trap 'sleep 61 &' TERM; sleep 61 & wait; sleep 61", what="a child made while dying"),
    # Output.
    Attack(what="an endless limit", command="echo", args=("x",), more={"outputByteLimit": 2**64 - 1}),
    shell("yes", what="endless output"),
    shell("cat /dev/zero", what="endless zeros"),
    shell("cat /dev/urandom", what="endless noise", more={"outputByteLimit": 1000}),
]
