"""A session as the client sees it: prompts go in, typed updates come out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.schema.codec import write
from dragoman.schema.v1 import (
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    ContentBlock,
    SessionConfigOption,
    SessionModeState,
    SessionUpdate,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
    TextContent,
)
from dragoman.sdk.prompt import PromptTurn

if TYPE_CHECKING:
    from dragoman.sdk.agent_handle import AgentHandle

LATE_UPDATES = 10_000
"""Updates outside any turn that are kept for whoever looks at `late`; the oldest go first."""


class Session:
    """Made by `new_session`, `load_session`, `resume_session` or `fork_session`."""

    __slots__ = ("_late", "agent", "arrived", "cancelling", "config_options", "cwd", "id", "modes", "turn")

    def __init__(self, agent: AgentHandle, session_id: str, *, cwd: str) -> None:
        self.agent = agent
        self.id = session_id
        self.cwd = cwd
        self.modes: SessionModeState | None = None
        self.config_options: Sequence[SessionConfigOption] = ()
        self._late: deque[SessionUpdate] | None = None
        self.turn: PromptTurn | None = None
        self.cancelling = False
        self.arrived: list[SessionUpdate] = []
        """Updates of the block that is being read; the client side appends here and hands over at the
        block's end.
        """

    @property
    def late(self) -> deque[SessionUpdate]:
        """Updates that arrived outside any turn: before the first, between two, or after an answer."""
        if self._late is None:
            self._late = deque(maxlen=LATE_UPDATES)
        return self._late

    def prompt(self, *content: str | ContentBlock, silence: float | None = None) -> PromptTurn:
        """One turn. Iterate over it for the updates, or await it for the result; nothing is sent before
        that.
        """
        blocks = [TextContent(text=block) if isinstance(block, str) else block for block in content]
        return PromptTurn(self, blocks, silence=silence)

    async def cancel(self) -> None:
        """Stop the running turn. Open permission requests are answered with `cancelled`."""
        self.cancelling = self.turn is not None
        self.agent.side.cancel_permissions(self.id)
        self.agent.link.notify("session/cancel", write(CancelNotification(session_id=self.id)))
        self.agent.link.outbox.flush()

    async def set_mode(self, mode_id: str) -> None:
        request = SetSessionModeRequest(session_id=self.id, mode_id=mode_id)
        await self.agent.ask("session/set_mode", request, SetSessionModeResponse, lane=self.id)

    async def set_config_option(self, config_id: str, value: str | bool) -> Sequence[SessionConfigOption]:
        """Change one option; the answer, and `config_options` from now on, is the whole list."""
        request: dict[str, Any] = {"sessionId": self.id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            request["type"] = "boolean"
        answer = await self.agent.ask(
            "session/set_config_option", request, SetSessionConfigOptionResponse, lane=self.id
        )
        self.config_options = answer.config_options
        return answer.config_options

    async def close(self) -> None:
        """Free the session at the agent; a running turn is cancelled."""
        self.agent.side.cancel_permissions(self.id)
        request = CloseSessionRequest(session_id=self.id)
        await self.agent.ask("session/close", request, CloseSessionResponse, lane=self.id)
        self.agent.side.sessions.pop(self.id, None)

    @property
    def backlog(self) -> int:
        """Bytes of updates that the reader of the running turn has not taken yet."""
        return 0 if self.turn is None else self.turn.backlog

    def hand_over(self, size: int) -> None:
        """A block has been read; its updates for this session, `size` bytes on the wire, go to whom they
        concern.
        """
        arrived, self.arrived = self.arrived, []
        if self.turn is not None:
            self.turn.take(arrived, size)
        else:
            self.late.extend(arrived)

    def adopt(self, updates: Sequence[SessionUpdate]) -> None:
        """Updates that came before anybody knew this session."""
        if updates:
            self.late.extend(updates)
