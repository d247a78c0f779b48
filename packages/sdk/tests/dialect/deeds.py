"""What a client and an agent may do in a world, each with a number that says which or how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.dialect.world import World

TEXT = {"type": "text", "text": "word"}
CALL = {"toolCallId": "c1", "title": "Saw", "kind": "execute", "status": "pending"}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
ASKS = {"sessionId": "s", "toolCall": CALL, "options": OPTIONS}

Deed = Callable[[World, int], None]


def new_session(world: World, n: int) -> None:
    world.ask("client", "session/new", {"cwd": "/w", "mcpServers": []})


def known_session(world: World, n: int) -> str | None:
    """A session as the client knows it: the dialect may have given it another name."""
    known = [
        frame["result"]["sessionId"]
        for frame in world.parties["client"].heard
        if "sessionId" in (frame.get("result") or {})
    ]
    return known[n % len(known)] if known else None


def prompt(world: World, n: int) -> None:
    if (session := known_session(world, n)) is not None:
        world.ask("client", "session/prompt", {"sessionId": session, "prompt": [TEXT]})


def load(world: World, n: int) -> None:
    world.loaded = True
    world.ask(
        "client",
        "session/load",
        {"sessionId": known_session(world, n) or "none", "cwd": "/w", "mcpServers": []},
    )


def cancel(world: World, n: int) -> None:
    world.cancelled = True
    params = {"sessionId": known_session(world, n) or "none"}
    world.say("client", {"jsonrpc": "2.0", "method": "session/cancel", "params": params})


def list_sessions(world: World, n: int) -> None:
    world.ask("client", "session/list", {})


def working_session(world: World) -> str | None:
    """The session of the prompt that the agent works on."""
    owed = [
        one["params"]["sessionId"] for one in world.parties["agent"].owes if one["method"] == "session/prompt"
    ]
    return owed[0] if owed else None


def chunk(world: World, n: int) -> None:
    if (session := working_session(world)) is not None:
        block = {"type": "text", "text": f"{n}."}
        world.said += block["text"]
        tell(world, session, {"sessionUpdate": "agent_message_chunk", "content": block})


def tell(world: World, session: str, told: Any) -> None:
    params = {"sessionId": session, "update": told}
    world.say("agent", {"jsonrpc": "2.0", "method": "session/update", "params": params})


def tool(world: World, n: int) -> None:
    if (session := working_session(world)) is not None:
        tell(world, session, {"sessionUpdate": "tool_call", **CALL, "toolCallId": f"c{n}"})


def question(world: World, n: int) -> None:
    if (session := working_session(world)) is not None:
        call = {**CALL, "toolCallId": f"c{n}"}
        world.ask("agent", "session/request_permission", {**ASKS, "sessionId": session, "toolCall": call})


def read_file(world: World, n: int) -> None:
    if (session := working_session(world)) is not None:
        world.ask("agent", "fs/read_text_file", {"sessionId": session, "path": "/w/a"})


def client_answers(world: World, n: int) -> None:
    if world.parties["client"].owes:
        world.answer("client", n, well=n % 4 != 3)


def agent_answers(world: World, n: int) -> None:
    if world.parties["agent"].owes:
        world.answer("agent", n, well=n % 4 != 3)


DEEDS: list[Deed] = [
    *(
        new_session,
        prompt,
        prompt,
        load,
        cancel,
        list_sessions,
        chunk,
        chunk,
        tool,
        question,
        question,
        read_file,
    ),
    *(client_answers, client_answers, agent_answers, agent_answers, agent_answers),
]


def begun(dialect: str) -> World:
    """They know each other, and have a session."""
    return begin(World(dialect))


def begin(world: World) -> World:
    capabilities = {"fs": {"readTextFile": True}}
    world.ask("client", "initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
    world.settle()
    new_session(world, 0)
    world.settle()
    return world
