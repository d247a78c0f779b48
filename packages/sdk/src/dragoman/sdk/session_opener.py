"""Opens sessions of a client: the parameters and docstrings that all handles of an agent share.

`AgentHandle` (awaited), `SyncAgentHandle` (blocking) and `SupervisedAgent` (restarted after a crash) take the
same parameters. They differ in what opening gives: a coroutine that ends with a session, or the session
itself. That is the type parameter; parameters, defaults and docstrings stand here once, where editors and
type checkers find them.

Specification: https://agentclientprotocol.com/protocol/v1/session-setup
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from dragoman.schema import v1

OpenedT = TypeVar("OpenedT", covariant=True)

OpenMethod: TypeAlias = Literal["new", "load", "resume"]


class SessionPlace(Struct, frozen=True, kw_only=True):
    """The folders and MCP servers of a session."""

    cwd: str
    mcp_servers: Sequence[v1.McpServer] = ()
    additional_directories: Sequence[str] = ()


class SessionOpener(Generic[OpenedT]):
    """Something that opens sessions of an agent."""

    __slots__ = ()

    def new_session(
        self,
        *,
        cwd: str,
        mcp_servers: Sequence[v1.McpServer] = (),
        additional_directories: Sequence[str] = (),
    ) -> OpenedT:
        """Create a session in the folder `cwd`, an absolute path (`session/new`)."""
        place = SessionPlace(cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories)
        return self.open_session(place, "new")

    def load_session(
        self,
        session_id: str,
        *,
        cwd: str,
        mcp_servers: Sequence[v1.McpServer] = (),
        additional_directories: Sequence[str] = (),
    ) -> OpenedT:
        """Reopen a stored session (`session/load`). The agent's replay goes to its `late` updates and to
        `Client.update`.
        """
        place = SessionPlace(cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories)
        return self.open_session(place, "load", session_id)

    def resume_session(
        self,
        session_id: str,
        *,
        cwd: str,
        mcp_servers: Sequence[v1.McpServer] = (),
        additional_directories: Sequence[str] = (),
    ) -> OpenedT:
        """Continue a stored session without a replay (`session/resume`)."""
        place = SessionPlace(cwd=cwd, mcp_servers=mcp_servers, additional_directories=additional_directories)
        return self.open_session(place, "resume", session_id)

    def open_session(self, place: SessionPlace, how: OpenMethod, session_id: str = "") -> OpenedT:
        """Open a session in one of the three ways; `session_id` is for loading or resuming one."""
        raise NotImplementedError
