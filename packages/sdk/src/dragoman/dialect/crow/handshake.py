"""The first exchange, both ways: `read_…` from crow to v1, `write_…` from v1 to crow.

Crow tells its prompt capabilities as text, image and resource; v1 takes text for granted and calls the last
one embedded context. What the other side has no methods for is not promised to it.
"""

from __future__ import annotations

from dragoman.dialect.crow.ledger_notes import (
    AGENT_ABILITIES,
    AUDIO,
    CLIENT_ABILITIES,
    DEFAULTS,
    INFO,
    KEPT,
    LOGIN,
    NO_TEXT,
    VERSION,
)
from dragoman.dialect.crow.names import NAME, fits, with_original
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.originals import drop_original, restore

_PROMPT = {"image": "image", "resource": "embeddedContext"}
_MCP = ("http", "sse")


def read_hello(params: Object, note: Note) -> Object:
    """Read the client's `initialize`."""
    hello: Object = {"protocolVersion": _version(params.get("protocol_version"), note)}
    hello["clientCapabilities"] = {}  # it could not be asked for any of them
    if as_object(params.get("client_capabilities")):
        note(CLIENT_ABILITIES)
    if (info := _info(params.get("client_info"), note)) is not None:
        hello["clientInfo"] = info
    return _with_original(hello, params, write_hello(hello, ignore_note), note)


def write_hello(params: Object, note: Note) -> Object:
    original = restore(params, NAME, lambda raw: read_hello(as_object(raw), ignore_note))
    if type(original) is dict:
        return original
    if drop_original(as_object(params.get("clientCapabilities"))):
        note(CLIENT_ABILITIES)
    hello: Object = {"protocol_version": params.get("protocolVersion"), "client_capabilities": {}}
    hello["client_info"] = _some_info(params.get("clientInfo"), note)
    return hello


def read_welcome(result: Object, note: Note) -> Object:
    """Read the agent's answer to `initialize`."""
    able = as_object(result.get("agent_capabilities"))
    prompt = as_object(able.get("prompt_capabilities"))
    mcp = as_object(able.get("mcp_capabilities"))
    if prompt.get("text") is False:
        note(NO_TEXT)
    takes = {name: prompt.get(crow) is True for crow, name in _PROMPT.items()}
    welcome: Object = {
        "protocolVersion": _version(result.get("protocol_version"), note),
        "agentCapabilities": {
            "promptCapabilities": {**takes, "audio": prompt.get("audio") is True},
            "mcpCapabilities": {name: mcp.get(name) is True for name in _MCP},
            "loadSession": able.get("load_session") is True,
        },
        "authMethods": [],
    }
    if (info := _info(result.get("agent_info"), note)) is not None:
        welcome["agentInfo"] = info
    return _with_original(welcome, result, write_welcome(welcome, ignore_note), note)


def write_welcome(result: Object, note: Note) -> Object:
    original = restore(result, NAME, lambda raw: read_welcome(as_object(raw), ignore_note))
    if type(original) is dict:
        return original
    able = as_object(result.get("agentCapabilities"))
    if drop_original({name: value for name, value in able.items() if value and name not in _NAMED}):
        note(AGENT_ABILITIES)
    if as_list(result.get("authMethods")):
        note(LOGIN)
    return {
        "protocol_version": result.get("protocolVersion"),
        "agent_capabilities": {
            "prompt_capabilities": _written_prompt(as_object(able.get("promptCapabilities")), note),
            "mcp_capabilities": {
                name: as_object(able.get("mcpCapabilities")).get(name) is True for name in _MCP
            },
            "load_session": able.get("loadSession") is True,
        },
        "agent_info": _some_info(result.get("agentInfo"), note),
    }


_NAMED = frozenset({"promptCapabilities", "mcpCapabilities", "loadSession"})


def _written_prompt(prompt: Object, note: Note) -> Object:
    capabilities = {"text": True, **{crow: prompt.get(name) is True for crow, name in _PROMPT.items()}}
    if prompt.get("audio") is True:
        note(AUDIO)
        capabilities["audio"] = True
    return capabilities


def _version(version: Json, note: Note) -> int:
    if type(version) is int and 0 <= version <= 0xFFFF:
        return version
    note(VERSION)
    return 1


def _info(info: Json, note: Note) -> Object | None:
    members = {name: value for name, value in as_object(info).items() if name in ("name", "title", "version")}
    if members and fits(members, "Implementation"):
        return members
    if info is not None:
        note(INFO)
    return None


def _some_info(info: Json, note: Note) -> Object:
    members = drop_original(as_object(info))
    if fits(members, "Implementation"):
        return members
    note(INFO)
    return {"name": "unknown", "version": "unknown"}


def _with_original(fields: Object, original: Object, back: Object, note: Note) -> Object:
    """With the original, if it says more than would come back of it."""
    if back == original:
        return fields
    note(KEPT if original.keys() - back.keys() else DEFAULTS)
    return with_original(fields, original)
