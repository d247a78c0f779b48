"""Where sessions come from: made by an agent for a client, or known to an agent alone and taken over."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Raw

from dragoman.errors import Elsewhere, ErrorAnswer, JournalError
from dragoman.hub.engine.live_session import LiveSession
from dragoman.hub.engine.log import STORE_SECONDS
from dragoman.hub.judge.servers import ASKING, permit_servers
from dragoman.hub.session import events as ev
from dragoman.hub.session.frames import value_of
from dragoman.hub.session.state import is_name, new_state

if TYPE_CHECKING:
    from dragoman.hub.clients.client import HubClient
    from dragoman.hub.hub import Hub

Made: TypeAlias = asyncio.Future[tuple[LiveSession, bool]]
"""A session, and whether it is new."""


async def free_id(hub: Hub, wanted: str) -> str:
    """The agent's own id where it can be ours too."""
    if _may_be_agents(wanted) and wanted not in hub.sessions and await _is_free(hub, wanted):
        return wanted
    return str(uuid.uuid4())


def _may_be_agents(session_id: str) -> bool:
    return is_name(session_id) and not session_id.startswith(ASKING)


async def _is_free(hub: Hub, wanted: str) -> bool:
    """Whether no session of any node has this id; from then on none will, but ours."""
    try:
        claim = await hub.belonging.claim(wanted)
    except Elsewhere:
        return False
    info = await hub.journal.info(wanted)
    if info is None or info.last == 0:  # a hub that was killed may have described it before its first entry
        return True
    await hub.belonging.release(claim)
    return False


async def make(hub: Hub, agent: str, params: dict[str, Raw], *, key: str = "") -> LiveSession:
    """A new session of an agent."""
    if len(hub.sessions) >= hub.options.sessions:
        raise ErrorAnswer(-32603, "Internal error: too many sessions are open")
    life = await hub.pool.life(agent)
    with life.making():
        _, answer = await hub.pool.make(agent, params)
        own = str(answer.pop("sessionId"))
        session_id = await free_id(hub, own)
        session = LiveSession(hub, new_state(session_id), agent=agent, listed="idle")
        session.claim = await hub.belonging.claim(session_id)
        hub.sessions[session_id] = session
        folders = value_of(params.get("additionalDirectories"), [])
        made = ev.SessionMade(
            agent=agent,
            cwd=value_of(params.get("cwd"), ""),
            folders=tuple(folders) if isinstance(folders, list) else (),
            session=own,
            result=answer,
            process=life.process,
            key=key,
            taken=life.last_number(session_id),
        )
        session.dispatch(made)
        if "mcpServers" in params:
            session.setup["mcpServers"] = value_of(params["mcpServers"], [])
        hub.pool.join(session, life, own)
    await session.log.flush(STORE_SECONDS)
    await hub.journal.describe(session_id, agent=agent, cwd=session.state.cwd, state="idle")
    hub.on_session_change(session)
    return session


async def made_once(
    hub: Hub, key: str, make: Callable[[], Awaitable[LiveSession]]
) -> tuple[LiveSession, bool]:
    """The session that was made under this key, or a new one; whether it is new.

    It is made to the end though its client leaves meanwhile. Whoever sends the same key before that waits for
    the same session.
    """
    if not key:
        return await make(), True
    made = hub.making.get(key)
    is_first = made is None
    if made is None:
        made = hub.making[key] = asyncio.get_running_loop().create_future()
        made.add_done_callback(lambda future: future.cancelled() or future.exception())
        hub.owner.start(_make_under(hub, key, make, made))
    session, is_new = await asyncio.shield(made)
    return session, is_new and is_first


async def _make_under(hub: Hub, key: str, make: Callable[[], Awaitable[LiveSession]], made: Made) -> None:
    try:
        stream = await hub.journal.find_made(key)
        session = await (make() if stream is None else hub.session(stream))
    except Exception as error:  # noqa: BLE001  # everybody who waits is told
        made.set_exception(error)
    except BaseException:
        made.cancel()
        raise
    else:
        made.set_result((session, stream is None))
    finally:
        del hub.making[key]


async def loaded(hub: Hub, client: HubClient, session_id: str, params: dict[str, Raw]) -> LiveSession | None:
    """A session that only the agent knows, made somewhere else: from here on it is ours too."""
    if not _may_be_agents(session_id) or session_id in hub.sessions:
        return None
    async with hub.opening(session_id):
        return await _loaded(hub, client, session_id, params)


async def _loaded(hub: Hub, client: HubClient, session_id: str, params: dict[str, Raw]) -> LiveSession | None:
    if session_id in hub.sessions or await hub.journal.info(session_id) is not None:
        return None
    cwd = value_of(params.get("cwd"), "")
    if not (client.grant.may("prompt") and client.grant.may_open(str(cwd))):
        return None
    await permit_servers(hub, params, agent=client.agent, cwd=str(cwd))
    life = await hub.pool.life(client.agent)
    if not life.can("loadSession"):
        return None
    session = LiveSession(hub, new_state(session_id), agent=client.agent, listed="idle")
    session.claim = await hub.belonging.claim(session_id)
    made = ev.SessionMade(
        agent=client.agent,
        cwd=str(cwd),
        folders=(),
        session=session_id,
        process=life.process,
        taken=life.last_number(session_id),
    )
    session.dispatch(made)
    hub.pool.join(session, life, session_id)
    hub.sessions[session_id] = session
    try:
        answer = await life.call("session/load", params, within=300.0)
    except BaseException:
        session.give_up_load(life)
        del hub.sessions[session_id]
        life.forget(session)
        with suppress(JournalError):
            await session.log.flush(STORE_SECONDS)  # what arrived behind the deletion would make it anew
        await session.aclose()
        await hub.journal.delete(session_id)
        await hub.belonging.release(session.claim)
        raise
    session.bind(life, note=ev.BroughtBack(session=session_id, result=answer, remembers=None))
    await session.log.flush(STORE_SECONDS)
    await hub.journal.describe(session_id, agent=client.agent, cwd=session.state.cwd, state="idle")
    return session


def widen(session: LiveSession, folders: list[str]) -> None:
    """From now on these are the session's folders besides its own, and no others; its agent hears of it with
    the next prompt. In the middle of a turn nothing is changed.
    """
    if session.dispatch(ev.FoldersChanged(folders=tuple(folders))) != "done":
        return
    life = session.life
    if life is not None and life.can("sessionCapabilities", "additionalDirectories"):
        life.forget(session)
        session.unbind()
