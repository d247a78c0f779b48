"""Our extension methods for files: `_dragoman/fs/stat`, `_dragoman/fs/glob`, `_dragoman/fs/read_range`.

Plain data in and out, checked on the way in; docs/workspace.md describes it. The same rules hold as for the
protocol's own methods: each request names its session, and paths stay within that session's roots.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from dragoman.decoders import convert
from dragoman_local.workspace.lent_files import LentFiles
from dragoman_local.workspace.refusals import bad_path

Sessions: TypeAlias = Callable[[str, object], LentFiles]
"""Returns the files of a session, by its id and the agent that asks."""

Handler: TypeAlias = Callable[[Any, object], Awaitable[dict[str, Any]]]

P = TypeVar("P")

Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]


class StatParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of `_dragoman/fs/stat`."""

    session_id: str
    path: str


class GlobParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of `_dragoman/fs/glob`."""

    session_id: str
    pattern: str
    hidden: bool = False
    limit: Count | None = None


class RangeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of `_dragoman/fs/read_range`."""

    session_id: str
    path: str
    offset: Count | None = None
    limit: Count | None = None
    if_version: str | None = None


def handlers(sessions: Sessions) -> dict[str, Handler]:
    """The extension methods, by name."""

    async def stat(params: object, agent: object) -> dict[str, Any]:
        request = _read(params, StatParams)
        status = await sessions(request.session_id, agent).stat(request.path)
        answer: dict[str, Any] = {"exists": status.exists, "isDirectory": status.is_folder}
        if status.exists:
            answer["modifiedAt"] = datetime.fromtimestamp(status.modified_at, UTC).isoformat()
            if not status.is_folder:
                answer["size"] = status.size
        return answer

    async def glob(params: object, agent: object) -> dict[str, Any]:
        request = _read(params, GlobParams)
        lent = sessions(request.session_id, agent)
        result = await lent.search(request.pattern, hidden=request.hidden, limit=request.limit)
        return {"matches": result.matches, "truncated": result.is_truncated}

    async def read_range(params: object, agent: object) -> dict[str, Any]:
        request = _read(params, RangeParams)
        offset = request.offset or 0
        read = await sessions(request.session_id, agent).read_range(
            request.path, offset=offset, limit=request.limit, if_version=request.if_version
        )
        return {
            "content": base64.b64encode(read.data).decode("ascii"),
            "version": read.version,
            "size": read.size,
            "eof": offset + len(read.data) >= read.size,
        }

    return {
        "_dragoman/fs/stat": stat,
        "_dragoman/fs/glob": glob,
        "_dragoman/fs/read_range": read_range,
    }


def _read(params: object, kind: type[P]) -> P:
    try:
        return convert(params, kind)
    except msgspec.ValidationError as error:
        raise bad_path(str(error)) from None
