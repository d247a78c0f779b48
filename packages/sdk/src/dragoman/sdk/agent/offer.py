"""The capabilities that an agent advertises: exactly those that it has handlers for."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, to_builtins

from dragoman.decoders import convert
from dragoman.schema import v1
from dragoman.schema.steering import announced_steering
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.capabilities import Capabilities, peer_capabilities

# The handler that stands behind each member of `sessionCapabilities`.
_SESSION_FEATURES = {
    "list": "session/list",
    "delete": "session/delete",
    "fork": "session/fork",
    "archive": "session/archive",
    "status": "session/status",
    "title": "session/set_title",
    "resume": "session/resume",
}


def offer(agent: Agent, request: v1.InitializeRequest, version: int) -> v1.InitializeResponse:
    """The answer to `initialize`."""
    return v1.InitializeResponse(
        protocol_version=version,
        agent_info=v1.Implementation(
            name=agent.name, version=agent.version, title=UNSET if agent.title is None else agent.title
        ),
        agent_capabilities=convert(_capabilities(agent), v1.AgentCapabilities),
        auth_methods=_auth_methods(agent, peer_capabilities(request.client_capabilities)),
        meta=_meta(agent, request) or UNSET,
    )


def _meta(agent: Agent, request: v1.InitializeRequest) -> dict[str, Any]:
    ours: dict[str, Any] = {"tools": to_builtins(agent.tools)} if agent.tools else {}
    if _is_our_client(request):
        # A turn that was answered can say nothing more (`TurnOver`), so nobody has to wait for it.
        ours["answersLast"] = True
    return {
        **({"dragoman": ours} if ours else {}),
        **(announced_steering() if agent.is_steerable else {}),
    }


def _is_our_client(request: v1.InitializeRequest) -> bool:
    """Whether the client knows what we say in `_meta`: other clients are not bothered with it."""
    capabilities = request.client_capabilities
    return (
        isinstance(capabilities, v1.ClientCapabilities)
        and isinstance(capabilities.meta, dict)
        and "dragoman" in capabilities.meta
    )


def _capabilities(agent: Agent) -> dict[str, Any]:
    has = agent.handlers
    sessions: dict[str, Any] = {name: {} for name, method in _SESSION_FEATURES.items() if method in has}
    sessions["close"] = {}  # the SDK itself knows how to end a session
    if agent.additional_directories:
        sessions["additionalDirectories"] = {}
    auth: dict[str, Any] = {
        name: {} for name, method in (("logout", "logout"), ("status", "auth/status")) if method in has
    }
    tree: dict[str, Any] = {
        "loadSession": "session/load" in has,
        "promptCapabilities": {
            "image": agent.image,
            "audio": agent.audio,
            "embeddedContext": agent.embedded_context,
        },
        "mcpCapabilities": {"http": agent.mcp_http, "sse": agent.mcp_sse},
        "sessionCapabilities": sessions,
        "auth": auth,
    }
    if "providers/list" in has:
        tree["providers"] = {}
    return tree


def _auth_methods(agent: Agent, client: Capabilities) -> list[Any]:
    # A method that needs a terminal is shown only to a client that can open one.
    may_open_terminal = "auth.terminal" in client
    return [
        method
        for method in agent.auth_methods
        if may_open_terminal or getattr(method.__struct_config__, "tag", None) != "terminal"
    ]
