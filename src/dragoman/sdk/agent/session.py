"""A session as the agent keeps it: where it works, and whatever the agent wants to remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dragoman.schema import v1
from dragoman.sdk.agent.lender import Lender
from dragoman.sdk.agent.turn import Turn

if TYPE_CHECKING:
    from dragoman.sdk.agent.client_handle import ClientHandle


class AgentSession(Lender):
    """Lives from `session/new` (or load, resume, fork) to `session/close` or the end of the connection.

    It can speak outside turns too: commands, modes, titles, usage.

        @agent.prompt
        async def reply(turn: Turn) -> None:
            count = turn.session.data["count"] = turn.session.data.get("count", 0) + 1
            await turn.session.title(f"{count} prompts in {turn.session.cwd}")

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("additional_directories", "closing", "cwd", "data", "id", "mcp_servers")

    turn_type: ClassVar[type[Turn]] = Turn
    """What its prompts are handled as."""

    def __init__(
        self,
        client: ClientHandle,
        session_id: str,
        *,
        cwd: str,
        additional_directories: list[str],
        mcp_servers: list[v1.McpServer],
    ) -> None:
        super().__init__(client, session_id)
        self.id = session_id
        self.cwd = cwd
        self.additional_directories = additional_directories
        self.mcp_servers = mcp_servers
        self.closing = False  # `session/close` is under way: nothing new is begun in it
        self.data: dict[str, Any] = {}
        """The agent's own memory of this session."""

    @property
    def roots(self) -> list[str]:
        """All folders that the session works in; `cwd` is the first."""
        return [self.cwd, *self.additional_directories]
