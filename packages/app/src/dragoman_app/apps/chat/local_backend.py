"""The agents and the history of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from dragoman.errors import JournalError, LocalMistake
from dragoman_app.apps.chat.local_chat import ChatAgent, LocalChat
from dragoman_app.apps.chat.stored_history import StoredHistory
from dragoman_app.apps.recorded_sessions import display_time, note_handover, read_brief
from dragoman_app.apps.running_marks import INTERRUPTED, RunningMark, with_current_state
from dragoman_app.apps.target import (
    AS_CONFIGURED,
    ChosenAgent,
    Overrides,
    confine,
    display_command,
    with_environment,
)
from dragoman_app.tui.ports import (
    AgentChoice,
    BoardQuestion,
    BoardSession,
    ChatListener,
    ChatRequest,
    ChatUser,
    SessionBoard,
    SessionRow,
)
from dragoman_local.journal import Journal, StreamInfo, open_journal
from dragoman_local.journal.conversation import moments
from dragoman_local.journal.history import HistoryRecorder, history_path, new_stream
from dragoman_local.known import AgentSource as AgentSource
from dragoman_local.known import known_agents, reach_agent, read_config
from dragoman_local.known.access import AgentAccess
from dragoman_local.known.identity import identity_of
from dragoman_local.known.lookup import find_agent_in
from dragoman_local.workspace.settings import LocalRules

LISTED = 60
"""The most sessions in the list; search finds the others."""


class LocalBackend:
    """Implements `ChatBackend`: agents are child processes, and every session is recorded unless `record` is
    off.
    """

    def __init__(
        self,
        cwd: str,
        rules: LocalRules,
        wishes: Overrides = AS_CONFIGURED,
        *,
        record: bool = True,
    ) -> None:
        self.cwd = cwd
        self._rules = rules
        self._wishes = wishes
        self._record = record
        self._names: dict[str, str] = {}  # how the history calls an agent, and how it was asked for here

    async def agents(self) -> Sequence[AgentChoice]:
        config = await asyncio.to_thread(read_config)
        agents = await asyncio.to_thread(known_agents, config=config)
        # The default first, then those that a person installed, then ours; nobody means the echo at first.
        agents.sort(
            key=lambda agent: (
                agent.name != config.default_agent,
                agent.source is AgentSource.BUILT_IN,
                agent.name == "echo",
            )
        )
        return [
            AgentChoice(name=agent.name, title=agent.title, detail=display_command(agent)) for agent in agents
        ]

    @asynccontextmanager
    async def open(
        self, request: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AsyncIterator[LocalChat]:
        async with AsyncExitStack() as stack:
            journal = await self._journal(stack)
            request, past = await self._resolve(journal, request)
            target = await self._target(request.agent)
            target = await asyncio.to_thread(confine, target, self._rules.sandbox, [request.cwd])
            recorder = None
            stream = new_stream()
            if journal is not None and self._record:
                stack.enter_context(RunningMark(stream))
                recorder = await stack.enter_async_context(HistoryRecorder(journal))
            source = ChatAgent(
                name=target.agent.name,
                identity=identity_of(target.agent, request.cwd if target.place == "here" else ""),
                target=target.agent.command or target.dial,
                place=target.place,
                is_nameless=target.agent.source in (AgentSource.COMMAND, AgentSource.ADDRESS),
                env=target.env,
                dialect=target.dialect,
                sandbox=target.sandbox,
                launcher=target.launcher,
                tap=None if recorder is None else recorder.tap(stream),
                on_stderr=None if recorder is None else partial(_record_stderr, recorder, stream),
            )
            chat = LocalChat(source, request, person, listener, self._rules)
            chat.past = past
            await stack.enter_async_context(chat.opened())
            if journal is not None and request.source is not None:
                await self._brief(journal, recorder, chat, request, stream)
            name = self._remember(target, chat, request)
            if journal is not None and recorder is not None:
                chat.keep_title = partial(_keep_title, journal, stream)
                chat.remember(stream)
            try:
                yield chat
            finally:
                if recorder is not None and journal is not None:
                    await _describe(recorder, journal, stream, name)

    async def hand_over(self, request: ChatRequest, agent: str) -> ChatRequest:
        """Continue with another agent, which gets a brief from the history."""
        await self._target(agent)  # that it is there is found out before the other one is left
        if request.session is None:
            return ChatRequest(agent=agent, cwd=request.cwd, source=request.source)
        if not self._record:
            raise LocalMistake("this conversation is not recorded, so no other agent can continue it")
        return ChatRequest(agent=agent, cwd=request.cwd, source=request.session)

    async def sessions(self, query: str) -> Sequence[SessionRow]:
        """Return sessions from the history."""
        if not history_path().exists():
            return ()
        agent_names = {known_agent.name for known_agent in await asyncio.to_thread(known_agents)}
        async with open_journal(history_path()) as journal:
            if not query:
                infos = (await journal.list(limit=LISTED)).streams
                return [self._row(info, agent_names) for info in _once(infos)]
            hits = await journal.search(query, limit=LISTED)
            rows = []
            for hit in hits:
                info = await journal.info(hit.stream)
                if info is not None:
                    rows.append(self._row(info, agent_names, excerpt=hit.excerpt))
            return rows

    @asynccontextmanager
    async def board(self, on_change: Callable[[], None]) -> AsyncIterator[SessionBoard]:
        agent_names = {known_agent.name for known_agent in await asyncio.to_thread(known_agents)}
        async with open_local_board(partial(self._request_for, agent_names), on_change) as board:
            yield board

    def find_stored(self, name: str, cwd: str) -> ChatRequest:
        """Return the conversation with this id, of any agent. Raises `LocalMistake`."""
        return asyncio.run(self._find_stored(name, cwd))

    async def _find_stored(self, name: str, cwd: str) -> ChatRequest:
        if not history_path().exists():
            raise LocalMistake("nothing is recorded yet, so there is no session to continue")
        async with open_journal(history_path()) as journal:
            info = await _find(journal, name, cwd)
        if info is None or not info.session:
            raise LocalMistake(f"no session {name!r} to continue. Try: dragoman sessions")
        return ChatRequest(agent=info.agent, cwd=info.cwd or cwd, session=info.session)

    # Steps.

    async def _journal(self, stack: AsyncExitStack) -> Journal | None:
        """None if there is no history, or it cannot be used: a conversation is worth more than its record."""
        if not (self._record or history_path().exists()):
            return None
        try:
            return await stack.enter_async_context(open_journal(history_path(), durability="normal"))
        except (JournalError, OSError):
            return None

    async def _resolve(
        self, journal: Journal | None, request: ChatRequest
    ) -> tuple[ChatRequest, StoredHistory | None]:
        """Which session is meant, and what was said in it."""
        if request.session is None:
            return request, None
        session = request.session
        if journal is not None and (info := await _find(journal, session, request.cwd, request.agent)):
            session = info.session or session
        elif session == "last":
            raise LocalMistake("this agent has no session to continue in this folder")
        exact_request = ChatRequest(agent=request.agent, cwd=request.cwd, session=session)
        if journal is None:
            return exact_request, None
        streams = (await journal.list(session=session, limit=200)).streams
        return exact_request, StoredHistory(journal, streams, session) if streams else None

    async def _brief(
        self,
        journal: Journal,
        recorder: HistoryRecorder | None,
        chat: LocalChat,
        request: ChatRequest,
        stream: str,
    ) -> None:
        """Another agent was here before: this one is told of it with the first prompt."""
        info = await _find(journal, request.source or "", request.cwd)
        if info is None:
            return
        chat.brief = await read_brief(journal, info)
        await note_handover(journal, recorder, info.stream, stream=stream, agent=request.agent)
        streams = (await journal.list(session=info.session, limit=200)).streams
        chat.past = StoredHistory(journal, streams, info.session)

    async def _target(self, text: str) -> ChosenAgent:
        name = self._names.get(text, text)
        wishes = self._wishes
        if wishes.place:
            access = AgentAccess(agent=find_agent_in(wishes.place, name, maps=wishes.maps))
        else:
            access = await reach_agent(name)
        agent, env = with_environment(access, wishes.variables)
        return ChosenAgent(agent, env, dialect=wishes.dialect or agent.dialect)

    def _remember(self, target: ChosenAgent, chat: LocalChat, request: ChatRequest) -> str:
        """How the history calls it. A command line may hold a secret, and its first word says little."""
        info = chat.session.agent.info
        is_known = target.agent.source not in (AgentSource.COMMAND, AgentSource.ADDRESS)
        name = target.agent.name if is_known or info is None else info.name
        self._names.setdefault(name, request.agent)
        return name

    def _row(self, info: StreamInfo, agent_names: set[str], *, excerpt: str = "") -> SessionRow:
        return SessionRow(
            request=self._request_for(agent_names, info),
            title=info.title or info.stream,
            agent=info.agent,
            cwd=info.cwd,
            when=display_time(info.updated),
            excerpt=excerpt,
        )

    def _request_for(self, agent_names: set[str], info: StreamInfo) -> ChatRequest | None:
        """How to open it, if its agent and its folder are there."""
        can = bool(info.session) and (info.agent in agent_names or info.agent in self._names)
        if not can or not os.path.isdir(info.cwd):
            return None
        return ChatRequest(agent=info.agent, cwd=info.cwd, session=info.session)


def _record_stderr(recorder: HistoryRecorder, stream: str, chunk: bytes) -> None:
    recorder.note(stream, stderr=chunk.decode(errors="replace"))


async def _keep_title(journal: Journal, stream: str, title: str) -> None:
    try:
        await journal.describe(stream, title=title)
    except JournalError as error:
        raise LocalMistake(f"the history cannot keep the title: {error}") from error


async def _describe(recorder: HistoryRecorder, journal: Journal, stream: str, agent: str) -> None:
    try:
        await recorder.flush()
        info = await journal.info(stream)
        if info is not None:
            state = INTERRUPTED if info.state == "running" else None
            await journal.describe(stream, agent=agent, state=state)
    except JournalError:
        return  # the history has a gap, and says so itself


async def _find(journal: Journal, name: str, cwd: str, agent: str | None = None) -> StreamInfo | None:
    """A session by the name of its stream, the beginning of that, the agent's own id, or `last`."""
    if name == "last":
        infos = [info for info in (await journal.list(cwd=cwd, limit=200)).streams if info.session]
        return next((info for info in infos if agent is None or _is_agent(info, agent)), None)
    exact = await journal.info(name)
    if exact is not None:
        return exact
    own = (await journal.list(session=name, limit=1)).streams
    if own:
        return own[0]
    matches = [info for info in (await journal.list(limit=500)).streams if info.stream.startswith(name)]
    return matches[0] if len(matches) == 1 else None


def _is_agent(info: StreamInfo, agent: str) -> bool:
    """Whether this was with that agent; what was started by a command goes by its own name."""
    return info.agent in (agent, Path(agent.split()[0]).name) or " " in agent


def _once(infos: Sequence[StreamInfo]) -> list[StreamInfo]:
    """Each session once, as it was last."""
    seen_keys: set[str] = set()
    unique = []
    for info in infos:
        key = info.session or info.stream
        if key not in seen_keys:
            seen_keys.add(key)
            unique.append(info)
    return unique


# The board of this machine's sessions: what the history has, looked at again and again while it is shown.
#
# A session is running while its process lives; what it asks is asked in its own terminal, so nothing can be
# answered here. The history has no archive.

EVERY = 2.0
"""The seconds between two checks."""

MOST_SESSIONS = 200
"""The most sessions in the list, the latest ones; search finds the others."""

TAIL = 64
"""The entries to read for the last line of a session."""

LINES_READ = 20
"""The sessions whose last line is read in one check, so that the first check is quick."""

_SHOWN = frozenset({"prompt", "message", "thought", "tool", "permission", "error"})
"""Kinds of moments that say what a session is doing."""

_FAILED = frozenset({INTERRUPTED, "failed", "error", "refusal"})

RequestOf = Callable[[StreamInfo], ChatRequest | None]
"""Returns how to open a session of the history; None if it can't be opened."""


@asynccontextmanager
async def open_local_board(request_of: RequestOf, on_change: Callable[[], None]) -> AsyncIterator[LocalBoard]:
    """Open the board; sessions of the history appear a moment later."""
    board = LocalBoard(request_of, on_change)
    looking = asyncio.create_task(board.keep_looking(), name="board")
    try:
        yield board
    finally:
        looking.cancel()
        await asyncio.wait((looking,))


class LocalBoard:
    """Implements `SessionBoard`, made by `open_local_board`."""

    can_archive = False

    def __init__(self, request_of: RequestOf, on_change: Callable[[], None]) -> None:
        self.trouble = ""
        self.sessions: Sequence[BoardSession] = ()
        self._request_of = request_of
        self._on_change = on_change
        self._lines: dict[str, tuple[int, str]] = {}  # by stream: the last entry, and the line up to there
        self._wake = asyncio.Event()

    async def keep_looking(self) -> None:
        """Check for changes until cancelled."""
        while True:
            try:
                await self._look()
                self.trouble = ""
            except (JournalError, OSError) as error:
                self.trouble = f"the history cannot be read: {error}"
            self._on_change()
            self._wake.clear()
            try:
                async with asyncio.timeout(EVERY):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _look(self) -> None:
        if not history_path().exists():
            return
        async with open_journal(history_path()) as journal:
            infos = (await journal.list(limit=MOST_SESSIONS)).streams
            stale = [info for info in infos if self._lines.get(info.stream, (-1, ""))[0] != info.last]
            for info in stale[:LINES_READ]:
                self._lines[info.stream] = (info.last, await _last_line(journal, info))
            if len(stale) > LINES_READ:
                self._wake.set()
        latest: dict[str, StreamInfo] = {}
        for info in infos:  # each session once, as it was last
            latest.setdefault(info.session or info.stream, info)
        self.sessions = [self._session(with_current_state(info)) for info in latest.values()]

    def _session(self, info: StreamInfo) -> BoardSession:
        is_running = info.state == "running"
        return BoardSession(
            id=info.stream,
            request=None if is_running else self._request_of(info),
            title=info.title,
            agent=info.agent,
            cwd=info.cwd,
            state="running" if is_running else "failed" if info.state in _FAILED else "idle",
            updated=info.updated,
            line=self._lines.get(info.stream, (0, ""))[1],
        )

    def show_archived(self, on: bool) -> None:
        """Do nothing: there are no archived sessions."""

    def question(self, session_id: str) -> BoardQuestion | None:
        return None

    async def answer(self, question: BoardQuestion, option_id: str) -> bool:
        return False

    async def set_title(self, session_id: str, title: str) -> None:
        async with open_journal(history_path()) as journal:
            await journal.describe(session_id, title=title)
        self._wake.set()

    async def archive(self, session_id: str, *, on: bool) -> None:
        raise LocalMistake(
            "sessions on this machine can't be archived; to delete one: dragoman sessions forget SESSION"
        )


async def _last_line(journal: Journal, info: StreamInfo) -> str:
    entries = [
        entry
        async for page in journal.replay(info.stream, after=max(0, info.last - TAIL), limit=TAIL)
        for entry in page
        if entry.direction != "note"
    ]
    shown = [moment for moment in moments(entries) if moment.kind in _SHOWN]
    for moment in reversed(shown):
        lines = [line for line in map(str.strip, moment.text.splitlines()) if line]
        if lines:
            return lines[-1] if moment.kind in ("message", "thought") else lines[0]
    return ""
