"""What a tool works with during one call: the turn, the call's report, and the session's places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.agents.code.permission import PermissionWish, ToolReport, permit
from dragoman.agents.code.tools.places import TurnPlaces

if TYPE_CHECKING:
    from dragoman import KitTurn
    from dragoman.agents.code.conversation import CoderConversation


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """Made anew for each call."""

    turn: KitTurn[CoderConversation]
    report: ToolReport
    places: TurnPlaces

    @property
    def conversation(self) -> CoderConversation:
        return self.turn.session.conversation

    async def begin(self) -> None:
        """Tell the client that it runs. After `permit` that has been told."""
        await self.report.progress(status="in_progress")

    async def permit(self, wish: PermissionWish) -> None:
        """Returns if it may be done; raises `ToolDenied` if not."""
        await permit(self.turn, self.report, self.conversation.grants, wish)
