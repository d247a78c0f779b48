"""Requests that take long to judge: meanwhile everybody else waits, if nobody took care."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.hostile.tricks import Rule, Step, call

RULES: tuple[Rule, ...] = (
    {"decision": "deny", "command": ["git push", "rm -rf", "touch"]},
    {"decision": "deny", "path": ["**/.env", "secret/**", "~/.ssh/**", "**/a*a*a*a*b/**"]},
    {"decision": "allow", "command": ["ls **", "echo **", "git status"]},
    {"decision": "allow", "kind": "edit", "path": "src/**"},
)


@dataclass(frozen=True)
class Weight:
    """One request, small enough for any bound on its size."""

    name: str
    asked: Step
    axis: str = "G"
    said: str = "the policy has a few rules about commands and paths"
    does: str = "asks for something whose judgement takes long; another client asks the hub for its sessions"


def line(name: str, text: str) -> Weight:
    return Weight(name, call(rawInput={"command": text}))


def nested(depth: int) -> Any:
    value: Any = "src/a"
    for _ in range(depth):
        value = {"path": value}
    return value


WEIGHTS: tuple[Weight, ...] = (
    line("a word of many paths and commas", "ls " + "a/," * 400),
    line("a word of many signs", "ls " + "a=b/,c:@" * 250),
    line(
        "a word that is a table in JSON",
        f"echo '{json.dumps([{'path': 'x/y,z', 'n': n} for n in range(150)])}'",
    ),
    line("a line of many words", "ls " + " ".join(f"a/b{n}" for n in range(3000))),
    line("a line of many commands", "ls;" * 6000),
    line("a line of many substitutions", "echo " + "$(" * 1500 + "ls" + ")" * 1500),
    line("a line of many braces", "ls " + "{a,b}" * 2500),
    line("a line of many stars", "ls " + "a*" * 2500 + "b"),
    line("a line of many variables", "A=1 " * 4500 + "ls"),
    line(
        "a line of doubled variables",
        "a0=xxxxxxxx;" + "".join(f"a{n}=$a{n - 1}$a{n - 1};" for n in range(1, 60)) + "$a59",
    ),
    line(
        "a line of functions that call each other twice",
        "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }};" for n in range(60)) + "f60() { ls; };f0",
    ),
    line(
        "a line of loops in loops",
        "".join(f"for i{n} in a b c d e f g h; do " for n in range(14))
        + "$i1$i2$i3$i4$i5$i6;"
        + "done;" * 14,
    ),
    line("a line of programs that run others", "timeout 1 " * 1600 + "ls"),
    line("a line of settings of git", "git " + "-c alias.x='!git x' " * 700 + "x"),
    line("a path of many dots", "ls " + "../" * 5000),
    Weight(
        "many paths in one request",
        call("edit", rawInput={"paths": [f"@here@/src/a{n}/../b{n}" for n in range(2500)]}),
    ),
    Weight(
        "many places in one request",
        call("edit", locations=[{"path": f"@here@/src/a{n}"} for n in range(500)]),
    ),
    Weight(
        "a path that fits a pattern almost",
        call("edit", rawInput={"path": "/" + "a" * 200 + "/" + "a" * 3000 + "/c"}),
    ),
    Weight("a request of many keys", call("edit", rawInput={f"k{n}": "src/a" for n in range(3000)})),
    Weight("a request that is deeply nested", call("edit", rawInput=nested(300))),
)
