"""The message by which a remote machine requests a decision here about its agent's next action.

Whoever lends files and terminals on the other side asks here before each access, with the extension method
`_dragoman/access/permit`: the params are the access, links resolved there; an answer permits it, an error
refuses it. docs/workspace.md describes it. What is said of the other side's files is as true as the other
side is; nothing here looks at a disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec

from dragoman.decoders import convert
from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.lent_files import Access, Guard
from dragoman_local.workspace.refusals import INVALID_PARAMS

PERMIT_METHOD = "_dragoman/access/permit"

F = TypeVar("F", bound=Callable[..., Any])


class TakesExtensions(Protocol):
    """A client on which extension methods can be registered."""

    def extension(self, method: str) -> Callable[[F], F]: ...


def write_access(access: Access) -> dict[str, Any]:
    """Return the params of a request for permission."""
    params: dict[str, Any] = msgspec.to_builtins(access)
    params["sessionId"] = params.pop("session_id")
    return params


def read_access(params: object) -> Access:
    """Read the access in the params; raises `ErrorAnswer` if they are invalid."""
    if not isinstance(params, dict):
        raise ErrorAnswer(INVALID_PARAMS, "Invalid params: an access is an object")
    members = {("session_id" if name == "sessionId" else name): value for name, value in params.items()}
    try:
        access = convert(members, Access)
    except msgspec.ValidationError as error:
        raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: {error}") from None
    if (access.kind == "run") != (access.command is not None):
        raise ErrorAnswer(INVALID_PARAMS, "Invalid params: a command belongs to a run, and to nothing else")
    return access


def permit_handler(guard: Guard) -> Callable[[object, object], Awaitable[dict[str, Any]]]:
    """Return the handler of requests from the other side: the guard decides."""

    async def permit(params: object, agent: object) -> dict[str, Any]:
        await guard(read_access(params))
        return {}

    return permit


def serve_decisions(client: TakesExtensions, guard: Guard) -> None:
    """Let a client decide accesses on the remote machine."""
    client.extension(PERMIT_METHOD)(permit_handler(guard))
