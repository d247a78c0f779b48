"""Agents with a kit, for the tests, and clients that talk to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman import Agent, AgentHandle, Client, Kit, KitTurn, Limits, connect
from dragoman.schema.v1 import SessionNotification, SessionUpdate
from dragoman_local.journal import MemoryJournal


class Chat:
    """A conversation that counts what it has heard."""

    def __init__(self, session: Any) -> None:
        self.heard: list[str] = list(session.memories)
        self.session = session

    def hear(self, text: str) -> int:
        self.heard.append(text)
        self.session.remember(text)
        return len(self.heard)


def chatting(path: Any = None, **options: Any) -> tuple[Agent, Kit[Chat]]:
    """An agent that answers each prompt with its number and its text."""
    agent = Agent("chat")
    kit = Kit(agent, conversation=Chat, journal=path, **options)

    @kit.prompt
    async def reply(turn: KitTurn[Chat]) -> None:
        number = turn.session.conversation.hear(turn.text)
        await turn.say(f"{number}: ")
        await turn.say(turn.text)

    return agent, kit


class Heard:
    """What reached a client, session by session."""

    def __init__(self) -> None:
        self.notes: list[SessionNotification] = []
        self.client = Client("listener")
        self.client.update(self._take)

    def _take(self, note: SessionNotification) -> None:
        self.notes.append(note)

    def updates(self, session_id: str) -> list[SessionUpdate]:
        return [note.update for note in self.notes if note.session_id == session_id]

    def told(self, session_id: str) -> list[tuple[str, str]]:
        """The kind and the text, title or id of each update."""
        return [(kind_of(update), text_of(update)) for update in self.updates(session_id)]


def kind_of(update: Any) -> str:
    return str(update.__struct_config__.tag)


def text_of(update: Any) -> str:
    text = getattr(getattr(update, "content", None), "text", None)
    if text is not None:
        return str(text)
    return str(getattr(update, "title", "") or getattr(update, "tool_call_id", ""))


@asynccontextmanager
async def listening(
    agent: Agent, *, limits: Limits | None = None, client: Callable[[Client], None] | None = None
) -> AsyncIterator[tuple[AgentHandle, Heard]]:
    """A client that is joined to an agent in memory, and keeps every update."""
    heard = Heard()
    if client is not None:
        client(heard.client)
    async with connect(agent, client=heard.client, limits=limits) as handle:
        yield handle, heard


def handled_by(work: Callable[[KitTurn[None]], Any], **options: Any) -> Agent:
    """An agent whose prompts are handled by this function; nothing else is said in its sessions."""
    agent = Agent("worker")
    kit = Kit(agent, **{"journal": MemoryJournal(), "titles": "none", **options})
    kit.prompt(work)
    return agent


async def eventually(condition: Callable[[], object]) -> None:
    """Until something outside this loop has happened, such as a process having written a file."""
    while not condition():  # noqa: ASYNC110  # nothing here is told of it
        await asyncio.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
