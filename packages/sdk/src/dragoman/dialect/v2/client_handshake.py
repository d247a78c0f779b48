"""Translates the handshake between a v2 client and a v1 agent, both ways.

The agent is told what every v2 client can do, and that this one lends neither files nor terminals. The client
is told of sessions whatever the agent offers: what v2 takes for granted and the agent lacks is made up for.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, rename_members
from dragoman.dialect.v2.to_v2.ledger_notes import NO_SSE, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, is_object, is_text, is_texts

VERSION = 2

_INFO = {**dict.fromkeys(("name", "title", "version"), is_text), "_meta": is_object}
_METHOD = {
    **dict.fromkeys(("methodId", "type", "name", "description"), is_text),
    "args": is_texts,
    "env": is_object,
    "_meta": is_object,
}
UNSTABLE = ("fork", "archive", "status", "title", "systemPrompt")
"""Abilities of sessions that are unstable in both versions under the same names."""


class AgentAbilities(Struct, frozen=True, kw_only=True):
    """The v1 agent's capabilities that v2 takes for granted."""

    load: bool = False
    resume: bool = False
    list: bool = False
    close: bool = False
    delete: bool = False
    logout: bool = False
    logins: frozenset[str] = frozenset()
    """The login methods that the client may use; logins in a terminal are excluded."""
    has_logins: bool = False
    keys: bool = False
    """Whether the agent is a hub, which repeats a prompt under the prompt's own key."""


def abilities(result: Object) -> AgentAbilities:
    offers = as_object(result.get("agentCapabilities"))
    session = as_object(offers.get("sessionCapabilities"))
    methods = [as_object(method) for method in as_list(result.get("authMethods"))]
    return AgentAbilities(
        load=offers.get("loadSession") is True,
        resume=is_object(session.get("resume")),
        list=is_object(session.get("list")),
        close=is_object(session.get("close")),
        delete=is_object(session.get("delete")),
        logout=is_object(as_object(offers.get("auth")).get("logout")),
        logins=frozenset(as_text(method.get("id")) for method in methods if method.get("type") != "terminal")
        - {""},
        has_logins=bool(methods),
        keys="hub" in as_object(as_object(result.get("_meta")).get("dragoman")),
    )


def initialize_in_v1(params: Object) -> Object:
    """Return the `initialize` request for the agent."""
    capabilities = as_object(params.get("capabilities"))
    terminal = is_object(as_object(capabilities.get("auth")).get("terminal"))
    offers: Object = {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "auth": {"terminal": terminal},
        "plan": {},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "subagents": {},
    }
    for name in ("elicitation", "_meta"):
        if is_object(capabilities.get(name)):
            offers[name] = capabilities[name]
    v1_params: Object = {"protocolVersion": 1, "clientCapabilities": offers}
    info = as_object(params.get("info"))
    if is_text(info.get("name")) and is_text(info.get("version")):
        v1_params["clientInfo"] = info
    if is_object(params.get("_meta")):
        v1_params["_meta"] = params["_meta"]
    return v1_params


def initialized_in_v2(result: Object, writer: V2Writer) -> Object:
    """Return the answer to the client's `initialize`."""
    info = writer.clean(as_object(result.get("agentInfo")), _INFO)
    offers = as_object(result.get("agentCapabilities"))
    v2_result: Object = {
        "protocolVersion": VERSION,
        "info": {"name": "unknown", "version": "unknown", **info},
        "capabilities": _capabilities(offers, writer),
    }
    methods = [_method(entry, writer) for entry in as_list(result.get("authMethods"))]
    if methods:
        v2_result["authMethods"] = [method for method in methods if method is not None]
    if is_object(result.get("_meta")):
        v2_result["_meta"] = result["_meta"]
    return v2_result


def _capabilities(offers: Object, writer: V2Writer) -> Object:
    prompt = as_object(offers.get("promptCapabilities"))
    session = as_object(offers.get("sessionCapabilities"))
    mcp = as_object(offers.get("mcpCapabilities"))
    if mcp.get("sse") is True:
        writer.note(NO_SSE)
    session_offers: Object = {
        "prompt": _flags(prompt, "image", "audio", "embeddedContext"),
        "mcp": {"stdio": {}, **_flags(mcp, "http", "acp")},
    }
    for name in ("delete", "additionalDirectories", *UNSTABLE):
        if is_object(session.get(name)):
            session_offers[name] = session[name]
    capabilities: Object = {"session": session_offers}
    status = as_object(offers.get("auth")).get("status")
    if is_object(status):
        capabilities["auth"] = {"status": status}
    for name in ("providers", "_meta"):
        if is_object(offers.get(name)):
            capabilities[name] = offers[name]
    return capabilities


def _flags(fields: Object, *names: str) -> Object:
    """v1 says true where v2 puts an object."""
    flags: Object = {name: {} for name in names if fields.get(name) is True}
    return {**flags, "_meta": fields["_meta"]} if is_object(fields.get("_meta")) else flags


def _method(value: Json, writer: V2Writer) -> Object | None:
    fields = rename_members(as_object(value), {"id": "methodId"})
    kind = fields.get("type") or "agent"
    if kind not in ("agent", "terminal"):  # v2 leaves the list of types open
        return fields if is_text(fields.get("methodId")) and is_text(fields.get("name")) else None
    method = {**writer.clean(fields, _METHOD), "type": kind}
    if not ("methodId" in method and "name" in method):
        writer.note(WRONG)
        return None
    env = method.pop("env", None)
    if kind == "agent":
        method.pop("args", None)
    elif env is not None:
        method["env"] = [{"name": name, "value": value} for name, value in env.items() if is_text(value)]
    return method
