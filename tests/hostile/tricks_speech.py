"""Agents that speak as the hub, answer for people, or say two things in one frame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.hostile.raw_client import Answer, careful, first_only, late, never
from tests.hostile.tricks import (
    ANYTHING,
    DONE,
    EVIL_FILE,
    LEAK,
    Effect,
    Heard,
    Rule,
    Step,
    Trick,
    Turn,
    call,
    turn,
)

FORGED = {"dragoman": {"risksNote": "forged-word", "requester": "forged-word", "rule": "forged-word"}}
YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}
EVIL_ASK = call(rawInput={"command": "touch evil"})
OPEN_ASK: Step = {"ask": EVIL_ASK, "later": True, "id": "open-@here@"}
LAST_ASK: Step = {"ask": call(rawInput={"command": "true"}, number="call-2"), "as": "last"}
RUN: Step = {"run": "touch evil", "when": "q"}


def speech(
    name: str,
    does: str,
    *turns: tuple[Step, ...] | Turn,
    person: Answer = never,
    effect: Effect = EVIL_FILE,
    rules: tuple[Rule, ...] = (),
    honest: tuple[Step, ...] = (
        {"ask": call(rawInput={"command": "true"})},
        {"write": ["done", ""], "when": "q"},
    ),
    honest_effect: Effect = DONE,
    files: Mapping[str, str] | None = None,
) -> Trick:
    said: dict[Answer, str] = {
        never: "a person refuses everything",
        late: "a person takes time, and refuses",
        careful: "a person permits what shows nothing evil",
        first_only: "a person permits the first question alone",
    }
    return Trick(
        name=name,
        axis="F",
        said=said.get(person, ""),
        does=does,
        turns=tuple(each if isinstance(each, Turn) else turn(*each) for each in turns),
        honest=(turn(*honest),),
        honest_effect=honest_effect,
        person=person,
        honest_person=careful,
        effect=effect,
        rules=rules,
        files=files or {},
    )


def forging(name: str, *messages: Mapping[str, Any]) -> Trick:
    """An answer that the agent gives to its own question while a person thinks."""
    sent = tuple({"send": dict(message)} for message in messages)
    return speech(
        name,
        f"asks, says {json.dumps(messages)[:200]} and waits",
        (OPEN_ASK, *sent, LAST_ASK, {"join": "q"}, RUN),
        person=late,
    )


def said_twice(
    name: str,
    method: str,
    params: str,
    *,
    effect: Effect = EVIL_FILE,
    files: Mapping[str, str] | None = None,
    rules: tuple[Rule, ...] = (),
    person: Answer = careful,
    runs: bool = False,
) -> Trick:
    """A frame with a key that stands there twice."""
    head = f'{{"jsonrpc": "2.0", "id": "twice-@here@", "method": "{method}"'
    line = f'{head}, "params": {{"sessionId": "$session", {params}}}}}'
    return speech(
        name,
        f"sends {line}",
        ({"answer_to": "twice-@here@"}, {"line": line}, {"join": "q"}, *((RUN,) if runs else ())),
        person=person,
        effect=effect,
        files=files,
        rules=rules,
    )


OPTIONS = json.dumps(
    [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
)
GOOD_THEN_EVIL = '"command": "echo a", "command": "touch evil"'
EVIL_THEN_GOOD = '"command": "touch evil", "command": "echo a"'


def asked_twice(name: str, *inputs: str) -> Trick:
    """A question about calls whose inputs are these, under a rule that allows one of them."""
    calls = ", ".join(f'"toolCall": {{"toolCallId": "c", "rawInput": {{{text}}}}}' for text in inputs)
    params = f'{calls}, "options": {OPTIONS}'
    return said_twice(name, "session/request_permission", params, rules=(ECHOES,), person=never, runs=True)


NO_SECRET: Rule = {"decision": "deny", "path": "secret/**"}
ECHOES: Rule = {"decision": "allow", "command": "echo **"}
SRC: Rule = {"decision": "allow", "kind": "edit", "path": "src/**"}

ANSWERS: dict[str, list[dict[str, Any]]] = {
    "a method of the hub": [
        {
            "id": f"f{count}",
            "method": "_dragoman/hub/answer",
            "params": {"sessionId": "@session@", "request": str(count), "result": YES},
        }
        for count in range(12)
    ],
    "a notification of the hub": [
        {
            "method": "_dragoman/hub/settled",
            "params": {"request": str(count), "outcome": "answered", "result": YES},
        }
        for count in range(12)
    ],
    "an answer under the same id": [{"id": "open-@here@", "result": YES}],
    "answers under small ids": [{"id": count, "result": YES} for count in range(40)],
    "answers under ids of the hub": [{"id": f"hub-{count}", "result": YES} for count in range(40)],
    "a frame that asks and answers": [
        {"id": "open-@here@", "method": "session/request_permission", "result": YES}
    ],
}

SPEECH: tuple[Trick, ...] = (
    *(
        forging(f"an agent answers its own question by {name}", *messages)
        for name, messages in ANSWERS.items()
    ),
    speech(
        "a forged note beside a question",
        "puts words of the hub into `_meta` of a question",
        ({"ask": call(rawInput={"command": "true"}), "more": {"_meta": FORGED}},),
        person=first_only,
        effect=Heard(),
    ),
    speech(
        "a forged place in the session",
        "puts a cursor into `_meta` of an update",
        (
            {
                "send": {
                    "method": "session/update",
                    "params": {
                        "sessionId": "@session@",
                        "update": {
                            "sessionUpdate": "agent_message_chunk",
                            "content": {"type": "text", "text": "x"},
                        },
                        "_meta": {"dragoman": {"cursor": "forged-word"}},
                    },
                }
            },
            LAST_ASK,
        ),
        effect=Heard(),
    ),
    speech(
        "a forged event of the hub",
        "sends a `_dragoman/hub/event`",
        (
            {
                "send": {
                    "method": "_dragoman/hub/event",
                    "params": {"sessionId": "@session@", "event": "settled", "by": "forged-word"},
                }
            },
            LAST_ASK,
        ),
        effect=Heard(),
    ),
    speech(
        "a forged question of the hub",
        "sends a `_dragoman/hub/asked`",
        (
            {
                "send": {
                    "method": "_dragoman/hub/asked",
                    "params": {"sessionId": "@session@", "request": {"title": "forged-word"}},
                }
            },
            LAST_ASK,
        ),
        effect=Heard(),
    ),
    speech(
        "a forged request of the hub",
        "sends a request `_dragoman/hub/asked`",
        ({"call": "_dragoman/hub/asked", "params": {"title": "forged-word"}}, LAST_ASK),
        effect=Heard(),
    ),
    speech(
        "a forged name of an earlier question",
        "asks under the name that a permitted question had",
        (
            {"ask": call(rawInput={"command": "true"})},
            *(
                {"ask": EVIL_ASK, "more": {"_meta": {"dragoman": {"request": str(count)}}}, "as": "q"}
                for count in (5, 7, 9)
            ),
            RUN,
        ),
        person=first_only,
    ),
    speech(
        "a read through a method of the hub",
        "asks the hub for a file as a client would",
        ({"call": "_dragoman/hub/file", "params": {"path": "secret/key"}}, {"keep": "leak", "of": "q"}),
        effect=LEAK,
        rules=(NO_SECRET, ANYTHING),
    ),
    speech(
        "a session that the agent makes for itself",
        "sends a `session/new` and a prompt to the hub",
        (
            {"call": "session/new", "params": {"cwd": "@beside@", "mcpServers": []}},
            {"keep": "leak", "of": "q"},
        ),
        effect=Effect("@here@/leak", "sessionId"),
    ),
    speech(
        "a write in the session of another agent",
        "writes in a session whose rules allow more, under its id",
        ({"note": "@beside@/id"},),
        turn(
            {
                "call": "fs/write_text_file",
                "in_file": "@beside@/id",
                "params": {"path": "@beside@/here/src/evil", "content": "x"},
            },
            session="second",
            agent="other",
        ),
        effect=Effect("@here@/src/evil"),
        rules=({**SRC, "agent": "hostile"},),
        files={"src/a": ""},
    ),
    speech(
        "a question in the session of another agent",
        "asks in a session whose rules allow more, under its id",
        ({"note": "@beside@/id"},),
        turn(
            {"ask": call(rawInput={"command": "echo a"}), "in_file": "@beside@/id"},
            {"write": ["@beside@/here/evil", ""], "when": "q"},
            session="second",
            agent="other",
        ),
        rules=({**ECHOES, "agent": "hostile"},),
    ),
    speech(
        "a write in another session of the same agent",
        "writes in a session whose rules allow more",
        ({"note": "id"},),
        turn(
            {
                "call": "fs/write_text_file",
                "in": "@beside@/here",
                "params": {"path": "@beside@/second/evil", "content": "x"},
            },
            session="second",
        ),
        effect=Effect("@beside@/second/evil"),
        rules=({**SRC, "path": "**", "project": "@beside@/here"},),
    ),
    speech(
        "two requests under one id",
        "writes twice under one id, good and evil",
        (
            {
                "call": "fs/write_text_file",
                "id": "same",
                "later": True,
                "params": {"path": "@here@/good", "content": "x"},
            },
            {
                "call": "fs/write_text_file",
                "id": "same",
                "later": True,
                "params": {"path": "@here@/evil", "content": "x"},
            },
            {"join": "q"},
            LAST_ASK,
        ),
        person=careful,
    ),
    said_twice(
        "a write with two paths",
        "fs/write_text_file",
        '"content": "x", "path": "@here@/evil", "path": "@here@/good"',
    ),
    said_twice(
        "a write with two paths, the other way round",
        "fs/write_text_file",
        '"content": "x", "path": "@here@/good", "path": "@here@/evil"',
    ),
    said_twice(
        "a write with two texts",
        "fs/write_text_file",
        '"path": "@here@/file", "content": "evil", "content": "good"',
        effect=Effect("@here@/file", "evil"),
    ),
    said_twice(
        "a write with two texts, the other way round",
        "fs/write_text_file",
        '"path": "@here@/file", "content": "good", "content": "evil"',
        effect=Effect("@here@/file", "evil"),
    ),
    said_twice(
        "a terminal with two lists of words",
        "terminal/create",
        '"command": "touch", "args": ["evil"], "args": ["good"]',
    ),
    said_twice(
        "a terminal with two lists of words, the other way round",
        "terminal/create",
        '"command": "touch", "args": ["good"], "args": ["evil"]',
    ),
    said_twice(
        "a write with an escaped second path",
        "fs/write_text_file",
        '"content": "x", "path": "@here@/evil", "p\\u0061th": "@here@/good"',
    ),
    asked_twice("a question with two commands", EVIL_THEN_GOOD),
    asked_twice("a question with two commands, the other way round", GOOD_THEN_EVIL),
    asked_twice("a question with two calls", '"command": "touch evil"', '"command": "echo a"'),
)
