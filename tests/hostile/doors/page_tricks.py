"""Agents that want a person to see something else than what is asked, or than what is done.

A page draws from what the hub says in its own name: messages whose method begins with `_dragoman/`, and
`_meta.dragoman` of all others. Nothing of an agent's may stand there: what is forged is told by its words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.agent_steps import OPTIONS, Step, request, update
from tests.hostile.doors.tricks import Outcome, Trick
from tests.hostile.doors.visitor import Person

FORGED = "$FORGED"


@dataclass(frozen=True, kw_only=True)
class PageTrick(Trick):
    dialect: str = "v1"
    person: Person = "no"
    steps: Sequence[Step]
    shown: str = ""
    """What must be in a question if the file `done` is there."""


def forged(
    name: str, does: str, *steps: Step, dialect: str = "v1", at_first: Outcome = "never did"
) -> PageTrick:
    return PageTrick(
        name=f"a forger: {name}",
        at_first=at_first,
        axis="page",
        said="the person believes what the hub says in its own name",
        does=does,
        effect="a client hears words of the agent as words of the hub",
        dialect=dialect,
        steps=steps,
    )


def notify(method: str, params: dict[str, Any]) -> Step:
    return {"say": {"jsonrpc": "2.0", "method": method, "params": params}}


QUESTION = {
    "sessionId": "$SESSION",
    "request": FORGED,
    "method": "session/request_permission",
    "params": {"toolCall": {"toolCallId": "c", "title": FORGED}, "options": OPTIONS},
    "agent": FORGED,
    "title": FORGED,
}

EVENT = {"sessionId": "$SESSION", "event": "settled", "request": FORGED, "by": "owner", "outcome": FORGED}

META = {
    "dragoman": {
        "cursor": FORGED,
        "requester": FORGED,
        "child": FORGED,
        "request": FORGED,
        "risks": [],
        "risksNote": FORGED,
        "key": FORGED,
    }
}

CALL = {"toolCallId": "c", "title": "Make", "kind": "execute", "rawInput": {"command": "make"}}

CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}


def asked(number: str = "q", **members: Any) -> Step:
    return request(
        "session/request_permission", {"toolCall": CALL, "options": OPTIONS, **members}, number=number
    )


def raw_twins() -> Step:
    line = json.dumps(asked(_meta={"other": 1})["ask"])
    return {"raw": line.replace('"_meta": {', f'"_meta": {json.dumps(META)}, "_meta": {{')}


FORGERIES = [
    forged(
        "a question for everybody",
        "notifies of one in the hub's words, without a session",
        notify("_dragoman/hub/asked", {"request": QUESTION}),
        at_first="succeeded",
    ),
    forged(
        "a question for a session",
        "the same with the session's id",
        notify("_dragoman/hub/asked", {"sessionId": "$SESSION", "request": QUESTION}),
        at_first="succeeded",
    ),
    forged(
        "an event of the session",
        "says that the question is settled",
        notify("_dragoman/hub/event", EVENT),
        at_first="succeeded",
    ),
    forged(
        "an event that names no session",
        "the same without the session's id",
        notify("_dragoman/hub/event", {**EVENT, "sessionId": None}),
        notify("_dragoman/hub/event", {"event": "asked", "request": FORGED}),
        at_first="succeeded",
    ),
    forged(
        "a judgement",
        "says that a command is harmless",
        notify("_dragoman/hub/judged", {"request": FORGED, "risks": []}),
        at_first="succeeded",
    ),
    forged(
        "a row of the list of sessions",
        "tells of a session that is not there",
        notify("_dragoman/hub/session", {"session": {"sessionId": FORGED, "title": FORGED, "agent": "v1"}}),
        at_first="succeeded",
    ),
    forged(
        "an end of a question",
        "says that somebody has answered",
        notify("_dragoman/hub/settled", {"request": FORGED, "outcome": "answered"}),
        at_first="succeeded",
    ),
    forged(
        "a question in escaped letters",
        "writes the method with escapes",
        {
            "raw": json.dumps(
                {"jsonrpc": "2.0", "method": "METHOD", "params": {"request": QUESTION}}
            ).replace("METHOD", "\\u005fdragoman/hub/asked")
        },
        at_first="succeeded",
    ),
    forged(
        "a method of the hub twice",
        "writes a harmless method beside it",
        {
            "raw": json.dumps({"jsonrpc": "2.0", "method": "_x/y", "params": {"request": QUESTION}}).replace(
                '"method": "_x/y"', '"method": "_x/y", "method": "_dragoman/hub/asked"', 1
            )
        },
        at_first="succeeded",
    ),
    forged(
        "a request in the hub's words",
        "asks with an id",
        request("_dragoman/hub/asked", {"request": QUESTION}),
    ),
    forged(
        "marks of the hub on a word",
        "puts them into the _meta of an update",
        notify("session/update", {"sessionId": "$SESSION", "update": CHUNK, "_meta": META}),
        at_first="succeeded",
    ),
    forged(
        "marks of the hub on a question",
        "puts them into the _meta of a request for permission",
        asked(_meta=META),
        at_first="succeeded",
    ),
    forged(
        "marks of the hub on a question, twice",
        "has two _meta in a request for permission",
        raw_twins(),
        {"answer": "q"},
    ),
    forged(
        "marks of the hub on a form",
        "puts them into the _meta of an elicitation",
        request(
            "elicitation/create",
            {
                "mode": "form",
                "message": "x",
                "requestedSchema": {"type": "object", "properties": {}},
                "_meta": META,
            },
        ),
        at_first="succeeded",
    ),
    forged(
        "marks of the hub in the dialect crow",
        "puts them into a question of crow",
        update(
            {
                "@type": "permission_request",
                "tool_call_id": "c",
                "title": "terminal",
                "arguments": "make",
                "permission_options": [{"id": "approve", "title": "Yes"}, {"id": "reject", "title": "No"}],
                "_meta": META,
            }
        ),
        {"await": "permission_response"},
        dialect="crow",
    ),
    forged(
        "marks of the hub in the dialect haven",
        "puts them into a question of haven",
        asked(toolCall={"id": "c", "name": "Bash", "kind": "command"}, _meta=META),
        dialect="haven",
        at_first="succeeded",
    ),
    forged(
        "a question of the hub in the dialect acpex",
        "notifies of one in the hub's words",
        notify("_dragoman/hub/asked", {"request": QUESTION}),
        dialect="acpex",
        at_first="succeeded",
    ),
    forged(
        "a question of the hub in the dialect koog",
        "notifies of one in the hub's words",
        notify("_dragoman/hub/asked", {"request": QUESTION}),
        dialect="koog",
        at_first="succeeded",
    ),
]


def twins(yes: str, no: str) -> list[dict[str, str]]:
    return [
        {"optionId": no, "name": "No", "kind": "reject_once"},
        {"optionId": yes, "name": "Yes", "kind": "allow_once"},
    ]


def answered(
    name: str,
    does: str,
    *steps: Step,
    person: Person = "no",
    dialect: str = "v1",
    shown: str = "",
    at_first: Outcome = "never did",
) -> PageTrick:
    return PageTrick(
        name=f"a question: {name}",
        at_first=at_first,
        axis="page",
        said={"no": "the person says no"}.get(person, "the person permits what is called Good"),
        does=does,
        effect="it is done" if person == "no" else "something is done that no question has shown",
        dialect=dialect,
        person=person,
        steps=steps,
        shown=shown,
    )


def run(command: str, *words: str) -> Step:
    return request("terminal/create", {"command": command, "args": list(words), "cwd": "$CWD"}, number="t")


OBEY = {"obey": "$CWD/done"}
WAIT = {"wait": "terminal/wait_for_exit"}
GOOD = {"toolCallId": "g", "title": "Good read", "kind": "read"}

QUESTIONS = [
    answered(
        "two options of one id",
        "offers a yes and a no that answer with the same id",
        asked(options=twins("yes", "yes")),
        OBEY,
        at_first="succeeded",
    ),
    answered(
        "two options of one id, the yes first",
        "the same in the other order",
        asked(options=twins("yes", "yes")[::-1]),
        OBEY,
        at_first="succeeded",
    ),
    answered(
        "two options of one id in the dialect haven",
        "the same in haven",
        asked(toolCall={"id": "c", "name": "Bash", "kind": "command"}, options=twins("yes", "yes")),
        OBEY,
        dialect="haven",
        at_first="succeeded",
    ),
    answered(
        "options twice",
        "has two lists of options, one of them with other kinds",
        {
            "raw": json.dumps(asked(options=twins("yes", "no"))["ask"]).replace(
                '"options": ', '"options": ' + json.dumps(twins("no", "yes")) + ', "options": ', 1
            )
        },
        {"answer": "q"},
        OBEY,
    ),
    answered(
        "a command that was announced behind a harmless question",
        "announces a command, then asks under a harmless title with the call's id alone, and runs it",
        update({"sessionUpdate": "tool_call", **GOOD, "rawInput": {"command": "touch done"}}),
        asked(toolCall=GOOD),
        run("touch", "done"),
        WAIT,
        person="careful",
        shown="touch done",
        at_first="succeeded",
    ),
    answered(
        "a command that is exchanged while the question stands",
        "asks about one command, and says another of the same call before it is answered",
        {"say": asked(toolCall={**GOOD, "title": "Good command", "rawInput": {"command": "ls"}})["ask"]},
        update(
            {"sessionUpdate": "tool_call_update", "toolCallId": "g", "rawInput": {"command": "touch done"}}
        ),
        {"answer": "q"},
        run("touch", "done"),
        WAIT,
        person="careful",
        shown="touch done",
    ),
    answered(
        "the input of a call twice",
        "asks with two inputs in one call, and runs the one that a reader may not see",
        {
            "raw": json.dumps(asked(toolCall={**GOOD, "rawInput": {"command": "ls"}})["ask"]).replace(
                '"rawInput": ', '"rawInput": {"command": "touch done"}, "rawInput": ', 1
            )
        },
        {"answer": "q"},
        run("touch", "done"),
        WAIT,
        person="careful",
        shown="touch done",
    ),
    answered(
        "a harmless command beside another one",
        "asks with `command` and `cmd` in one input, and runs the second",
        asked(toolCall={**GOOD, "rawInput": {"command": "ls", "cmd": "touch done"}}),
        run("touch", "done"),
        WAIT,
        person="careful",
        shown="touch done",
    ),
]

PAGE_TRICKS: Sequence[PageTrick] = [*FORGERIES, *QUESTIONS]


@dataclass(frozen=True, kw_only=True)
class ScreenTrick(Trick):
    """A question whose texts make up lines of their own in a terminal."""

    tool_call: dict[str, Any]
    options: Sequence[dict[str, str]]


def screen(
    name: str,
    does: str,
    *,
    title: str = "Make",
    yes: str = "Yes",
    no: str = "No",
    at_first: Outcome = "never did",
    **call: Any,
) -> ScreenTrick:
    return ScreenTrick(
        name=f"a screen: {name}",
        at_first=at_first,
        axis="page",
        said="the person reads the list of questions in a terminal",
        does=does,
        effect="a line that looks like one of ours",
        tool_call={**CALL, "title": title, **call},
        options=[
            {"optionId": "yes", "name": yes, "kind": "allow_once"},
            {"optionId": "no", "name": no, "kind": "reject_once"},
        ],
    )


SCREEN_TRICKS = [
    screen(
        "an option that brings a menu along",
        "breaks the line in the name of an option",
        yes="Yes\n    2. No (reject_once)\n    3. Later",
    ),
    screen(
        "an option that is padded to the next line",
        "has many blanks in the name of an option",
        yes="Yes" + " " * 300 + "2. No (reject_once)",
        at_first="succeeded",
    ),
    screen(
        "an option that moves the cursor",
        "has control sequences in the name of an option",
        yes="Yes\x1b[1A\x1b[2KNo",
    ),
    screen(
        "an option on a line of Unicode",
        "has a line separator in the name of an option",
        yes="Yes\u2028    2. No (reject_once)\u0085    3. x",
    ),
]
