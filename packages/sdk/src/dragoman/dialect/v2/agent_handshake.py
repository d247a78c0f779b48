"""The handshake between a v1 client and a v2 agent, with the capabilities of each translated for the other.

Our offer carries the members of both versions: an agent of v1 reads its own, answers 1, and is left alone.
"""

from __future__ import annotations

from msgspec import Struct, UnsetType

from dragoman.dialect.message import Id, Message, Object, as_list, as_object, as_text, refusal, without
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, fitting
from dragoman.wire.codes import INVALID_REQUEST

VERSION = 2

_UNKNOWN = {"name": "unknown", "version": "unknown"}
_NAMED = ("delete", "additionalDirectories", "systemPrompt", "fork", "archive", "status", "title", "inject")


class ClientAbilities(Struct, frozen=True, kw_only=True):
    """Capabilities of the v1 client that v2 takes for granted or has no field for."""

    booleans: bool = False
    notices: bool = False
    compaction: bool = False
    plans: bool = False
    subagents: bool = False
    tools: tuple[str, ...] = ()
    """The client's files and terminals, by their names as tools."""


class V2Welcome(Struct, frozen=True, kw_only=True):
    """The parts of the v2 agent's answer to `initialize` that are needed later."""

    stdio: bool = False
    """Whether the agent starts MCP servers."""


def offer(params: Object) -> Object:
    """Return the client's `initialize` for an agent of either version."""
    client_offers = as_object(params.get("clientCapabilities"))
    capabilities: Object = {}
    if type(client_offers.get("elicitation")) is dict:
        capabilities["elicitation"] = client_offers["elicitation"]
    if as_object(client_offers.get("auth")).get("terminal") is True:
        capabilities["auth"] = {"terminal": {}}
    info = as_object(params.get("clientInfo"))
    if not (fits(info.get("name"), str) and fits(info.get("version"), str)):
        info = _UNKNOWN
    return {**params, "protocolVersion": VERSION, "info": info, "capabilities": capabilities}


def abilities(params: Object) -> ClientAbilities:
    client_offers = as_object(params.get("clientCapabilities"))
    session, files = as_object(client_offers.get("session")), as_object(client_offers.get("fs"))
    tools = {
        "read_text_file": files.get("readTextFile") is True,
        "write_text_file": files.get("writeTextFile") is True,
        "run_command": client_offers.get("terminal") is True,
    }
    return ClientAbilities(
        booleans=_has(as_object(session.get("configOptions")), "boolean"),
        notices=_has(session, "notices"),
        compaction=_has(session, "compaction"),
        plans=_has(client_offers, "plan"),
        subagents=_has(client_offers, "subagents"),
        tools=tuple(name for name, there in tools.items() if there),
    )


def speaks_v1(result: Object) -> bool:
    """Whether this is the answer of a v1 agent, which needs no translation."""
    version = result.get("protocolVersion")
    return (type(version) is int and version == 1) or (version != VERSION and "agentCapabilities" in result)


def welcome(result: Object) -> V2Welcome:
    session = as_object(as_object(result.get("capabilities")).get("session"))
    return V2Welcome(stdio=_has(as_object(session.get("mcp")), "stdio"))


def convert_introduction(result: Object, report: LossReporter) -> Object:
    """Translate the v2 agent's answer into v1."""
    offers = as_object(result.get("capabilities"))
    methods = [_method(as_object(item), report) for item in as_list(result.get("authMethods"))]
    capabilities = _capabilities(offers)
    auth: Object = {"logout": {}} if methods else {}
    capabilities["auth"] = {**fitting(as_object(offers.get("auth")), {"_meta": dict}, report), **auth}
    answer: Object = {
        **without(result, "info", "capabilities", "authMethods", "protocolVersion"),
        "protocolVersion": 1,
        "agentCapabilities": capabilities,
        "authMethods": [method for method in methods if method is not None],
    }
    info = as_object(result.get("info"))
    if fits(info.get("name"), str) and fits(info.get("version"), str):
        answer["agentInfo"] = fitting(info, {"title": (str, type(None)), "_meta": dict}, report)
    return fitting(answer, {"_meta": dict}, report)


def version_refused(request_id: Id | UnsetType, error: Object) -> Message:
    """The error for an agent that supports neither version."""
    data = as_object(error.get("data"))
    versions = [number for number in as_list(data.get("supported")) if type(number) is int]
    version_names = ", ".join(map(str, versions)) or "others"
    why = f"This agent speaks neither version 1 nor version 2 of the protocol, but {version_names}"
    return refusal(request_id, INVALID_REQUEST, why, {"requested": VERSION, "supported": versions})


def _capabilities(offers: Object) -> Object:
    session = as_object(offers.get("session"))
    prompt, mcp = as_object(session.get("prompt")), as_object(session.get("mcp"))
    there = type(offers.get("session")) is dict
    features = {name: session[name] for name in _NAMED if type(session.get(name)) is dict}
    always: Object = {"list": {}, "resume": {}, "close": {}} if there else {}
    v1_capabilities: Object = {
        "loadSession": there,
        "promptCapabilities": {name: _has(prompt, name) for name in ("image", "audio", "embeddedContext")},
        "mcpCapabilities": {"http": _has(mcp, "http"), "sse": False},
        "sessionCapabilities": {**always, **features},
    }
    if _has(mcp, "acp"):
        v1_capabilities["mcpCapabilities"]["acp"] = True
    if type(offers.get("providers")) is dict:
        v1_capabilities["providers"] = offers["providers"]
    if type(offers.get("_meta")) is dict:
        v1_capabilities["_meta"] = offers["_meta"]
    return v1_capabilities


def _method(item: Object, report: LossReporter) -> Object | None:
    kind = item.get("type", "agent")
    if kind not in ("agent", "terminal"):
        # A v1 client takes a type that it does not know for the agent's own login.
        report.note_loss("a way to log in of a type that v1 does not know", "not offered")
        return None
    if not (fits(item.get("methodId"), str) and fits(item.get("name"), str)):
        report.note_loss("a malformed way to log in", "not offered")
        return None
    method = {"id": item["methodId"], **without(item, "methodId", "type", "env", "args")}
    method = fitting(method, {"description": (str, type(None)), "_meta": (dict, type(None))}, report)
    if kind == "agent":
        return method
    args = [arg for arg in as_list(item.get("args")) if type(arg) is str]
    env = [as_object(variable) for variable in as_list(item.get("env"))]
    values = {as_text(variable.get("name")): as_text(variable.get("value")) for variable in env}
    return {"type": "terminal", **method, "args": args, "env": values}


def _has(fields: Object, name: str) -> bool:
    """v2, and the newer parts of v1, say yes by an object."""
    return type(fields.get(name)) is dict
