"""Agents that send more than anybody wants."""

from __future__ import annotations

import os
import time

from tests.faults.client.agents.bare import Agent, Message, at, chunk, line, main, notification, update, usual

PROMPT = "session/prompt"
SIZE = 16 * 1024
PIECES = 24 * 1024 * 1024 // SIZE
UPDATES = 8_000
REQUESTS = 8_000
LONG = 20_000
"""Characters of a message where bytes count and not messages: those are counted by the others."""
FLOOD = 250
"""Blocks of five such messages: 25 megabytes, of which a client may keep half at most."""


@at(PROMPT, "CBP-01")
def many_updates(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    for start in range(0, UPDATES, 1000):
        agent.say(*(f"{n} " for n in range(start, start + 1000)))
    agent.end_turn()


@at(PROMPT, "CBP-02", "CBP-X06")
def much_text(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    for n in range(PIECES):
        agent.say(f"{n} ".ljust(SIZE, "."))
    agent.note(sent=PIECES)
    agent.end_turn()


@at(PROMPT, "CBP-X02")
def growing_output(agent: Agent, request: Message) -> None:
    """The output of a tool, resent whole with each line that it gets."""
    agent.note_memory("before")
    text = ""
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "status": "in_progress"}
    agent.send(update(call))
    for n in range(1000):
        text += f"line {n} of the output\n"
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        agent.send(update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": content}))
    usual(agent, request)


@at(PROMPT, "CBP-X03")
def requests_and_deaf(agent: Agent, request: Message) -> None:
    """Many requests, and it reads none of the answers before the last was sent."""
    agent.note_memory("before")
    for start in range(0, REQUESTS, 1000):
        asked = range(start, start + 1000)
        agent.send(*({"jsonrpc": "2.0", "id": n, "method": "_flood", "params": {}} for n in asked))
    agent.note(answered=[answer["id"] for answer in agent.answers(REQUESTS)] == list(range(REQUESTS)))
    usual(agent, request)


@at("initialize", "CBP-X05")
def endless_notifications(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    block = line(notification("_flood", {"text": "x" * LONG})) * 5
    for _ in range(FLOOD):  # and then nothing
        agent.raw(block)
    time.sleep(60)


@at("session/new", "CBP-X04")
def endless_updates_of_the_coming_session(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    block = line(chunk("x" * LONG)) * 5
    for _ in range(FLOOD):  # and then nothing
        agent.raw(block)
    time.sleep(60)


@at(PROMPT, "CBP-X07")
def endless_talk(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    agent.note(working=True)
    block = line(chunk("x" * LONG)) * 5
    for _ in range(FLOOD):  # and then nothing
        agent.raw(block)
    time.sleep(60)


@at(PROMPT, "CBP-X08")
def silence(agent: Agent, request: Message) -> None:
    agent.say("working")
    agent.note(working=os.getppid())
    time.sleep(60)


@at(PROMPT, "CBP-X09")
def many_calls(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    for start in range(0, 20_000, 500):
        calls = (
            {"sessionUpdate": "tool_call", "toolCallId": f"t{n}", "title": "T"}
            for n in range(start, start + 500)
        )
        agent.send(*map(update, calls))
    usual(agent, request)


if __name__ == "__main__":
    main()
