"""The modes of the coder, and who decides: the mode, an earlier yes, or the user now.

Everything that changes a file or runs a command passes here, and reading what lies outside the session's
folders. What the user allowed for always holds for this session, in this process, and for exactly what was
shown: all ordinary edits, one command, one tool of an MCP server. An edit outside the session's folders, or
within `.git`, is asked about in every mode but `full`: it can make other programs run what was never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import UNSET

from dragoman import Choice, Modes
from dragoman.schema import v1

if TYPE_CHECKING:
    from dragoman import KitTurn


class ToolProblem(Exception):
    """The reason why a call failed, as text for the model."""


class ToolDenied(ToolProblem):
    """The user or the mode has denied the call."""


ASK, ACCEPT_EDITS, PLAN, FULL = "ask", "accept_edits", "plan", "full"


def modes() -> Modes:
    return Modes(
        Choice(ASK, "Ask", "Asks before every change and every command"),
        Choice(ACCEPT_EDITS, "Accept edits", "Edits project files without asking; asks before commands"),
        Choice(PLAN, "Plan only", "Reads and plans, changes nothing"),
        Choice(FULL, "Full", "Edits and runs commands without asking"),
    )


class ToolReport(Protocol):
    """A tool call that was announced to the client."""

    id: str
    title: str
    kind: v1.ToolKind
    raw_input: Any
    locations: list[v1.ToolCallLocation]

    async def progress(
        self,
        *,
        status: v1.ToolCallStatus | None = None,
        title: str | None = None,
        content: Sequence[v1.ToolCallContent | str] | None = None,
        locations: Sequence[v1.ToolCallLocation] | None = None,
        raw_output: Any = None,
    ) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PermissionWish:
    """An action that needs approval."""

    kind: Literal["read", "edit", "run", "mcp"]
    key: str
    """The key under which an answer for always is remembered."""
    always: str
    """The label of the option for always."""
    content: Sequence[v1.ToolCallContent] = ()
    """Content for the user beside the question, such as a diff."""
    risky: bool = False
    """Whether the action may do more than its description says."""


class SessionGrants:
    """The permissions for always in one session."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def decide(self, mode: str, wish: PermissionWish) -> bool | None:
        """Return True or False, or None to ask the user."""
        if mode == PLAN and wish.kind != "read":
            return False
        if mode == FULL:
            return True
        if wish.risky:
            return None
        if mode == ACCEPT_EDITS and wish.kind == "edit":
            return True
        return True if wish.key in self._keys else None

    def remember(self, wish: PermissionWish) -> None:
        self._keys.add(wish.key)


async def permit(turn: KitTurn[Any], report: ToolReport, grants: SessionGrants, wish: PermissionWish) -> None:
    """Return if the action is allowed; otherwise raise `ToolDenied`."""
    verdict = grants.decide(turn.session.mode_id, wish)
    if verdict is False:
        raise ToolDenied(
            "Only plans are made in this mode: nothing is changed and nothing is run. Describe it."
        )
    if verdict is None:
        permission = await turn.ask(_question(report, wish), _options(wish))
        if not permission:
            raise ToolDenied("The user did not allow this.")
        if permission.option is not None and permission.option.kind == "allow_always":
            grants.remember(wish)
    await report.progress(status="in_progress", content=wish.content or None)


def _question(report: ToolReport, wish: PermissionWish) -> v1.ToolCallUpdate:
    return v1.ToolCallUpdate(
        tool_call_id=report.id,
        title=report.title,
        kind=report.kind,
        status="pending",
        raw_input=UNSET if report.raw_input is None else report.raw_input,
        locations=report.locations or UNSET,
        content=list(wish.content) or UNSET,
    )


def _options(wish: PermissionWish) -> list[v1.PermissionOption]:
    once = [v1.PermissionOption(option_id="allow", name="Allow", kind="allow_once")]
    always = [v1.PermissionOption(option_id="always", name=wish.always, kind="allow_always")]
    reject = [v1.PermissionOption(option_id="reject", name="Reject", kind="reject_once")]
    return once + ([] if wish.risky else always) + reject
