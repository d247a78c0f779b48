"""A tool for the model: a name, a description, checked arguments and a function.

A tool either returns what the model is told, or raises a `ToolProblem`, whose text the model is told as well,
so that it can do better; `ToolDenied` is the problem that somebody did not want it. Anything else that is
raised is our own mistake, and `tool_calls` keeps it from ending the turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from dragoman.decoders import convert
from dragoman.schema import v1
from dragoman_app.agents.code.permission import PermissionWish, ToolProblem, ToolReport, permit
from dragoman_app.agents.code.tools.places import TurnPlaces

if TYPE_CHECKING:
    from dragoman import KitTurn
    from dragoman_app.agents.code.conversation import CoderConversation

P = TypeVar("P", bound=Struct)


@dataclass(frozen=True, kw_only=True)
class ToolPicture:
    """A picture in the result of a tool."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class ToolOutcome:
    """The result of a call."""

    text: str
    """The text for the model."""
    content: Sequence[v1.ToolCallContent | str] = ()
    """The content for the user; the text if there is no other."""
    pictures: Sequence[ToolPicture] = field(default_factory=tuple)


@dataclass(frozen=True, kw_only=True)
class CoderTool(Generic[P]):
    """One tool."""

    name: str
    description: str
    arguments: type[P]
    kind: v1.ToolKind
    title: Callable[[P], str]
    run: Callable[[ToolContext, P], Awaitable[ToolOutcome]]
    path: Callable[[P], str | None] = lambda _: None
    """Returns the file of a call, for editors that follow along."""
    changes: bool = False
    """Whether the tool changes files or runs commands. Such calls run one after another, and never in plan
    mode.
    """
    may_ask: bool = False
    """Whether a call that changes nothing may need permission; the call itself reports its start then."""
    is_shown: bool = True
    """Whether a call is reported to the client as a tool call."""

    def read(self, arguments: dict[str, Any]) -> P:
        """Return the checked arguments. Lenient: a model's `"3"` counts as 3."""
        try:
            return convert(arguments, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolProblem(f"The arguments do not fit: {error}") from None

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.arguments)


@cache
def schema_of(arguments: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without references, because not every model follows them.
    It is built once and shared: copy it before a change.
    """
    (root,), parts = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = _inline_references(root, parts)
    schema.pop("title", None)
    return schema


def _inline_references(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return _inline_references(parts[reference.rpartition("/")[2]], parts)
        return {name: _inline_references(value, parts) for name, value in schema.items()}
    return [_inline_references(item, parts) for item in schema] if isinstance(schema, list) else schema


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The context of one call."""

    turn: KitTurn[Any]
    """The coder's turn, or the turn of another agent whose tools need no permission."""
    report: ToolReport
    places: TurnPlaces

    @property
    def conversation(self) -> CoderConversation:
        conversation: CoderConversation = self.turn.session.conversation
        return conversation

    async def begin(self) -> None:
        """Report to the client that the call runs. `permit` has reported that already."""
        await self.report.progress(status="in_progress")

    async def permit(self, wish: PermissionWish) -> None:
        """Return if the action is allowed; otherwise raise `ToolDenied`."""
        await permit(self.turn, self.report, self.conversation.grants, wish)
