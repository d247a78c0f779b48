"""The agent, its sessions and its turns, as a client sees them without `await`.

They stand before their namesakes of `agent_handle`, `session` and `prompt`, with the same methods; where
those are awaited or iterated with `async for`, these are called or iterated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.sdk.client.agent_handle import _DEFAULT
from dragoman.sdk.client.agent_handle import AgentHandle as AwaitedAgent
from dragoman.sdk.client.prompt import PromptTurn as AwaitedPrompt
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.client.session import Session as AwaitedSession
from dragoman.sdk.sync.run import Runner, iterate
from dragoman.sdk.writing import as_block

if TYPE_CHECKING:
    from dragoman.schema.v1 import (
        AuthMethod,
        ContentBlock,
        Implementation,
        McpServer,
        SessionConfigOption,
        SessionInfo,
        SessionModeState,
        SessionUpdate,
    )
    from dragoman.sdk.capabilities import Capabilities

T = TypeVar("T")


class SyncAgentHandle:
    """The other end of a client's connection."""

    __slots__ = ("_agent", "_prompts", "_run")

    def __init__(
        self, inner: AwaitedAgent, run: Runner, *, prompts: type[AwaitedPrompt] | None = None
    ) -> None:
        """`prompts` is how turns wait for their updates in this conversation."""
        self._agent = inner
        self._run = run
        self._prompts = prompts or AwaitedPrompt

    @property
    def capabilities(self) -> Capabilities:
        return self._agent.capabilities

    @property
    def info(self) -> Implementation | None:
        return self._agent.info

    @property
    def auth_methods(self) -> Sequence[AuthMethod]:
        return self._agent.auth_methods

    @property
    def protocol_version(self) -> int:
        return self._agent.protocol_version

    # Sessions.

    def new_session(
        self, *, cwd: str, mcp_servers: Sequence[McpServer] = (), additional_directories: Sequence[str] = ()
    ) -> SyncSession:
        opened = self._agent.new_session(
            cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories
        )
        return SyncSession.before(self._run(opened), self)

    def load_session(
        self,
        session_id: str,
        *,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        additional_directories: Sequence[str] = (),
    ) -> SyncSession:
        """Bring back a stored session. What the agent replays is in its `late` updates, and goes to
        `Client.update`.
        """
        opened = self._agent.load_session(
            session_id, cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories
        )
        return SyncSession.before(self._run(opened), self)

    def resume_session(
        self,
        session_id: str,
        *,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        additional_directories: Sequence[str] = (),
    ) -> SyncSession:
        """Go on with a stored session without having it replayed."""
        opened = self._agent.resume_session(
            session_id, cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories
        )
        return SyncSession.before(self._run(opened), self)

    def fork_session(self, session_id: str, *, cwd: str) -> SyncSession:
        """A new session that starts where the other one stands."""
        return SyncSession.before(self._run(self._agent.fork_session(session_id, cwd=cwd)), self)

    def list_sessions(self, *, cwd: str | None = None) -> Iterator[SessionInfo]:
        """All stored sessions, page by page."""
        return iterate(self._agent.list_sessions(cwd=cwd), self._run)

    def delete_session(self, session_id: str) -> None:
        self._run(self._agent.delete_session(session_id))

    # Login.

    def authenticate(self, method_id: str) -> None:
        self._run(self._agent.authenticate(method_id))

    def logout(self) -> None:
        self._run(self._agent.logout())

    # Anything.

    def ask(self, method: str, message: Any, result: type[T], *, deadline: float | None = _DEFAULT) -> T:
        """A request of the protocol, typed both ways, refused here if the agent did not say that it can do
        it.
        """
        return self._run(self._agent.ask(method, message, result, deadline=deadline))

    def call(self, method: str, params: Any = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Any other request, such as an extension (`_…`): plain data in, plain data out."""
        return self._run(self._agent.call(method, params, deadline=deadline))

    def notify(self, method: str, params: Any = None) -> None:
        """Any notification, such as an extension."""
        self._run(self._agent.notify(method, params))


class SyncSession:
    """Made by `new_session`, `load_session`, `resume_session` or `fork_session`."""

    __slots__ = ("_run", "_session", "agent")

    def __init__(self, agent: SyncAgentHandle, session_id: str, *, cwd: str) -> None:
        self._stand_before(AwaitedSession(agent._agent, session_id, cwd=cwd), agent)

    @classmethod
    def before(cls, inner: AwaitedSession, agent: SyncAgentHandle) -> SyncSession:
        """The blocking face of a session that exists."""
        session = cls.__new__(cls)
        session._stand_before(inner, agent)
        return session

    def _stand_before(self, inner: AwaitedSession, agent: SyncAgentHandle) -> None:
        self.agent = agent
        self._session = inner
        self._run = agent._run

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def cwd(self) -> str:
        return self._session.cwd

    @property
    def modes(self) -> SessionModeState | None:
        return self._session.modes

    @property
    def config_options(self) -> Sequence[SessionConfigOption]:
        return self._session.config_options

    @property
    def late(self) -> deque[SessionUpdate]:
        """Updates that arrived outside any turn: before the first, between two, or after an answer."""
        return self._session.late

    def prompt(self, *content: str | ContentBlock, silence: float | None = None) -> SyncPromptTurn:
        """One turn. Iterate over it for the updates, or take its `result`; nothing is sent before that."""
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        return SyncPromptTurn(self.agent._prompts(self._session, blocks, silence=silence), self._run)

    def cancel(self) -> None:
        """Stop the running turn, from another thread or a handler. Open permission requests are answered
        with `cancelled`.
        """
        self._run(self._session.cancel())

    def set_mode(self, mode_id: str) -> None:
        self._run(self._session.set_mode(mode_id))

    def set_config_option(self, config_id: str, value: str | bool) -> Sequence[SessionConfigOption]:
        """Change one option; the answer, and `config_options` from now on, is the whole list."""
        return self._run(self._session.set_config_option(config_id, value))

    def close(self) -> None:
        """Free the session at the agent; a running turn is cancelled."""
        self._run(self._session.close())


class SyncPromptTurn:
    """Made by `SyncSession.prompt`. Iterate once, or take the result.

    Leaving the loop early, by `break`, an exception or Ctrl-C, cancels the turn.
    """

    __slots__ = ("_run", "_turn")

    def __init__(self, inner: AwaitedPrompt, run: Runner) -> None:
        self._turn = inner
        self._run = run

    @property
    def result(self) -> TurnResult:
        """How the turn ended. Of a turn that nobody iterates over, it waits for the end."""
        if not self._turn._started:
            for _ in self:
                pass
        return self._turn.result

    def __iter__(self) -> Iterator[SessionUpdate]:
        return iterate(aiter(self._turn), self._run)

    def texts(self) -> Iterator[str]:
        """What the agent says, piece by piece, and nothing else; the turn is iterated as a whole."""
        return iterate(self._turn.texts(), self._run)
