"""MCP servers that clients name: programs and addresses that an agent will use without asking.

They are judged before the agent hears of them, by the rules that are about such servers; what no rule names
is the client's own act and allowed. Where a rule asks, people are asked in the session. A session that is yet
to be made has none: then one is made for the question alone, which the inbox shows and which is deleted with
the answer. Every decision is in the audit log before it takes effect.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Final

from msgspec import Raw

from dragoman.errors import Elsewhere, ErrorAnswer
from dragoman.schema.codec import write
from dragoman_hub.engine.lifecycle import ASKING
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.gate.table import FORBIDDEN
from dragoman_hub.judge.hub_judge import HubJudge
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import KEY_LENGTH, encode_json, value_of
from dragoman_hub.session.state import new_state
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import act_of_server
from dragoman_local.workspace.policy.judge import LENT_OPTIONS, PermissionChoice, PermissionPrompt

ASKING_KEY: Final = ASKING.ljust(KEY_LENGTH + 1, "-")
"""The key under which the journal lists them; it is longer than a client's may be."""

TITLE: Final = "A new session"
"""The title of a session that exists only for a question."""

OPTIONS: Final = tuple(option for option in LENT_OPTIONS if option.kind != "allow_always")
"""The options for an MCP server. None is for always: a rule that asks means that the user
wants to be asked.
"""


async def permit_servers(
    hub: EngineHub,
    judge: HubJudge,
    params: Mapping[str, Raw],
    *,
    agent: str,
    cwd: str,
    session: LiveSession | None = None,
) -> None:
    """Raise the error for a request with an MCP server that is not permitted."""
    named = value_of(params.get("mcpServers"))
    servers = [each for each in named if isinstance(each, dict)] if isinstance(named, list) else []
    for server in servers:
        desk = await judge.in_thread(
            judge.desk,
            lambda: judge.policy_in([cwd]).about_servers(),
            partial(_ask, hub, judge, session),
            agent=agent,
            roots=[cwd],
            is_elsewhere=True,
            lent_options=OPTIONS,
        )
        try:
            await desk.permit(partial(act_of_server, server), cwd if session is None else session.id)
        except ErrorAnswer:
            (_, decision), name = desk.denials[-1], server.get("name")
            raise ErrorAnswer(
                FORBIDDEN,
                f"Forbidden: the MCP server {name!r} is not permitted: {decision.why}",
                {"reason": "policy"},
            ) from None


async def _ask(
    hub: EngineHub, judge: HubJudge, session: LiveSession | None, prompt: PermissionPrompt
) -> PermissionChoice:
    """An `Asker`: the clients of the session, or of a session made for the question."""
    act = prompt.act
    await judge.in_thread(judge.note, act, prompt.decision, outcome="ask")
    own = asking_session(hub, agent=act.agent, cwd=act.roots[0]) if session is None else nullcontext(session)
    async with own as asking:
        return await judge.ask_people(asking, _params(act, asking.id), prompt)


def _params(act: Act, session_id: str) -> bytes:
    """A question about an MCP server. Values of its variables are left out: they are mostly keys."""
    target = {"command": act.script.text} if act.script is not None else {"url": act.title}
    variables = [variable.partition("=")[0] for variable in act.variables]
    call = {
        "toolCallId": f"hub-mcp-{act.tool}",
        "title": f"Let {act.agent} use the MCP server {act.tool!r}: `{act.title}`",
        "kind": act.kind,
        "status": "pending",
        "rawInput": {**target, **({"variables": variables} if variables else {})},
    }
    return encode_json(
        {"sessionId": session_id, "toolCall": call, "options": [Raw(write(option)) for option in OPTIONS]}
    )


@asynccontextmanager
async def asking_session(hub: EngineHub, *, agent: str, cwd: str) -> AsyncIterator[LiveSession]:
    """Create a session for asking people about a session that does not exist yet. It has no agent, and is
    deleted after the question.
    """
    session_id = f"{ASKING}{uuid.uuid4()}"
    session = LiveSession(hub, new_state(session_id), listed_state="waiting")
    session.lease = await hub.ownership.claim(session_id)
    hub.sessions[session_id] = session
    session.dispatch(
        ev.SessionMade(agent=agent, cwd=cwd, folders=(), session=session_id, process=0, result={})
    )
    session.dispatch(ev.Renamed(title=TITLE))
    try:
        await session.log.flush(STORE_SECONDS)
        await hub.journal.describe(
            session_id, agent=agent, cwd=cwd, title=TITLE, state="waiting", session=ASKING_KEY
        )
        yield session
    finally:
        await session.close(deletes=True)


async def drop_asking_sessions(hub: EngineHub) -> None:
    """Delete asking sessions that a stopped hub has left behind. Those of other nodes stay."""
    for info in (await hub.journal.list(session=ASKING_KEY, limit=500)).streams:
        try:
            lease = await hub.ownership.claim(info.stream)
        except Elsewhere:
            continue
        await hub.journal.delete(info.stream)
        await hub.ownership.release(lease)
