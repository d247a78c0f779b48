"""Declares an agent with the kit: everything besides its prompt handler.

A kit gives an `Agent` the handlers of every session method. Sessions are kept in a journal (SQLite, unless
told otherwise), each with its conversation, settings, usage and memories, and can be loaded by any later
process of the same agent. It holds no state of a conversation; the sessions do.

`session` and `turn` are what handlers meet; `log` stores, `sessions` and `restore` bring back; `settings`,
`commands` and `usage` are one idea each; `mounts` runs the MCP servers of a client; `local` is the agent's
own confined files and commands.

Handlers of a kit run in an event loop; `dragoman.blocking` serves plain agents only.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

from msgspec import UNSET

from dragoman.schema import v1
from dragoman.sdk.handlers import Handler
from dragoman.wire.codes import invalid_request
from dragoman_local.journal import Durability
from dragoman_local.kit.journal_lender import JournalLender, JournalSource
from dragoman_local.kit.session import KitTurn
from dragoman_local.kit.sessions import KitSessions
from dragoman_local.kit.settings import MODE, AnyOption, Modes, Value, collect_options
from dragoman_local.kit.turn_run import run_turn

if TYPE_CHECKING:
    from dragoman.sdk.agent.agent import Agent
    from dragoman.sdk.agent.session import ClientHandle, Outcome
    from dragoman_local.kit.session import KitSession

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., object])

TITLE = 80
"""The most characters of a title from a prompt."""


class Kit(Generic[C]):
    """Durable sessions for an agent. `conversation` creates each session's own object when it is opened.

        agent = Agent("notes")
        kit = Kit(agent, modes=Modes("ask", "edit"))

        @kit.prompt
        async def reply(turn: KitTurn[None]) -> None:
            await turn.say(f"Turn {turn.number} of this session")

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup#loading-sessions
    """

    @overload
    def __init__(
        self: Kit[None],
        agent: Agent,
        *,
        journal: JournalSource = None,
        durability: Durability = "full",
        modes: Modes | None = None,
        options: Sequence[AnyOption] = (),
        titles: Literal["first prompt", "none"] = "first prompt",
        mcp: bool = True,
        max_turn_requests: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        agent: Agent,
        *,
        conversation: Callable[[KitSession[C]], Awaitable[C]],
        journal: JournalSource = None,
        durability: Durability = "full",
        modes: Modes | None = None,
        options: Sequence[AnyOption] = (),
        titles: Literal["first prompt", "none"] = "first prompt",
        mcp: bool = True,
        max_turn_requests: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        agent: Agent,
        *,
        conversation: Callable[[KitSession[C]], C],
        journal: JournalSource = None,
        durability: Durability = "full",
        modes: Modes | None = None,
        options: Sequence[AnyOption] = (),
        titles: Literal["first prompt", "none"] = "first prompt",
        mcp: bool = True,
        max_turn_requests: int | None = None,
    ) -> None: ...
    def __init__(
        self,
        agent: Agent,
        *,
        conversation: Callable[[KitSession[Any]], Any] = lambda _: None,
        journal: JournalSource = None,
        durability: Durability = "full",
        modes: Modes | None = None,
        options: Sequence[AnyOption] = (),
        titles: Literal["first prompt", "none"] = "first prompt",
        mcp: bool = True,
        max_turn_requests: int | None = None,
    ) -> None:
        """`journal` is an open journal, the path of one, or None for the usual place. `titles` names a
        session after its first prompt until it gets a title. Without `mcp` the agent itself handles the
        client's MCP servers.
        """
        self.agent = agent
        self.shelf = JournalLender(journal, agent=agent.name, durability=durability)
        self.conversation = conversation
        self.options = collect_options(modes, options)
        self.commands = Commands()
        self.max_turn_requests = max_turn_requests
        self._titles = titles
        self._mcp = mcp
        self._on_option_change: Callable[[KitSession[C], str, Value], Any] | None = None
        if mcp and importlib.util.find_spec("mcp") is not None:
            agent.mcp_http = agent.mcp_sse = True
        self._take_over(KitSessions(self))

    def _take_over(self, sessions: KitSessions) -> None:
        agent = self.agent
        agent.new_session(sessions.new)
        agent.load_session(sessions.load)
        agent.resume_session(sessions.resume)
        agent.fork_session(sessions.fork)
        agent.list_sessions(sessions.list)
        agent.close_session(sessions.close)
        agent.delete_session(sessions.delete)
        agent.set_session_title(sessions.set_title)
        if self.options:
            agent.set_config_option(self._set_config_option)
        if MODE in self.options:
            agent.set_mode(self._set_mode)

    # What the agent's author declares.

    @overload
    def prompt(
        self, handler: Callable[[KitTurn[C]], Awaitable[Outcome]]
    ) -> Callable[[KitTurn[C]], Awaitable[Outcome]]: ...
    @overload
    def prompt(self, handler: Callable[..., object]) -> Callable[..., Any]: ...
    def prompt(self, handler: Callable[..., object]) -> Callable[..., Any]:
        """Register the function that answers prompts without a command."""
        usual = Handler(handler)

        async def run(turn: KitTurn[C], client: ClientHandle) -> v1.PromptResponse:
            if not isinstance(turn, KitTurn):
                raise invalid_request("this session is still being opened")
            turn.most_requests = self.max_turn_requests
            match = self.commands.find(turn.text)
            turn_handler = usual if match is None else match[0].handler(match[1])
            return await run_turn(turn, turn_handler, client, on_begin=self._begin_turn)

        self.agent.handlers.add("session/prompt", run)
        return handler

    def command(self, name: str, description: str, *, hint: str | None = None) -> Callable[[F], F]:
        """Register the function that answers `/name …`; it gets the turn and the argument. `hint` is for
        people.
        """

        def register(function: F) -> F:
            self.commands.add(SlashCommand(name, description, hint, function))
            return function

        return register

    def on_option_change(self, function: F) -> F:
        """Register a function for changes of an option by a client: session, option, value. It may refuse
        with `ErrorAnswer`.
        """
        self._on_option_change = function
        return function

    # Settings.

    async def _set_mode(self, request: v1.SetSessionModeRequest, client: ClientHandle) -> None:
        session = self._session(client, request.session_id)
        if await self._set(session, MODE, request.mode_id):
            await session.update(v1.ConfigOptionUpdate(config_options=session.config_options()))
            await session.log.flush()  # the answer comes behind it

    async def _set_config_option(
        self, request: v1.SetSessionConfigOptionRequest, client: ClientHandle
    ) -> v1.SetSessionConfigOptionResponse:
        session = self._session(client, request.session_id)
        if await self._set(session, request.config_id, request.value) and request.config_id == MODE:
            await session.update(v1.CurrentModeUpdate(current_mode_id=session.mode_id))
            await session.log.flush()  # the answer comes behind it
        return v1.SetSessionConfigOptionResponse(config_options=session.config_options())

    async def _set(self, session: KitSession[Any], option_id: str, value: Value) -> bool:
        before = session.settings.values
        is_changed = session.settings.change(option_id, value)
        if is_changed:
            try:
                await self._tell_change(session, option_id, value)
            except BaseException:
                session.settings.change(option_id, before[option_id])
                raise
            session.store_settings()
            await session.log.flush()
        return is_changed

    async def _tell_change(self, session: KitSession[Any], option_id: str, value: Value) -> None:
        result = None if self._on_option_change is None else self._on_option_change(session, option_id, value)
        if inspect.isawaitable(result):
            await result

    @staticmethod
    def _session(client: ClientHandle, session_id: str) -> KitSession[Any]:
        session: Any = client.sessions[session_id]
        if not hasattr(session, "settings"):
            raise invalid_request("this session is still being opened")
        kit_session: KitSession[Any] = session
        return kit_session

    # A session's beginning.

    def mount(self, session: KitSession[Any]) -> None:
        """Start the client's MCP servers of the session."""
        if self._mcp and session.mcp_servers:
            from dragoman_local.kit.mounts import Mounts

            session.mcp = Mounts(session)

    def greeting(self) -> v1.SessionUpdate | None:
        """Return the message for a client about each session that it opens: its commands."""
        commands = self.commands.as_updates()
        return v1.AvailableCommandsUpdate(available_commands=commands) if commands else None

    async def _begin_turn(self, turn: KitTurn[Any]) -> None:
        """Set the title and show pending notices before the handler runs."""
        await self._entitle(turn)
        notices, turn.session.pending_notices = turn.session.pending_notices, []
        for words in notices:
            await turn.notice(words, severity="warning")

    async def _entitle(self, turn: KitTurn[Any]) -> None:
        if turn.session.session_title or self._titles == "none":
            return
        line = " ".join(turn.text.split())
        if line:
            await turn.title(line if len(line) <= TITLE else line[: TITLE - 1] + "…")


# Slash commands: a decorator declares them, every session announces them, and the first word of a prompt
# selects one.
#
# A command is a prompt whose text begins with `/name`; what follows is its argument, and other blocks may
# accompany it. A prompt that begins like a command which nobody declared is a prompt like any other.

NAME = re.compile(r"[^\s/][^\s]*")


class SlashCommand(NamedTuple):
    """A declared command. Its handler gets the turn and the argument."""

    name: str
    description: str
    hint: str | None
    function: Callable[..., Any]

    def as_updates(self) -> v1.AvailableCommand:
        asks = UNSET if self.hint is None else v1.UnstructuredCommandInput(hint=self.hint)
        return v1.AvailableCommand(name=self.name, description=self.description, input=asks)

    def handler(self, argument: str) -> Handler:
        """The handler that runs a turn with this command."""
        function = self.function
        is_async = Handler(function).is_async

        async def run_async(turn: object) -> Any:
            return await function(turn, argument)

        def run_plain(turn: object) -> Any:
            return function(turn, argument)

        return Handler(run_async if is_async else run_plain)


class Commands:
    """All commands of an agent, in the order of their declaration."""

    def __init__(self) -> None:
        self._commands: dict[str, SlashCommand] = {}

    def __bool__(self) -> bool:
        return bool(self._commands)

    def add(self, command: SlashCommand) -> None:
        if not NAME.fullmatch(command.name):
            raise ValueError(
                f"{command.name!r} cannot be the name of a command: one word, no slash before it"
            )
        if command.name in self._commands:
            raise ValueError(f"the command {command.name!r} is already declared")
        self._commands[command.name] = command

    def as_updates(self) -> list[v1.AvailableCommand]:
        return [command.as_updates() for command in self._commands.values()]

    def find(self, text: str) -> tuple[SlashCommand, str] | None:
        """Return the command at the start of a prompt's text, and its argument."""
        if not text.startswith("/"):
            return None
        words = text[1:].split(maxsplit=1)
        command = self._commands.get(words[0]) if words and not text[1:2].isspace() else None
        return None if command is None else (command, words[1].strip() if len(words) > 1 else "")
