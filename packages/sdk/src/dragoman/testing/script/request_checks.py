"""Checks every request to an agent before its script handles it: the shape, and the advertised capabilities.

A script decides what is answered to a good request. That a bad one is refused, with the code that the
protocol names for it and without a word of what it said, is nothing that a script should have to say.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.sdk.capabilities import AGENT_REQUESTS
from dragoman.sdk.inbound import read_params
from dragoman.testing.script.peer import plain_data
from dragoman.wire.codes import invalid_params
from dragoman.wire.envelope import Json

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests that bring a session to life."""

STORED = frozenset(
    {"session/delete", "session/archive", "session/unarchive", "session/status", "session/set_title"}
)
"""Requests that may name a session that is not open here."""

_CONTENT: tuple[tuple[type, str, str], ...] = (
    (v1.ImageContent, "image", "image"),
    (v1.AudioContent, "audio", "audio"),
    (v1.EmbeddedResource, "embeddedContext", "resource"),
)


def check_params(method: str, raw: Raw | None, capabilities: Mapping[str, Json]) -> Json:
    """The params as plain data; raises `ErrorAnswer` for what no agent of these capabilities takes."""
    if method in AGENT_REQUESTS:
        request: Json = read_params(raw, AGENT_REQUESTS[method].params)
        if method in OPENING:
            _check_setup(request, capabilities)
        elif method == "session/prompt":
            _check_blocks(request, _part(capabilities, "promptCapabilities"))
    try:
        return plain_data(raw)
    except ValueError:
        raise invalid_params("the params cannot be read") from None


def needs_session(method: str) -> bool:
    """Whether the session that such a request names must be open."""
    return method in AGENT_REQUESTS and method not in OPENING | STORED


def _check_setup(request: Json, capabilities: Mapping[str, Json]) -> None:
    folders = list(request.additional_directories or ())
    if folders and "additionalDirectories" not in _part(capabilities, "sessionCapabilities"):
        raise invalid_params("additionalDirectories were not advertised")
    for folder in (request.cwd, *folders):
        if not (folder.startswith(("/", "\\\\")) or folder[1:3] in (":\\", ":/")):
            raise invalid_params("cwd and additionalDirectories must be absolute paths")
    mcp_capabilities = _part(capabilities, "mcpCapabilities")
    for server in request.mcp_servers or ():
        kind = server.__struct_config__.tag
        if kind in ("http", "sse", "acp") and not mcp_capabilities.get(kind):
            raise invalid_params(f"MCP servers of type {kind} were not advertised")


def _check_blocks(request: v1.PromptRequest, prompt_capabilities: Mapping[str, Json]) -> None:
    for block in request.prompt:
        if isinstance(block, Unknown):
            raise invalid_params("the prompt holds a content block of an unknown type")
        for kind, capability, name in _CONTENT:
            if isinstance(block, kind) and not prompt_capabilities.get(capability):
                raise invalid_params(f"content of type {name} was not advertised")


def _part(capabilities: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    part = capabilities.get(name)
    return part if isinstance(part, Mapping) else {}
