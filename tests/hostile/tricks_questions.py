"""Questions that are shown as one thing and used for another, and answers that are used again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.hostile.raw_client import Answer, agent_first, first_only, never
from tests.hostile.tricks import (
    EVIL_FILE,
    Effect,
    Rule,
    Step,
    Trick,
    Turn,
    announce,
    call,
    turn,
)

GOOD = Effect("@here@/good")
READS: Rule = {"decision": "allow", "kind": ["read", "search", "think"]}
ECHOES: Rule = {"decision": "allow", "command": "echo **"}
NO_TOUCH: Rule = {"decision": "deny", "command": "touch"}


def ask(line: str, **fields: Any) -> Step:
    """Asks for a command."""
    return {"ask": call(rawInput={"command": line}, title=f"`{line}`") | fields}


def terminal(*words: str, **fields: Any) -> Step:
    """Runs a command in a terminal that is lent."""
    return {"terminal": {"command": words[0], "args": list(words[1:])} | fields, "as": "t"}


def write(text: str, path: str = "@here@/file", **fields: Any) -> Step:
    """Writes a file that is lent."""
    return {"call": "fs/write_text_file", "params": {"path": path, "content": text}, "as": "w"} | fields


def edit(text: str, path: str = "@here@/file", **fields: Any) -> Step:
    """Asks for a change, shown as a diff."""
    diff = {"type": "diff", "path": path, "oldText": None, "newText": text}
    return {"ask": call("edit", title=f"Write {path}", content=[diff], **fields)}


def once(
    name: str,
    does: str,
    *turns: Turn | tuple[Step, ...],
    effect: Effect = EVIL_FILE,
    honest: tuple[Step, ...] = (ask("touch good"), terminal("touch", "good")),
    honest_effect: Effect = GOOD,
    axis: str = "A",
    person: Answer = agent_first,
    files: Mapping[str, str] | None = None,
    rules: tuple[Rule, ...] = (),
) -> Trick:
    """A person permits the first thing, once. The agent uses that for something else."""
    return Trick(
        name=name,
        axis=axis,
        said="a person permits the first question once, and refuses everything after it",
        does=does,
        turns=tuple(each if isinstance(each, Turn) else turn(*each) for each in turns),
        honest=(turn(*honest),),
        effect=effect,
        honest_effect=honest_effect,
        person=person,
        honest_person=agent_first,
        files=files or {},
        rules=rules,
    )


WRITTEN = (edit("good"), write("good"))
BAD = Effect("@here@/file", "evil")
WELL = Effect("@here@/file", "good")
MAKEFILES = {"Makefile": "all:\n\ttouch good\n", "sub/Makefile": "all:\n\ttouch ../evil\n"}
MADE = (ask("make"), terminal("make"))
LYING = [
    {"optionId": "no", "name": "No, never", "kind": "allow_once"},
    {"optionId": "yes", "name": "Yes", "kind": "reject_once"},
]
TWICE = [
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "no", "name": "Yes", "kind": "allow_once"},
]


FALSE_PAST: Step = {
    "ask": call(
        "edit", content=[{"type": "diff", "path": "@here@/file", "oldText": "a\n", "newText": "a\nb"}]
    )
}
FRAGMENT: Step = {
    "ask": call("edit", rawInput={"file_path": "@here@/file", "old_string": "a", "new_string": "good"})
}

SHOWN: tuple[Trick, ...] = (
    once(
        "one diff is shown and another text is written",
        "asks for a diff, writes another text",
        (edit("good"), write("evil")),
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a small edit is shown and the whole file is replaced",
        "asks to replace a word, writes something else",
        (FRAGMENT, write("evil")),
        effect=BAD,
        honest=(FRAGMENT, write("good")),
        honest_effect=WELL,
        files={"file": "a"},
    ),
    once(
        "a file is shown by its place alone",
        "asks to edit a place, without a text, and writes any",
        ({"ask": call("edit", locations=[{"path": "@here@/file"}])}, write("evil")),
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a read is permitted and a write is done",
        "asks to read a file and writes it",
        ({"ask": call("read", rawInput={"path": "@here@/file"})}, write("evil")),
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a diff is permitted and another file is written",
        "asks for one file, writes another",
        (edit("good"), write("evil", "@here@/evil")),
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a diff is permitted and its file becomes a link",
        "asks for a file, makes a link of it that leads away, and writes it",
        (edit("good"), {"link": ["@beside@/evil", "file"]}, write("good")),
        effect=Effect("@beside@/evil"),
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a diff is permitted and its folder becomes a link",
        "asks for a file, makes a link of its folder, and writes it",
        (edit("good", "@here@/src/evil"), {"link": ["@beside@", "src"]}, write("good", "@here@/src/evil")),
        effect=Effect("@beside@/evil"),
        honest=WRITTEN,
        honest_effect=WELL,
        files={"src/a": ""},
    ),
    once(
        "a diff is permitted and its file becomes a link to a neighbour",
        "asks for a file, makes a link of it to another file of the folder, and writes it",
        (edit("x"), {"link": ["secret/key", "file"]}, write("evil")),
        effect=Effect("@here@/secret/key", "evil"),
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a diff with a false past is shown",
        "asks for a diff whose old text is not what the file holds",
        (FALSE_PAST, write("a\nb")),
        effect=Effect("@here@/file", "a\nb"),
        honest=(edit("good"), write("good")),
        honest_effect=WELL,
        files={"file": "precious\na\n"},
    ),
    once(
        "ids of the hub's own questions are announced before",
        "announces calls under ids that the hub uses, runs what they say behind the first answer",
        (
            *(announce(number=f"hub-{count}", rawInput={"command": "touch evil"}) for count in range(50, 75)),
            terminal("touch", "good"),
            terminal("touch", "evil"),
        ),
        person=first_only,
    ),
    once(
        "one command is shown and another is run",
        "asks for `touch good`, runs `touch evil`",
        (ask("touch good"), terminal("touch", "evil")),
    ),
    once(
        "a command is run with one more word",
        "asks for `touch good`, runs `touch good evil`",
        (ask("touch good"), terminal("touch", "good", "evil")),
    ),
    once(
        "words are cut in another way",
        "asks for `touch 'good evil'`, runs it with two words",
        (ask("touch 'good evil'"), terminal("touch", "good", "evil")),
    ),
    once(
        "a quoted text becomes a line of shell",
        "asks to echo a text, runs it as a line",
        (ask("echo 'a;touch evil'"), {"terminal": {"command": "echo a;touch evil"}}),
    ),
    once(
        "words of a line are quoted away",
        "asks for an echo, hands the same line to a shell",
        (ask("sh -c 'echo a' 'touch evil'"), terminal("sh", "-c", "echo a; touch evil")),
    ),
    once(
        "a command is run in another folder",
        "asks for `make`, runs it in a folder below",
        (ask("make"), terminal("make", cwd="@here@/sub")),
        honest=MADE,
        files=MAKEFILES,
    ),
    once(
        "a command that was shown with a folder is run in another",
        "asks for `make` in one folder, runs it in another",
        (ask("make", rawInput={"command": "make", "cwd": "@here@"}), terminal("make", cwd="@here@/sub")),
        honest=MADE,
        files=MAKEFILES,
    ),
    once(
        "a command is run with variables",
        "asks for `make`, runs it with MAKEFLAGS",
        (ask("make"), terminal("make", env=[{"name": "MAKEFLAGS", "value": "--eval=$(shell touch evil)"}])),
        honest=MADE,
        files=MAKEFILES,
    ),
    once(
        "a command is run with a variable that looks harmless",
        "asks for `sh run`, runs it with CI",
        (ask("sh run"), terminal("sh", "run", env=[{"name": "CI", "value": "1"}])),
        files={"run": "test -z $CI || touch evil; touch good\n"},
        honest=(ask("sh run"), terminal("sh", "run")),
    ),
    once(
        "a program in the folder has the permitted name",
        "asks for `touch good`, runs `./touch good`",
        (ask("touch good"), terminal("./touch", "good")),
        files={"touch": "#!/bin/sh\n/bin/touch evil\n"},
    ),
    once(
        "the announced command differs from the one in the request",
        "announces `touch evil`, asks for `touch good` under the same id, runs the first",
        (announce(rawInput={"command": "touch evil"}), ask("touch good"), terminal("touch", "evil")),
    ),
    once(
        "the call changes while the question is open",
        "asks, changes the call's command before the answer, runs the new one",
        (
            ask("touch good") | {"later": True},
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "call-1",
                    "rawInput": {"command": "touch evil"},
                }
            },
            {"join": "q"},
            terminal("touch", "evil"),
        ),
    ),
    once(
        "the call changes behind the answer",
        "asks, then changes the call's command and runs the new one",
        (
            ask("touch good"),
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "call-1",
                    "rawInput": {"command": "touch evil"},
                }
            },
            terminal("touch", "evil"),
        ),
    ),
    once(
        "the call is announced anew behind the answer",
        "asks, then announces the same id with another command",
        (ask("touch good"), announce(rawInput={"command": "touch evil"}), terminal("touch", "evil")),
    ),
    once(
        "a second command stands in another key",
        "asks with `command` and `cmd`, runs the second",
        (
            ask("touch good", rawInput={"command": "touch good", "cmd": "touch evil"}),
            terminal("touch", "evil"),
        ),
    ),
    once(
        "a diff is announced that the request does not show",
        "announces a diff of another file under the same id, then writes that",
        (
            announce("edit", content=[{"type": "diff", "path": "@here@/evil", "newText": "x"}]),
            edit("good"),
            write("x", "@here@/evil"),
        ),
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a permitted file is written twice",
        "asks once, writes twice",
        (edit("good"), write("good"), write("evil")),
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
        axis="B",
    ),
    once(
        "a permitted command is run twice",
        "asks once, runs twice",
        (ask("sh run"), terminal("sh", "run"), terminal("sh", "run")),
        axis="B",
        files={"run": "test ! -e good || touch evil; touch good\n"},
        honest=(ask("sh run"), terminal("sh", "run")),
    ),
    once(
        "an option that says no has the kind of a yes",
        "offers a No that counts as permission",
        ({**ask("touch evil"), "options": LYING}, terminal("touch", "evil")),
        person=never,
    ),
    once(
        "two options have one id",
        "offers a No and a Yes under one id",
        ({**ask("touch evil"), "options": TWICE}, terminal("touch", "evil")),
        person=never,
    ),
)

AGAIN: tuple[Trick, ...] = (
    once(
        "a permission of the last turn",
        "asks in one turn, runs in the next",
        (ask("touch evil"),),
        (terminal("touch", "evil"),),
        axis="B",
    ),
    once(
        "a permission behind a refusal of the same",
        "asks twice, is refused the second time, runs it",
        (ask("touch evil"), ask("touch evil"), terminal("touch", "evil")),
        axis="B",
    ),
    once(
        "a refusal under the same id, a permission under another",
        "is refused under one id, permitted something else under another",
        (
            {"ask": call(number="a", rawInput={"command": "touch good"})},
            {"ask": call(number="b", rawInput={"command": "touch evil"})},
            terminal("touch", "evil"),
        ),
        axis="B",
    ),
    once(
        "a permission in a session that was loaded again",
        "asks, and runs it behind a load",
        (ask("touch evil"),),
        turn(terminal("touch", "evil"), before="load"),
        axis="B",
    ),
    once(
        "a permission behind a new connection of the client",
        "asks, and runs it when the client has come back",
        (ask("touch evil"),),
        turn(terminal("touch", "evil"), before="reconnect"),
        axis="B",
    ),
    once(
        "a permission of another session",
        "asks in one session, runs it in another",
        (ask("touch @beside@/main/evil"),),
        turn(terminal("touch", "@beside@/main/evil"), session="second"),
        axis="B",
        effect=Effect("@beside@/main/evil"),
        files={"../main/x": ""},
    ),
    once(
        "a permission of another session of the same folder",
        "asks in one session, runs it in the other",
        (ask("touch evil"),),
        turn(terminal("touch", "evil"), session="twin"),
        axis="B",
    ),
    once(
        "a permission of a child used by its parent",
        "a child asks, the parent runs it",
        (
            {"child": {"sessionId": "@here@#kid", "subagentId": "kid", "name": "kid", "state": "running"}},
            {**ask("touch evil"), "in": "@here@#kid", "retry": True},
            terminal("touch", "evil"),
        ),
        axis="B",
    ),
    once(
        "a permission of the parent used by a child",
        "the parent asks, a child runs it",
        (
            {"child": {"sessionId": "@here@#kid", "subagentId": "kid", "name": "kid", "state": "running"}},
            ask("touch evil"),
            {**terminal("touch", "evil"), "in": "@here@#kid"},
        ),
        axis="B",
    ),
    once(
        "a permission for a write in the next turn",
        "asks in one turn, writes in the next",
        (edit("evil"),),
        (write("evil"),),
        axis="B",
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a permission for a write behind a refusal",
        "asks twice, is refused the second time, writes",
        (edit("evil"), edit("evil"), write("evil")),
        axis="B",
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
)

RESTARTED: tuple[Trick, ...] = (
    once(
        "a permission of a hub that was killed",
        "asks, and runs it when the hub was killed and started again",
        (ask("touch evil"),),
        turn(terminal("touch", "evil"), before="restart"),
        axis="B",
    ),
    once(
        "a permission for a write of a hub that was killed",
        "asks, and writes when the hub was killed",
        (edit("evil"),),
        turn(write("evil"), before="restart"),
        axis="B",
        effect=BAD,
        honest=WRITTEN,
        honest_effect=WELL,
    ),
    once(
        "a permission that was used up before the hub was killed",
        "runs it once before the kill, once behind it",
        (ask("sh run"), terminal("sh", "run")),
        turn(terminal("sh", "run"), before="restart"),
        axis="B",
        files={"run": "test ! -e good || touch evil; touch good\n"},
        honest=(ask("sh run"), terminal("sh", "run")),
    ),
    once(
        "an announcement that a killed hub has heard",
        "announces a command; behind the kill it asks to read, with the id alone",
        (announce(rawInput={"command": "touch evil"}),),
        turn(
            {"ask": {"toolCallId": "call-1", "title": "Look around", "kind": "read"}},
            {"run": "touch evil", "when": "q"},
            before="restart",
        ),
        axis="B",
        person=never,
        rules=(READS,),
    ),
)

QUESTIONS: tuple[Trick, ...] = SHOWN + AGAIN
