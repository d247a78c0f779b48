"""The coder against a scripted model, as the tests here run it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman import AgentHandle, Client, Session
from dragoman.schema.v1 import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Notice,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallProgress,
)
from dragoman.testing import talking_to
from dragoman.testing.models import ModelTurn, ScriptedModel, scripted_model
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import CoderConfig


def config(server: ScriptedModel, folder: Path, **more: Any) -> CoderConfig:
    """What reaches the scripted model, and fails fast."""
    api = more.setdefault("api", "openai")
    more.setdefault("base_url", server.anthropic_url if api == "anthropic" else server.openai_url)
    more.setdefault("model", "small")
    more.setdefault("sessions", str(folder.parent / f"{folder.name}.db"))
    return CoderConfig(retry_seconds=0.01, **more)


@dataclass
class Person:
    """Answers questions, and remembers them."""

    answer: str = "allow"
    asked: list[RequestPermissionRequest] = field(default_factory=list)

    def client(self) -> Client:
        client = Client("editor")

        @client.request_permission
        async def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
            self.asked.append(request)
            return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=self.answer))

        return client


@dataclass
class Coder:
    """A coder with one session."""

    model: ScriptedModel
    handle: AgentHandle
    session: Session
    folder: Path
    person: Person

    async def prompt(self, *blocks: Any) -> tuple[str, list[SessionUpdate]]:
        """The stop reason, and all that was said."""
        turn = self.session.prompt(*blocks)
        updates = [update async for update in turn]
        return turn.result.stop_reason, updates


@asynccontextmanager
async def coding(
    script: Sequence[ModelTurn] | str | ScriptedModel,
    folder: Path,
    *,
    person: Person | None = None,
    client: Client | None = None,
    mode: str | None = None,
    session_id: str | None = None,
    **more: Any,
) -> AsyncIterator[Coder]:
    """A coder whose model follows a script, with a session; `session_id` names one to load."""
    person = person or Person()
    async with _listening(script) as model:
        agent = code_agent(config(model, folder, **more))
        async with talking_to(agent, client=client or person.client()) as handle:
            if session_id is None:
                session = await handle.new_session(cwd=str(folder))
            else:
                session = await handle.load_session(session_id, cwd=str(folder))
            if mode is not None:
                await session.set_mode(mode)
            yield Coder(model, handle, session, folder, person)


@asynccontextmanager
async def _listening(script: Sequence[ModelTurn] | str | ScriptedModel) -> AsyncIterator[ScriptedModel]:
    if isinstance(script, ScriptedModel):
        yield script  # somebody else's
    else:
        async with scripted_model(script) as model:
            yield model


def text_of(updates: Sequence[SessionUpdate]) -> str:
    """What was said and thought."""
    chunks = [update for update in updates if isinstance(update, AgentMessageChunk | AgentThoughtChunk)]
    return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, TextContent))


def notices(updates: list[SessionUpdate]) -> list[str]:
    return [update.title for update in updates if isinstance(update, Notice)]


def calls(updates: list[SessionUpdate]) -> dict[str, list[Any]]:
    """What happened to each tool call, by its title."""
    titles: dict[str, str] = {}
    found: dict[str, list[Any]] = {}
    for update in updates:
        if isinstance(update, ToolCall):
            titles[update.tool_call_id] = update.title
            found[update.title] = [update]
        elif isinstance(update, ToolCallProgress):
            found[titles[update.tool_call_id]].append(update)
    return found


def status(happened: list[Any]) -> str:
    return [str(update.status) for update in happened if update.status][-1]
