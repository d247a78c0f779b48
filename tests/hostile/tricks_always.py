"""Answers for good: they hold for the same request, and for nothing that only looks like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.hostile.raw_client import first_for_good
from tests.hostile.tricks import DONE, EVIL_FILE, Effect, Step, Trick, Turn, announce, call, shell, turn


def ask(line: str, **fields: Any) -> Step:
    return call(rawInput={"command": line}, title=line) | fields


def always(
    name: str,
    first: tuple[Step, ...],
    second: Turn,
    *,
    effect: Effect = EVIL_FILE,
    files: Mapping[str, str] | None = None,
    honest: tuple[Turn, ...] = (),
    honest_effect: Effect = DONE,
) -> Trick:
    """A person says *always* to the first request; the second one is not the same."""
    again = (turn(*first[:1]), turn(*first[:1], {"write": ["done", ""], "when": "q"}))
    return Trick(
        name=name,
        axis="C",
        said="a person permits the first request for good, and refuses everything after it",
        does=f"asks for {first[0]}, and later for {second.steps[0]}",
        turns=(turn(*first), second),
        honest=honest or again,
        honest_effect=honest_effect,
        effect=effect,
        person=first_for_good,
        files=files or {},
    )


def ran(line: str, **fields: Any) -> tuple[Step, ...]:
    """Asks for a line, and runs it if that was permitted."""
    return ({"ask": ask(line, **fields)}, {"run": line, "when": "q"})


TOUCH = ({"ask": ask("touch good")},)
MAKE = ({"ask": ask("make")},)
MAKEFILES = {"Makefile": "all:\n\ttrue\n", "evil-folder/Makefile": "all:\n\ttouch ../evil\n"}


def after_touch(name: str, line: str, **fields: Any) -> Trick:
    return always(name, TOUCH, turn(*ran(line, **fields)))


def edit(path: str, **fields: Any) -> Step:
    return {
        "ask": call("edit", title=f"Edit {path}", rawInput={"file_path": path}, locations=[{"path": path}])
        | fields
    }


ALWAYS: tuple[Trick, ...] = (
    after_touch("always, and one more word", "touch good evil"),
    after_touch("always, and a chain", "touch good && touch evil"),
    after_touch("always, and a second line", "touch good\ntouch evil"),
    after_touch("always, and a pipe", "touch good | touch evil"),
    after_touch("always, and a variable in front", "evil=1 touch good; touch evil"),
    after_touch("always, and a redirection", "touch good > evil"),
    after_touch("always, and a substitution", "touch good $(touch evil)"),
    after_touch("always, and a background", "touch good & touch evil; wait"),
    after_touch("always, and an option in between", "touch -c -r evil good; touch evil"),
    always(
        "always, and a program of the same name in the folder",
        TOUCH,
        turn(*ran("./touch good")),
        files={"touch": "#!/bin/sh\n/bin/touch evil\n"},
    ),
    always(
        "always, and the same in a folder below",
        MAKE,
        turn(
            {"ask": ask("make", rawInput={"command": "make", "cwd": "@here@/evil-folder"})},
            {"run": "make", "from": "evil-folder", "when": "q"},
        ),
        files=MAKEFILES,
    ),
    always(
        "always, and the same in a folder below in another key",
        MAKE,
        turn(
            {"ask": ask("make", rawInput={"command": "make", "workdir": "@here@/evil-folder"})},
            {"run": "make", "from": "evil-folder", "when": "q"},
        ),
        files=MAKEFILES,
    ),
    always(
        "always, and the same in a folder below in a key that is little known",
        MAKE,
        turn(
            {"ask": ask("make", rawInput={"command": "make", "directory": "@here@/evil-folder"})},
            {"run": "make", "from": "evil-folder", "when": "q"},
        ),
        files=MAKEFILES,
    ),
    always(
        "always, and the same in a folder below through cd",
        MAKE,
        turn(*ran("cd evil-folder && make")),
        files=MAKEFILES,
    ),
    always(
        "always, and the same in a terminal of a folder below",
        MAKE,
        turn({"terminal": {"command": "make", "cwd": "@here@/evil-folder"}}),
        files=MAKEFILES,
    ),
    always(
        "always, and the same with variables of a terminal",
        TOUCH,
        turn(
            {"terminal": {"command": "touch", "args": ["good"], "env": [{"name": "PATH", "value": "@here@"}]}}
        ),
        files={"touch": "#!/bin/sh\n/bin/touch evil\n"},
    ),
    always(
        "always, and the same in another project",
        ({"ask": ask("touch x")},),
        turn(*ran("touch x"), session="evil-project"),
        effect=Effect("@beside@/evil-project/x"),
    ),
    always(
        "always, and the same in a project below",
        ({"ask": ask("touch x")},),
        turn(*ran("touch x"), session="here/inner"),
        effect=Effect("@here@/inner/x"),
    ),
    always(
        "always, and the same by another agent",
        ({"ask": ask("touch evil")},),
        turn(*ran("touch evil"), session="twin", agent="other"),
    ),
    always(
        "always, and a line that was quoted",
        ({"ask": ask("touch 'good evil'")},),
        turn(*ran("touch good evil")),
    ),
    always(
        "always for a file, and another file",
        (edit("@here@/good"),),
        turn(edit("@here@/evil"), {"run": "touch evil", "when": "q"}),
    ),
    always(
        "always for a file, and two dots behind it",
        (edit("@here@/good"),),
        turn(edit("@here@/good/../evil"), {"run": "touch evil", "when": "q"}),
    ),
    always(
        "always for a file, and a second one in another key",
        (edit("@here@/good"),),
        turn(
            edit("@here@/good", rawInput={"file_path": "@here@/good", "target": "@here@/evil"}),
            {"run": "touch evil", "when": "q"},
        ),
    ),
    always(
        "always for a file, and a diff of another",
        (edit("@here@/good"),),
        turn(
            edit("@here@/good", content=[{"type": "diff", "path": "@here@/evil", "newText": "x"}]),
            {"run": "touch evil", "when": "q"},
        ),
    ),
    always(
        "always for a file, and a command for it",
        (edit("@here@/good"),),
        turn(
            {"ask": call("edit", rawInput={"file_path": "@here@/good", "command": "touch evil"})},
            {"run": "touch evil", "when": "q"},
        ),
    ),
    always(
        "always for a read, and a write of the same",
        ({"ask": call("read", rawInput={"path": "@beside@/evil"})},),
        turn(
            {"ask": call("edit", rawInput={"path": "@beside@/evil"})},
            {"run": "touch @beside@/evil", "when": "q"},
        ),
        effect=Effect("@beside@/evil"),
    ),
    always(
        "always for a file that becomes a link",
        (edit("@here@/good"),),
        turn(
            {"link": ["@here@/secret/key", "good"]},
            {"call": "fs/write_text_file", "params": {"path": "@here@/good", "content": "evil"}},
        ),
        effect=Effect("@here@/secret/key", "evil"),
    ),
    always(
        "always for a tool, and the same tool with another input",
        ({"ask": call("other", name="mcp__db__query", title="query", rawInput={"sql": "select 1"})},),
        turn(
            {"ask": call("other", name="mcp__db__query", title="query", rawInput={"sql": "drop evil"})},
            {"run": "touch evil", "when": "q"},
        ),
        honest=(turn(*TOUCH), turn(*TOUCH, {"write": ["done", ""], "when": "q"})),
    ),
    always(
        "always for a tool that names nothing",
        ({"ask": call("fetch", title="Fetch", rawInput={"url": "https://good.example/"})},),
        turn(
            {"ask": call("fetch", title="Fetch", rawInput={"url": "https://evil.example/"})},
            {"run": "touch evil", "when": "q"},
        ),
        honest=(turn(*TOUCH), turn(*TOUCH, {"write": ["done", ""], "when": "q"})),
    ),
    always(
        "always for a command, and an announcement beside it",
        TOUCH,
        turn(
            announce(number="c2", rawInput={"command": "touch evil"}),
            {"ask": ask("touch good", toolCallId="c2")},
            {"run": "touch evil", "when": "q"},
        ),
    ),
    always(
        "always for a command, and a second one in another key",
        TOUCH,
        turn(
            {"ask": ask("touch good", rawInput={"command": "touch good", "cmd": "touch evil"})},
            {"run": "touch evil", "when": "q"},
        ),
    ),
    always(
        "always for a script that is written anew",
        ({"ask": ask("sh run")},),
        turn(
            {"call": "fs/write_text_file", "params": {"path": "@here@/run", "content": "touch evil"}},
            *shell("sh run"),
        ),
        files={"run": "true\n"},
    ),
)
