"""The agent, its sessions and its turns, as a client sees them without `await`.

They stand before their namesakes of `agent_handle`, `session` and `prompt`, with the same methods; where
those are awaited or iterated with `async for`, these are called or iterated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.sdk.client.agent_handle import _DEFAULT
from dragoman.sdk.client.agent_handle import AgentHandle as AwaitedAgent
from dragoman.sdk.client.agent_handle import Session as AwaitedSession
from dragoman.sdk.client.prompt import PromptTurn as AwaitedPrompt
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.session_opener import OpenMethod, SessionOpener, SessionPlace
from dragoman.sdk.sync.run import Runner, iterate

if TYPE_CHECKING:
    from dragoman.schema.steering import SteerFallback, SteerOutcome
    from dragoman.schema.v1 import (
        AuthMethod,
        ContentBlock,
        Implementation,
        SessionConfigOption,
        SessionInfo,
        SessionModeState,
        SessionNotification,
        SessionUpdate,
    )
    from dragoman.sdk.capabilities import Capabilities
    from dragoman.sdk.client.subagents import SubagentTree

T = TypeVar("T")


class SyncAgentHandle(SessionOpener["SyncSession"]):
    """The other end of a client's connection.

        with connect("some-agent --acp") as agent:
            session = agent.new_session(cwd="/project")
            print(agent.info, [stored.title for stored in agent.list_sessions()])

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("_agent", "_run")

    def __init__(self, inner: AwaitedAgent, run: Runner) -> None:
        self._agent = inner
        self._run = run

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities."""
        return self._agent.capabilities

    @property
    def info(self) -> Implementation | None:
        """The agent's name and version, if it has sent them."""
        return self._agent.info

    @property
    def auth_methods(self) -> Sequence[AuthMethod]:
        """The ways to log in that the agent offers."""
        return self._agent.auth_methods

    @property
    def protocol_version(self) -> int:
        """The version of the protocol that both sides agreed on."""
        return self._agent.protocol_version

    @property
    def subagents(self) -> SubagentTree:
        """The child sessions that the agent has announced, in all sessions."""
        return self._agent.subagents

    # Sessions.

    def open_session(self, place: SessionPlace, how: OpenMethod, session_id: str = "") -> SyncSession:
        """Open a session in one of the three ways; `session_id` is for loading or resuming one."""
        return SyncSession.before(self._run(self._agent.open_session(place, how, session_id)), self)

    def fork_session(self, session_id: str, *, cwd: str) -> SyncSession:
        """Open a new session that starts from the current state of another."""
        return SyncSession.before(self._run(self._agent.fork_session(session_id, cwd=cwd)), self)

    def list_sessions(self, *, cwd: str | None = None) -> Iterator[SessionInfo]:
        """Return all stored sessions, page by page."""
        return iterate(self._agent.list_sessions(cwd=cwd), self._run)

    def delete_session(self, session_id: str) -> None:
        """Remove a stored session from the agent (`session/delete`)."""
        self._run(self._agent.delete_session(session_id))

    # Login.

    def authenticate(self, method_id: str) -> None:
        """Log in with one of `auth_methods` (`authenticate`). No deadline: a person may be involved."""
        self._run(self._agent.authenticate(method_id))

    def logout(self) -> None:
        """End the login at the agent (`logout`)."""
        self._run(self._agent.logout())

    # Anything.

    def ask(self, method: str, message: object, result: type[T], *, deadline: float | None = _DEFAULT) -> T:
        """Send a typed request of the protocol. It is refused here if the agent has not announced the
        capability.
        """
        return self._run(self._agent.ask(method, message, result, deadline=deadline))

    def call(self, method: str, params: object = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Send any other request, such as an extension (`_…`): plain data in, plain data out."""
        return self._run(self._agent.call(method, params, deadline=deadline))

    def notify(self, method: str, params: object = None) -> None:
        """Send any notification, such as an extension."""
        self._run(self._agent.notify(method, params))


class SyncSession:
    """A session of an agent, made by `new_session`, `load_session`, `resume_session` or `fork_session`.

        session = agent.new_session(cwd="/project")
        result = session.prompt("Fix the failing test").result
        session.close()

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("_run", "_session", "agent")

    def __init__(self, agent: SyncAgentHandle, session_id: str, *, cwd: str) -> None:
        self._stand_before(AwaitedSession(agent._agent, session_id, cwd=cwd), agent)

    @classmethod
    def before(cls, inner: AwaitedSession, agent: SyncAgentHandle) -> SyncSession:
        """Return the blocking face of an existing session."""
        session = cls.__new__(cls)
        session._stand_before(inner, agent)
        return session

    def _stand_before(self, inner: AwaitedSession, agent: SyncAgentHandle) -> None:
        self.agent = agent
        self._session = inner
        self._run = agent._run

    @property
    def id(self) -> str:
        """The agent's id of the session."""
        return self._session.id

    @property
    def cwd(self) -> str:
        """The folder that the session works in."""
        return self._session.cwd

    @property
    def modes(self) -> SessionModeState | None:
        """The modes of the session and the current one; None if the agent has none."""
        return self._session.modes

    @property
    def config_options(self) -> Sequence[SessionConfigOption]:
        """The options of the session, with their values."""
        return self._session.config_options

    @property
    def late(self) -> deque[SessionUpdate]:
        """The updates that arrived outside any turn: before the first turn, between two turns, or after an
        answer. More may arrive while you look: iterate over `list(session.late)`.
        """
        return self._session.late

    def prompt(
        self,
        *content: str | ContentBlock,
        silence: float | None = None,
        keep_text: bool = True,
        meta: Mapping[str, Any] | None = None,
    ) -> SyncPromptTurn:
        """Run one turn. Iterate over it for its updates, or read its `result`; nothing is sent before that.
        If you show updates as they arrive and don't need the whole text at the end, set `keep_text=False`.
        `meta` is the `_meta` of the prompt.
        """
        turn = self._session.prompt(*content, silence=silence, keep_text=keep_text, meta=meta)
        return SyncPromptTurn(turn, self._run)

    def steer(self, *content: str | ContentBlock, otherwise: SteerFallback = "restart") -> SteerOutcome:
        """Send a message while a turn runs, from its loop, another thread or a handler; see
        `PromptTurn.steer`.
        """
        return self._run(self._session.steer(*content, otherwise=otherwise))

    def cancel(self) -> None:
        """Stop the running turn, from another thread or a handler. Open permission requests are answered
        with `cancelled`.
        """
        self._run(self._session.cancel())

    def set_mode(self, mode_id: str) -> None:
        """Change the session's mode (`session/set_mode`); `modes` lists the available ones."""
        self._run(self._session.set_mode(mode_id))

    def set_config_option(self, config_id: str, value: str | bool) -> Sequence[SessionConfigOption]:
        """Change one option; the answer, and `config_options` from then on, is the complete list."""
        return self._run(self._session.set_config_option(config_id, value))

    def close(self) -> None:
        """Free the session at the agent, which cancels a running turn."""
        self._run(self._session.close())


class SyncPromptTurn:
    """A turn, made by `SyncSession.prompt`. Iterate over it once, or read the result.

    Leaving the loop early, by `break`, an exception or Ctrl-C, cancels the turn.

        turn = session.prompt("Explain this project")
        for text in turn.texts():
            print(text, end="")
        print(turn.result.stop_reason)

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    __slots__ = ("_run", "_turn")

    def __init__(self, inner: AwaitedPrompt, run: Runner) -> None:
        self._turn = inner
        self._run = run

    @property
    def result(self) -> TurnResult:
        """The result of the turn. If no caller iterates over the turn, this waits for its end."""
        if not self._turn._is_started:
            self._run(self._turn._drain())
        return self._turn.result

    @property
    def unsent(self) -> tuple[Sequence[ContentBlock], ...]:
        """Messages for `steer` that were not sent, because their turn failed or was cancelled."""
        return self._turn.unsent

    def steer(self, *content: str | ContentBlock, otherwise: SteerFallback = "restart") -> SteerOutcome:
        """Send a message while the turn runs; see `PromptTurn.steer`."""
        return self._run(self._turn.steer(*content, otherwise=otherwise))

    def __iter__(self) -> Generator[SessionUpdate, None, None]:
        # A crossing for each batch, and not for each update.
        with closing(iterate(self._turn.batches(keep_text=self._turn._keep_text), self._run)) as batches:
            for updates in batches:
                yield from updates

    def batches(self, *, keep_text: bool = False) -> Iterator[list[SessionUpdate]]:
        """Yield the updates in lists of those that arrived together: the fastest way to read very many.
        Iterate over this or over the turn, once. The text is kept for the result only with `keep_text`.

            for updates in turn.batches():
                show(updates)
        """
        return iterate(self._turn.batches(keep_text=keep_text), self._run)

    def notifications(self) -> Iterator[SessionNotification]:
        """Yield the updates of the session and of all its subagents in the order of their arrival, each with
        the id of its session. Iterate over this or over the turn, once.

            for note in turn.notifications():
                print(agent.subagents.requester(note.session_id) or "agent", note.update)
        """
        return iterate(self._turn.notifications(), self._run)

    def texts(self) -> Iterator[str]:
        """Yield the agent's text, piece by piece; the turn itself yields all updates."""
        with closing(iter(self)) as updates:
            for update in updates:
                if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                    yield update.content.text


def agent_face(peer: object, run: Runner) -> object:
    """Return the blocking face of an agent; any other object is returned unchanged."""
    return SyncAgentHandle(peer, run) if isinstance(peer, AwaitedAgent) else peer
