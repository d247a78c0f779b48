"""Hands a session over to another agent: a new session in the same folders, with a summary.

The new session's first entry names the session that it goes on from, so that whoever finds the new one by
its key finds all of it. The session that it goes on from gets a note as well; a hub that died before that
note writes it when the same request comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import NOT_FOUND, invalid_request
from dragoman_hub.engine.key_lookup import IncomingPrompt
from dragoman_hub.engine.lifecycle import made_once, make
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json

PROMPT_KEY = "handover"
"""The key of the prompt that comes with a hand-over: a new session has one of them."""


async def hand_to_agent(
    hub: EngineHub, source: LiveSession, *, agent: str, by: str, key: str = ""
) -> tuple[LiveSession, bool]:
    """Return the session in which the other agent continues, and whether it is new: a key creates one
    session.
    """
    session, is_new = await made_once(hub, key, partial(_make, hub, source, agent=agent, key=key))
    session = await hub.session(session.id)  # its agent may have died, and it been forgotten since
    if session.state.source != source.stream:
        raise invalid_request("this key was used to make another session")
    await _note_successor(
        hub, source, ev.ContinuedElsewhere(session=session.id, agent=session.state.agent, by=by)
    )
    return session, is_new


async def _note_successor(hub: EngineHub, source: LiveSession, event: ev.ContinuedElsewhere) -> None:
    """Note the new session in the stream of the old one. One that was closed meanwhile is opened again for
    it, and one that was deleted needs no note.
    """
    if await source.record(event) != "closing":
        return
    try:
        source = await hub.session(source.id)
    except ErrorAnswer as error:
        if error.code != NOT_FOUND:
            raise
        return
    await source.record(event)


async def _make(hub: EngineHub, source: LiveSession, *, agent: str, key: str) -> LiveSession:
    state = source.state
    process = await hub.pool.ensure_process(agent)
    params: dict[str, object] = {"cwd": state.cwd, "mcpServers": source.setup.get("mcpServers", [])}
    if state.folders and process.can("sessionCapabilities", "additionalDirectories"):
        params["additionalDirectories"] = state.folders
    raw_params = {name: Raw(encode_json(value)) for name, value in params.items()}
    await hub.broker.permit_servers(raw_params, agent=agent, cwd=state.cwd)
    await source.log.flush(STORE_SECONDS)  # the brief is made of what is stored
    return await make(hub, agent, raw_params, key=key, source=source)


async def losses(hub: EngineHub, session: LiveSession, source: LiveSession) -> list[str]:
    """Return the information that the other agent does not get, as text for people."""
    lost = list((await hub.reminders.brief(session.state)).lost)
    if missing := set(source.state.folders) - set(session.state.folders):
        lost.append(
            f"{len(missing)} folders besides the working folder: {session.state.agent} takes no others"
        )
    if source.state.is_busy:
        lost.append("the running turn: its agent was asked to stop")
    return lost


def first_prompt(session: LiveSession, text: str, *, by: str, lends: Sequence[str]) -> IncomingPrompt:
    """Return the first prompt for the other agent."""
    params = {"sessionId": session.id, "prompt": [{"type": "text", "text": text}]}
    return IncomingPrompt(
        params={name: Raw(encode_json(value)) for name, value in params.items()},
        key=PROMPT_KEY,
        by=by,
        lends=lends,
        is_fresh=not session.state.has_old_answers,
    )
