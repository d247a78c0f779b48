"""What was denied for want of a rule: told once in a session, shown in the inbox, and known after a restart.

A note in the session's stream says it, which no agent can write; it names the command line that allows it,
and of that the act is made again. The latest are kept whole, as they were judged: only these can be allowed
once, because a try that is told by its command line alone may be another one. After a restart the latest
entries of the latest sessions are read when somebody looks at the inbox, and those of one session when
somebody asks for a denial that is not known. In a cluster the inbox has what its own node denied since it
started.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman.errors import JournalError
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, Denial, HubClient
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.session_reach import in_reach
from dragoman_hub.session.notes import note
from dragoman_local.journal import StreamInfo
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.audit import AuditEntry
from dragoman_local.workspace.policy.judge import grants_in
from dragoman_local.workspace.policy.policy_files import act_of_line
from dragoman_local.workspace.policy.policy_paths import policy_paths

log = logging.getLogger(__name__)

SHOWN: Final = 10
"""How many of them the inbox has."""

MOST: Final = 1000
"""Denials that are remembered as told; more than that, and all are forgotten."""

WHOLE: Final = SHOWN
"""How many of them are kept with the texts of files that they would change."""

SESSIONS: Final = 50
ENTRIES: Final = 2000
"""How many sessions are read after a restart, and how many entries of each."""

_HEADS: Final = (b'{"hub":"denied",', b'{"hub":"ruled",')


class _DenialNote(Struct):
    """`denied`, or `ruled`: a rule that allows it was written, or taken back if there is no text of it."""

    hub: str
    remedy: str
    what: str = ""
    time: str = ""
    agent: str = ""
    why: str = ""
    rule: str = ""


_notes = json_decoder(_DenialNote)


class DenialBook:
    """The denials of a hub, in the order in which they came."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        self._denials: dict[tuple[str, str], Denial] = {}  # by session and remedy
        self._whole: deque[Denial] = deque()
        self._lock = asyncio.Lock()
        self._has_looked = False

    def add(self, act: Act, line: AuditEntry) -> tuple[LiveSession, JsonObject] | None:
        """Tell each remedy once in a session, however often its agent tries, and again when a try that people
        allowed is used up; gives what is new.
        """
        session, name = self._hub.sessions.get(line.session), (line.session, line.remedy)
        if session is None:
            return None
        # A child that tries again is another session; a server's command is no command of its agent.
        may_retry = bool(grants_in(act)) and act.method != "mcp" and not session.state.parent
        known = self._denials.get(name)
        if known is not None and not known.is_retried:
            known.act, known.may_retry = act, may_retry
            self._keep_whole(known)
            return None
        if len(self._denials) >= MOST:
            self._denials.clear()
        said: JsonObject = {
            "time": line.time,
            "agent": line.agent,
            "what": _what(line),
            "why": line.why,
            "remedy": line.remedy,
        }
        shown = {"sessionId": session.id, "title": session.title, **said}
        denial = self._denials[name] = Denial(act=act, shown=shown, may_retry=may_retry)
        self._keep_whole(denial)
        self._hub.tell(session, _notice(line, once=may_retry), note=note("denied", **said))
        return session, denial.row

    def _keep_whole(self, denial: Denial) -> None:
        self._whole = deque([each for each in self._whole if each is not denial] + [denial])
        if len(self._whole) > WHOLE:
            oldest = self._whole.popleft()
            oldest.act, oldest.may_retry = replace(oldest.act, changes=()), False

    async def find(self, session: LiveSession, remedy: str) -> Denial | None:
        """What was denied in a session, by the command line that would allow it."""
        if (session.id, remedy) not in self._denials:
            info = await self._hub.journal.info(session.id)
            await self._read([] if info is None else [info])
        return self._denials.get((session.id, remedy))

    async def latest(self, client: HubClient) -> list[JsonObject]:
        """The latest denials that no rule has made good for yet, the latest last."""
        async with self._lock:
            if not (self._has_looked or self._hub.ownership.is_shared):
                await self._read((await self._hub.journal.list(limit=SESSIONS)).streams)
                self._has_looked = True
        open_ = {
            name: denial
            for name, denial in self._denials.items()
            if not (denial.is_kept or denial.is_retried)
        }
        infos = [await self._hub.journal.info(stream) for stream in {stream for stream, _ in open_}]
        reached = await in_reach(self._hub, client.grant, [info for info in infos if info is not None])
        streams = {info.stream for info in reached}
        return [denial.row for (stream, _), denial in open_.items() if stream in streams][-SHOWN:]

    async def _read(self, infos: Sequence[StreamInfo]) -> None:
        """Take in what these sessions' latest entries say; what is known already stays."""
        found: dict[tuple[str, str], Denial] = {}
        home = policy_paths().home
        for info in infos:
            try:
                async for page in self._hub.journal.replay(info.stream, after=max(0, info.last - ENTRIES)):
                    for entry in page:
                        if entry.direction == "note" and entry.frame.startswith(_HEADS):
                            _take(found, info, _notes.decode(entry.frame), home=home)
            except (JournalError, msgspec.MsgspecError) as error:
                log.warning("session %s: its denials are read up to here: %s", info.stream, error)
        known = sorted(found.items(), key=lambda item: str(item[1].shown["time"]))
        self._denials = {**dict(known), **self._denials}


def _what(line: AuditEntry) -> str:
    return line.command or line.title or " ".join((line.kind, *line.paths))


def _notice(line: AuditEntry, *, once: bool) -> JsonObject:
    """The notice in the conversation. `remedy` comes from the hub: agents can't write it."""
    return {
        "sessionUpdate": "notice",
        "severity": "warning",
        "title": "Not allowed:",
        "description": f"{_what(line)} ({line.why}). "
        f"To allow it in this project, run on the hub's machine: {line.remedy}",
        "_meta": {"dragoman": {"remedy": line.remedy, **({"once": True} if once else {})}},
    }


def _take(found: dict[tuple[str, str], Denial], info: StreamInfo, said: _DenialNote, *, home: str) -> None:
    name = (info.stream, said.remedy)
    if said.hub == "ruled" and name in found:
        found[name] = replace(found[name], rule=said.rule or found[name].rule, is_kept=bool(said.rule))
    elif said.hub == "denied" and (act := act_of_line(said.remedy, home=home)) is not None:
        members = msgspec.structs.asdict(said)
        shown = {each: members[each] for each in ("time", "agent", "what", "why", "remedy")}
        found[name] = Denial(act=act, shown={"sessionId": info.stream, "title": info.title, **shown})
