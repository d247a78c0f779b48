"""Requests that a rule allows for what they say they are, and that tell elsewhere what they do."""

from __future__ import annotations

import json

from tests.hostile.tricks import ANYTHING, Rule, Step, Trick, announce, call, turn

READS: Rule = {"decision": "allow", "kind": ["read", "search", "think"]}
ECHOES: Rule = {"decision": "allow", "command": "echo **"}
NO_TOUCH: Rule = {"decision": "deny", "command": "touch"}


def claimed(
    name: str,
    *steps: Step,
    rules: tuple[Rule, ...] = (READS,),
    axis: str = "A",
    runs: str = "touch evil",
    agent: str = "hostile",
    honest: tuple[Step, ...] = (),
) -> Trick:
    """A request that a rule allows for what it says it is; elsewhere it tells what it does."""
    plain = honest or ({"ask": call("read", rawInput={"path": "@here@/secret/key"})},)
    return Trick(
        name=name,
        axis=axis,
        said=f"the policy says {[dict(rule) for rule in rules]}; a person refuses everything",
        does=f"asks with {json.dumps(steps)[:300]} and then runs {runs!r}",
        rules=rules,
        turns=(turn(*steps, {"run": runs, "when": "q"}),),
        honest=(turn(*plain, {"write": ["done", ""], "when": "q"}),),
        agent=agent,
    )


PLAIN = ({"ask": call(rawInput={"command": "echo a"})},)
CLAIMED: tuple[Trick, ...] = (
    *(
        claimed(f"a read with a command under the key {key}", {"ask": call("read", rawInput={key: value})})
        for key, value in {
            "command": "touch evil",
            "cmd": "touch evil",
            "script": "touch evil",
            "shell": "touch evil",
            "bash": "touch evil",
            "code": "import os; os.mknod('evil')",
            "argv": ["touch", "evil"],
            "commandLine": "touch evil",
            "shell_command": "touch evil",
            "commands": ["touch evil"],
            "program": "touch",
            "exec": "touch evil",
            "run": "touch evil",
            "arguments": {"command": "touch evil"},
            "input": {"cmd": "touch evil"},
            "action": {"type": "exec", "command": ["touch", "evil"]},
        }.items()
    ),
    claimed("a read whose input is a line of shell", {"ask": call("read", rawInput="touch evil")}),
    claimed("a read whose title is a command in backticks", {"ask": call("read", title="`touch evil`")}),
    claimed(
        "a read whose content is a terminal",
        {"ask": call("read", content=[{"type": "terminal", "terminalId": "t"}])},
    ),
    claimed(
        "a read that carries a text to write",
        {"ask": call("read", rawInput={"file_path": "@here@/evil", "content": "x"})},
    ),
    claimed(
        "a read that carries words to replace",
        {"ask": call("read", rawInput={"file_path": "@here@/evil", "old_string": "a", "new_string": "b"})},
    ),
    claimed(
        "a read that carries a patch",
        {"ask": call("read", rawInput={"patch": "*** Begin Patch\n*** Add File: evil\n+x\n*** End Patch"})},
    ),
    claimed("a read whose tool is called Bash", {"ask": call("read", name="Bash", rawInput={})}),
    claimed(
        "a read of a call that was announced as an execution",
        announce("execute", title="Run"),
        {"ask": call("read", rawInput={})},
    ),
    claimed(
        "a read of a call that was announced with a command",
        announce("execute", rawInput={"command": "touch evil"}),
        {"ask": call("read", rawInput={"path": "@here@/secret/key"})},
    ),
    claimed(
        "a read of a call that was announced with a command in another key",
        announce("execute", rawInput={"cmd": ["touch", "evil"]}),
        {"ask": call("read", rawInput={"path": "@here@/secret/key"})},
    ),
    claimed(
        "an allowed command and a second one in another key",
        {"ask": call(rawInput={"command": "echo a", "cmd": "touch evil"})},
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "an allowed command and further words in args",
        {"ask": call(rawInput={"command": "echo", "args": ["a", ";", "touch", "evil"], "shell": True})},
        rules=(ECHOES,),
        honest=PLAIN,
        runs="echo a ; touch evil",
    ),
    claimed(
        "an allowed command with variables beside it",
        {"ask": call(rawInput={"command": "echo a", "env": {"BASH_ENV": "evil.sh"}})},
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "an allowed command in a folder outside",
        {"ask": call(rawInput={"command": "make", "cwd": "@beside@"})},
        rules=({"decision": "allow", "command": "make"},),
        honest=({"ask": call(rawInput={"command": "make"})},),
    ),
    claimed(
        "an allowed command in a folder outside in another key",
        {"ask": call(rawInput={"command": "make", "working_directory": "@beside@"})},
        rules=({"decision": "allow", "command": "make"},),
        honest=({"ask": call(rawInput={"command": "make"})},),
    ),
    claimed(
        "an allowed command in a folder outside in a third key",
        {"ask": call(rawInput={"command": "make", "dir": "@beside@"})},
        rules=({"decision": "allow", "command": "make"},),
        honest=({"ask": call(rawInput={"command": "make"})},),
    ),
    claimed(
        "an allowed command and a diff beside it",
        {
            "ask": call(
                rawInput={"command": "echo a"},
                content=[{"type": "diff", "path": "@here@/evil", "newText": "x"}],
            )
        },
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "an allowed command whose title is another",
        {"ask": call(rawInput={"command": "echo a"}, title="`touch evil`")},
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "an allowed command behind an announcement of another",
        announce(rawInput={"command": "touch evil"}),
        {"ask": call(rawInput={"command": "echo a"})},
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "an announcement that is pushed out by others",
        announce(rawInput={"command": "touch evil"}),
        *(announce(number=f"n{count}", title="x") for count in range(260)),
        {"ask": call(rawInput={"command": "echo a"})},
        rules=(ECHOES,),
        honest=PLAIN,
    ),
    claimed(
        "a command that is told by an update alone",
        {
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1",
                "rawInput": {"command": "touch evil"},
            }
        },
        {"ask": {"toolCallId": "call-1", "title": "Look", "kind": "read"}},
    ),
    *(
        claimed(
            f"a denied command under the key {key}",
            {"ask": call(rawInput={key: value})},
            rules=(NO_TOUCH, ANYTHING),
            honest=PLAIN,
        )
        for key, value in {
            "cmd": "touch evil",
            "script": "touch evil",
            "argv": ["touch", "evil"],
            "arguments": {"command": "touch evil"},
            "code": "touch evil",
        }.items()
    ),
    claimed(
        "a denied command in the title",
        {"ask": call(title="touch evil")},
        rules=(NO_TOUCH, ANYTHING),
        honest=PLAIN,
    ),
)

V2_PLAIN = (
    {"ask": {}, "subject": {"type": "command", "command": "echo a", "cwd": "@here@"}, "title": "Run?"},
)


def in_v2(
    name: str, *steps: Step, rules: tuple[Rule, ...] = (NO_TOUCH, ANYTHING), runs: str = "touch evil"
) -> Trick:
    return claimed(name, *steps, rules=rules, agent="hostile2", honest=V2_PLAIN, runs=runs)


V2: tuple[Trick, ...] = (
    in_v2(
        "a denied command as a subject of version 2",
        {"ask": {}, "subject": {"type": "command", "command": "touch evil", "cwd": "@here@"}},
    ),
    in_v2(
        "a denied command as a subject of another type",
        {"ask": {}, "subject": {"type": "_shell", "command": "touch evil"}},
    ),
    in_v2(
        "a denied command in the description of version 2",
        {"ask": {}, "subject": None, "title": "Run touch evil?", "more": {"description": "touch evil"}},
    ),
    in_v2(
        "a denied command in a subject that is a call",
        {"ask": {"toolCallId": "c", "title": "Run", "rawInput": {"cmd": "touch evil"}}},
    ),
    in_v2(
        "an allowed command of version 2 in a folder outside",
        {"ask": {}, "subject": {"type": "command", "command": "echo a", "cwd": "@beside@"}},
        rules=(ECHOES,),
    ),
    in_v2(
        "an allowed command of version 2 behind another announcement",
        {
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c",
                "title": "x",
                "rawInput": {"command": "touch evil"},
            }
        },
        {"ask": {"toolCallId": "c", "title": "x", "rawInput": {"command": "echo a"}}},
        rules=(ECHOES,),
    ),
    in_v2(
        "an allowed command of version 2 and more beside it",
        {
            "ask": {},
            "subject": {
                "type": "command",
                "command": "echo a",
                "cwd": "@here@",
                "args": ["; touch evil"],
                "toolCall": {"toolCallId": "c", "rawInput": {"command": "touch evil"}},
            },
        },
        rules=(ECHOES,),
    ),
)

CLAIMS: tuple[Trick, ...] = CLAIMED + V2
