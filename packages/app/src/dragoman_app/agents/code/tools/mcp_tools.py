"""Makes the tools of the session's MCP servers available to the model.

Nobody here knows what such a tool does, so each call is asked about, and none is offered while only planning.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dragoman.schema import v1
from dragoman_app.agents.code.permission import PermissionWish, ToolProblem
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome, ToolPicture

if TYPE_CHECKING:
    from dragoman import KitSession, MountedTool

CHARACTERS = 60_000


class RawArguments(Struct):
    """Arguments as received: the MCP server checks them."""

    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ServerTool(CoderTool[RawArguments]):
    """A tool of an MCP server."""

    input_schema: dict[str, Any]

    def read(self, arguments: dict[str, Any]) -> RawArguments:
        return RawArguments(arguments)

    @property
    def schema(self) -> dict[str, Any]:
        return self.input_schema


async def mounted_tools(session: KitSession[Any]) -> list[ServerTool]:
    """Return all tools, after the servers have started."""
    return [] if session.mcp is None else [_tool(tool) for tool in await session.mcp.tools()]


def _tool(mounted_tool: MountedTool) -> ServerTool:
    async def run(work: ToolContext, raw: RawArguments) -> ToolOutcome:
        return await _call(work, mounted_tool, raw.arguments)

    return ServerTool(
        name=mounted_tool.full_name,
        description=mounted_tool.description,
        arguments=RawArguments,
        input_schema=mounted_tool.input_schema,
        kind="other",
        title=lambda _: f"{mounted_tool.server}: {mounted_tool.name}",
        run=run,
        changes=True,
    )


async def _call(work: ToolContext, tool: MountedTool, arguments: dict[str, Any]) -> ToolOutcome:
    mounts = work.turn.session.mcp
    if mounts is None:
        raise ToolProblem("The server is gone.")
    await work.permit(
        PermissionWish(kind="mcp", key=f"mcp:{tool.full_name}", always=f"Allow {tool.name} of {tool.server}")
    )
    result = await mounts.call(tool, arguments)
    text = result.text
    text = text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}\n(the rest is left out)"
    if result.is_error:
        raise ToolProblem(text or "The tool failed and said nothing.")
    content: list[v1.ToolCallContent | str] = [v1.Content(content=block) for block in result.content]
    return ToolOutcome(text or "(no text)", content, [*_pictures(result.content)])


def _pictures(content: list[v1.ContentBlock]) -> list[ToolPicture]:
    pictures: list[ToolPicture] = []
    for block in content:
        if isinstance(block, v1.ImageContent):
            try:
                data = base64.b64decode(block.data, validate=True)
            except (binascii.Error, ValueError):
                continue  # the text says that there was something; half a picture helps nobody
            pictures.append(ToolPicture(data=data, media_type=block.mime_type))
    return pictures
