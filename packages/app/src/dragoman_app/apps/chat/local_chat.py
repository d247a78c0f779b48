"""One conversation: a supervised agent, its session, its files and terminals.

`LocalChat.opened` is an `async with`: leaving it leaves no process, no task, no temporary file. What the
agent asks for goes through the policy and, where that says so, to the person.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman import Client, TurnResult, supervised
from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.schema import v1
from dragoman.schema.steering import SteerOutcome
from dragoman.sdk.client.subagents import MAY_ANNOUNCE, SubagentTree, announcement_in, tree_lines
from dragoman.sdk.supervision.agent_start import Startable
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.sdk.supervision.session import SupervisedSession
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.transport.tapped_transport import Tap
from dragoman.version import VERSION
from dragoman_app.apps.chat.changes import LocalRewinds, TurnSnapshot
from dragoman_app.apps.chat.files import FileFinder, read_file_text
from dragoman_app.apps.chat.risk_notes import RiskNotes
from dragoman_app.apps.chat.rules import at_screen, make_audit_log
from dragoman_app.apps.chat.stored_history import StoredHistory
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.attach import blocks_of, read_attachments
from dragoman_app.apps.turn_memory import TurnMemory
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import (
    ChangeReview,
    ChatEvent,
    ChatListener,
    ChatRequest,
    ChatRewinds,
    ChatUser,
    FileText,
    UpdatesBehind,
)
from dragoman_local.journal.brief import ConversationBrief
from dragoman_local.sandbox.boundary import SAYS
from dragoman_local.workspace.commands import SHELL, PlannedCommand
from dragoman_local.workspace.local_client import LocalClient
from dragoman_local.workspace.policy.permission_service import LocalDesk
from dragoman_local.workspace.rewind import RewindDone
from dragoman_local.workspace.settings import LocalRules, Place
from dragoman_local.workspace.terminal import TerminalProcess

MOST_TERMINALS = 64
"""The most terminals whose output is still shown after the agent released them."""

_TOOLS = (v1.ToolCall, v1.ToolCallProgress)

_KINDS = {"started": "starting", "initialized": "ready"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAgent:
    """An agent that can be started, and its name here."""

    name: str
    target: Startable
    identity: str = ""
    """The name that rules use for it; its own name if this is empty."""
    env: dict[str, str] | None = None
    is_nameless: bool = False
    """Whether the agent's own name is clearer than ours."""
    place: Place = "here"
    tap: Tap | None = None
    on_stderr: Callable[[bytes], None] | None = None
    dialect: str = "auto"
    sandbox: str = "off"
    launcher: Sequence[str] = ()
    """The same as in `ChosenAgent`."""


class LocalChat:
    """Implements `ChatSession`, created by `opened`."""

    def __init__(
        self,
        source: ChatAgent,
        request: ChatRequest,
        person: ChatUser,
        listener: ChatListener,
        rules: LocalRules,
    ) -> None:
        self._source, self._rules = source, rules
        self.agent = source.name
        self.cwd = request.cwd
        self.sandbox = source.sandbox
        self.past: StoredHistory | None = None
        self.brief: ConversationBrief | None = None
        """What the agent is told of another agent's conversation, until a turn has ended."""
        self._allowed: list[str] = []
        """What was allowed after it was denied; the agent is told with the next prompt."""
        self.keep_title: Callable[[str], Awaitable[object]] | None = None
        """Stores a title of the session in the history, if there is one."""
        self._request = request
        self._listener = listener
        self._session: SupervisedSession | None = None
        self._files = FileFinder(request.cwd)
        self._look = TurnSnapshot(request.cwd, self._note)
        self._lines: list[UserCommand] = []
        self._terminals: OrderedDict[str, TerminalOutput] = OrderedDict()
        self._risk_notes = RiskNotes()
        self._on_stderr, self._stderr_rest = source.on_stderr, b""
        self._subagents = SubagentTree()
        self.local = LocalClient(
            lambda _: self._desk,
            rules=rules,
            place=source.place,
            find_subagents=lambda: self._subagents,
            on_no_wall=self._note,
        )
        self._user = at_screen(person, self._risk_notes)
        self._desk = LocalDesk(
            rules,
            door="chat",
            agent=source.identity or source.name,
            roots=[request.cwd],
            user=self._user,
            audit=make_audit_log(self._note),
            place=self.local.place,
            find_tool_call=self.local.calls.find_call,
            requester_of=self.local.requester_of,
        )
        self.client = Client(
            "dragoman-chat",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            subagents=True,
        )
        self.client.update(self._on_update)
        self.local.serve(self.client)

    @property
    def is_local(self) -> bool:
        return self.local.place == "here"

    def remember(self, stream: str) -> None:
        """Store turns in the store of trees from now on, as those of a stream of the history."""
        if self.is_local:
            self._look.memory = TurnMemory(self._note, roots=[self.cwd], stream=stream)

    # The session.

    @property
    def session(self) -> SupervisedSession:
        assert self._session is not None
        return self._session

    async def open(self, agent: SupervisedAgent, session_id: str | None) -> None:
        if session_id is None:
            await self._make(agent)
            return
        # To resume is cheaper, but only our own history can then show what was said.
        can = agent.handle.capabilities
        if "sessionCapabilities.resume" in can and (self.past is not None or "loadSession" not in can):
            self.local.lend(session_id, cwd=self.cwd, info=agent.info)
            self._session = await agent.resume_session(session_id, cwd=self.cwd)
        elif "loadSession" in can:
            self.past = None
            self.local.lend(session_id, cwd=self.cwd, info=agent.info)
            self._session = await agent.load_session(session_id, cwd=self.cwd)
        else:
            await self._make(agent)
            self._note("This agent can't resume stored sessions. It does not know the conversation above.")

    async def _make(self, agent: SupervisedAgent) -> None:
        with self.local.lending(cwd=self.cwd, info=agent.info) as lent:
            self._session = await agent.new_session(cwd=self.cwd)
            lent(self._session.id)

    @property
    def request(self) -> ChatRequest:
        return ChatRequest(agent=self._request.agent, cwd=self.cwd, session=self.session.id)

    @property
    def modes(self) -> v1.SessionModeState | None:
        return self.session.modes

    @property
    def options(self) -> Sequence[v1.SessionConfigOption]:
        return self.session.config_options

    @property
    def behind(self) -> UpdatesBehind | None:
        return None

    async def turn(self, blocks: Sequence[v1.ContentBlock]) -> TurnResult:
        self.session.late.clear()  # the listener heard them when they came
        brief = [] if self.brief is None else [v1.TextContent(text=self.brief.text)]
        prompt = "\n".join(block.text for block in blocks if isinstance(block, v1.TextContent))
        note = "" if self._look.memory is None else await self._look.memory.note(self.session.id)
        notes, self._allowed = [note, *self._allowed], []
        for note in filter(None, notes):
            self._note(f"Sent to the agent: {note}")
            brief.append(v1.TextContent(text=note))
        await self._look.begin_turn(self.session.id, agent=self.agent, prompt=prompt)
        try:
            result = await self.session.prompt(*brief, *blocks, keep_text=False)
        finally:
            self._desk.permissions.end_turn()
        self.brief = None
        return result

    async def allow(self) -> str:
        found = await self._desk.permissions.reconsider(self._user.permissions)
        if found is None:
            return "Nothing was denied that you could allow here."
        act, extent = found
        if extent == "deny":
            return "It stays denied."
        what = act.script.text if act.script is not None else act.title
        self._allowed.append(f"The user now allows this, which was denied ({extent}): {what}")
        return "Allowed. The agent is told with your next prompt, and may try again."

    async def steer(self, blocks: Sequence[v1.ContentBlock]) -> SteerOutcome:
        return await self.session.steer(*blocks)

    async def cancel(self) -> None:
        await self.session.cancel()

    async def set_mode(self, mode_id: str) -> None:
        await self.session.set_mode(mode_id)

    async def set_option(self, option_id: str, value: str | bool) -> None:
        await self.session.set_config_option(option_id, value)

    async def set_title(self, title: str) -> None:
        handle = self.session.agent.handle
        if "sessionCapabilities.title" in handle.capabilities:
            await handle.call("session/set_title", {"sessionId": self.session.id, "title": title})
        elif self.keep_title is None:
            raise LocalMistake("neither the agent nor your history can store a title for this session")
        if self.keep_title is not None:
            await self.keep_title(title)

    async def archive(self) -> None:
        handle = self.session.agent.handle
        if "sessionCapabilities.archive" not in handle.capabilities:
            raise LocalMistake("this agent has no archive")
        await handle.call("session/archive", {"sessionId": self.session.id})

    async def restart(self) -> None:
        self.session.agent.forgive()
        await self.session.ready()

    async def earlier(self) -> Transcript | None:
        return None if self.past is None else await self.past.earlier()

    # What is heard.

    def _on_update(self, notification: v1.SessionNotification) -> None:
        # A history may bring tens of thousands of updates: what is for few of them is not asked of each.
        update, session_id = notification.update, notification.session_id
        may_announce = isinstance(update, MAY_ANNOUNCE)
        if may_announce or session_id in self._subagents:
            self._hear_subagents(notification)
        if self._session is not None and session_id != self._session.id:
            return
        if may_announce and announcement_in(update) is not None:
            return  # the tree shows it
        if isinstance(update, _TOOLS):
            self.local.calls.on_update(notification)
            for item in update.content or ():
                if isinstance(item, v1.Terminal):
                    self._keep(item.terminal_id, session_id)
        self._listener.on_update(update)

    def _hear_subagents(self, notification: v1.SessionNotification) -> None:
        """Keep the tree, and show it where something in it changed."""
        session_id, tree = notification.session_id, self._subagents
        before = tree.last_line(session_id)
        changed = tree.hear(notification)
        if session_id in tree:
            self.local.calls.on_update(notification)
        if changed is not None or tree.last_line(session_id) != before:
            self._listener.on_subagents("\n".join(tree_lines(tree, tree.root_of(session_id))))

    def on_chat_event(self, event: SupervisionEvent) -> None:
        if event.kind == "lost_context" and event.session_id is not None and event.former_id is not None:
            self.local.workspace.renew(event.former_id, event.session_id)
        kind = _KINDS.get(event.kind, event.kind)
        self._listener.on_chat_event(ChatEvent(kind=kind, text=event.text, detail=event.stderr))  # type: ignore[arg-type]

    def hear_stderr(self, chunk: bytes) -> None:
        """Report what the sandbox around the agent refused; the rest only goes to the history."""
        if self._on_stderr is not None:
            self._on_stderr(chunk)
        *lines, self._stderr_rest = (self._stderr_rest + chunk).split(b"\n")
        self._stderr_rest = self._stderr_rest[: 64 * 1024]
        for line in lines:
            if line.startswith(SAYS):
                self._note(line.removeprefix(SAYS).decode(errors="replace"))

    def _note(self, text: str) -> None:
        self._listener.on_chat_event(ChatEvent(kind="noted", text=text))

    # Commands.

    def _keep(self, terminal_id: str, session_id: str) -> None:
        """Hold on to a terminal: its agent may release it before anybody has seen the end of it."""
        try:
            terminal = self.local.workspace.terminals(session_id).get(terminal_id)
        except ErrorAnswer:
            return
        self._terminals.setdefault(terminal_id, TerminalOutput(terminal))
        while len(self._terminals) > MOST_TERMINALS:
            self._terminals.popitem(last=False)

    def terminal(self, terminal_id: str) -> TerminalOutput | None:
        return self._terminals.get(terminal_id)

    def shell(self, line: str) -> UserCommand:
        if not os.path.isdir(self.cwd):
            raise LocalMistake(f"{self.cwd} is not on this machine, so nothing can be run there from here")
        running = start(line, self.cwd)
        self._lines = [line for line in self._lines if line.exit_text is None] + [running]
        return running

    # FileFinder.

    async def files(self, query: str) -> Sequence[str]:
        return await self._files.find(query)

    async def read_file(self, path: str, line: int = 0) -> FileText:
        if not self.is_local:
            raise LocalMistake("the files of this session are on another machine, and cannot be shown here")
        return await asyncio.to_thread(read_file_text, self.cwd, path, line)

    async def attachments(self, paths: Sequence[str]) -> Sequence[v1.ContentBlock]:
        there = [place for path in paths if (place := Path(self.cwd, path)).is_file()]
        try:
            attachments = read_attachments([str(place) for place in there], [])
            return blocks_of(attachments, self.session.life.handle.capabilities)
        except UsageMistake as mistake:
            raise LocalMistake(str(mistake)) from mistake

    async def look(self) -> None:
        if self.is_local:
            await self._look.take()
        elif self.local.place == "there":
            await self._look.take_there(self.session.life.handle.call, self.session.id)

    async def review(self) -> ChangeReview | None:
        return await self._look.compare()

    @property
    def rewinds(self) -> ChatRewinds:
        return LocalRewinds(self._look.memory, self.session.id, self._tell_rewind)

    def _tell_rewind(self, done: RewindDone) -> None:
        title, names = done.notice(self.cwd)
        self._listener.on_update(v1.Notice(severity="info", title=title, description=names))

    async def aclose(self) -> None:
        for line in self._lines:
            await line.kill()
        await self._look.aclose()
        if self._look.memory is not None:
            await self._look.memory.aclose()
        await self._risk_notes.aclose()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[LocalChat]:
        """Open a conversation and return it. Raises `DragomanError` if that fails."""
        source = self._source
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.aclose)
            await stack.enter_async_context(self.local.workspace)
            supervisor = supervised(
                source.target,
                client=self.client,
                cwd=self.cwd if self.is_local else None,
                env=source.env,
                tap=source.tap,
                on_event=self.on_chat_event,
                on_stderr=self.hear_stderr,
                dialect=source.dialect,
                policy=self._rules.policy or "",
                launcher=source.launcher,
            )
            agent = await stack.enter_async_context(supervisor)
            if source.is_nameless and agent.info is not None:
                self.agent = agent.info.title or agent.info.name
            await self.open(agent, self._request.session)
            yield self


# A line of shell that the person runs: theirs, with their environment, beside the conversation.
#
# Its tree is owned: whatever it starts ends when the conversation does.

OUTPUT = 1024 * 1024


class TerminalOutput:
    """Implements `Output`: a command's output, and how it ended."""

    def __init__(self, terminal: TerminalProcess) -> None:
        self.terminal = terminal

    @property
    def text(self) -> str:
        return self.terminal.tail.text

    @property
    def exit_text(self) -> str | None:
        process_exit = self.terminal.exit
        if process_exit is None:
            return None
        return process_exit.signal or str(0 if process_exit.code is None else process_exit.code)


class UserCommand(TerminalOutput):
    """Implements `Shell`."""

    async def wait(self) -> None:
        await self.terminal.wait()

    async def kill(self) -> None:
        await self.terminal.kill()


def start(line: str, cwd: str) -> UserCommand:
    """Start a command. Raises `LocalMistake` if that fails. Needs a running loop."""
    if not line:
        raise LocalMistake("write the shell command after the exclamation mark")
    shell = os.environ.get("SHELL") or SHELL
    command = PlannedCommand(words=(shell, "-c", line), program=shell, shell_line=line, cwd=cwd)
    try:
        return UserCommand(
            TerminalProcess(command, cwd=cwd, env=dict(os.environ), output_bytes=OUTPUT, grace=1.0)
        )
    except ErrorAnswer as error:
        raise LocalMistake(error.message) from error
