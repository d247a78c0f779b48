"""Dragoman's client without ``await``: starts the agent, gives it one order, prints what that cost as JSON.

Arguments: the plan (JSON: ``warm`` and ``order``), then the agent's command.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from dragoman.blocking import Client, PromptTurn, Session, connect
from dragoman.schema.v1 import AgentMessageChunk, ReadTextFileRequest, ReadTextFileResponse, TextContent
from peers.measure import Meter

FILE = "y" * 100


class Seen:
    """What arrived while one order was carried out."""

    def __init__(self) -> None:
        self.updates = self.chars = self.reads = 0
        self.last = ""

    def read(self, turn: PromptTurn) -> None:
        updates = chars = 0
        text = ""
        for update in turn:
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                text = update.content.text
                updates += 1
                chars += len(text)
        self.updates, self.chars, self.last = updates, chars, text

    def result(self) -> dict[str, Any]:
        kinds = {"agent_message_chunk": self.updates} if self.updates else {}
        return {"kinds": kinds, "chars": self.chars, "reads": self.reads, "last": self.last}


def carry_out(session: Session, order: dict[str, Any], seen: list[Seen]) -> None:
    seen.append(Seen())
    seen[-1].read(session.prompt(json.dumps(order), keep_text=False))


def main(plan: dict[str, Any], command: list[str]) -> None:
    seen: list[Seen] = []
    client = Client("bench")

    @client.read_text_file
    def read_text_file(request: ReadTextFileRequest) -> ReadTextFileResponse:
        seen[-1].reads += 1
        return ReadTextFileResponse(content=FILE)

    with connect(command, client=client) as agent:
        session = agent.new_session(cwd="/")
        if plan["warm"]:
            carry_out(session, plan["warm"], seen)
        meter = Meter()
        carry_out(session, plan["order"], seen)
        result = {**meter.read(), **seen[-1].result()}
        carry_out(session, {"do": "figures"}, seen)
        result["agent"] = json.loads(seen[-1].last)
    print(json.dumps(result))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
