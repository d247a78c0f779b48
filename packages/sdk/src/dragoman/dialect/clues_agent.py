"""Recognises an agent's dialect by its answer to a v1 `initialize` and by the messages of its first turn."""

from __future__ import annotations

import re

from msgspec import UNSET

from dragoman.dialect.clues_client import THREADS_METHODS, threads_clues
from dragoman.dialect.evidence import Clue, clue
from dragoman.dialect.message import Json, Message, Object, as_object, as_text, update_of
from dragoman.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND, VERSION_UNSUPPORTED

KINDS = frozenset(
    {
        "agent_message_chunk",
        "agent_thought_chunk",
        "available_commands_update",
        "current_mode_update",
        "plan",
        "tool_call",
        "tool_call_update",
        "user_message_chunk",
    }
)
"""The updates that exist in every dialect with v1's names."""


def introduction_clues(message: Message) -> list[Clue]:
    """Find clues in the answer to `initialize`."""
    if message.error is not UNSET:
        return _refusal(message)
    result = as_object(message.result)
    clues = _snake(result) + _koog(result) + _v1(result)
    version = result.get("protocolVersion")
    if type(version) is int and version >= 2:
        clues.append(clue("the agent answers version 2 or later", v2=1))
        clues += [clue(f"its answer has {name}", v2=1) for name in ("info", "capabilities") if name in result]
    elif "capabilities" in result:
        clues.append(clue("its answer has capabilities", haven=1, koog=1))
    return clues + _acpex(result)


def _snake(result: Object) -> list[Clue]:
    clues = []
    if "protocol_version" in result:
        clues.append(clue("its answer has protocol_version", crow=2))
    if "agent_capabilities" in result or "agent_info" in result:
        clues.append(clue("its answer has agent_capabilities or agent_info", crow=2))
    return clues


def _koog(result: Object) -> list[Clue]:
    clues = []
    if type(result.get("serverInfo")) is dict:
        clues.append(clue("its answer has serverInfo", koog=2))
    if type(as_object(result.get("capabilities")).get("tools")) is list:
        clues.append(clue("its answer has capabilities.tools", koog=2))
    return clues


def _v1(result: Object) -> list[Clue]:
    clues = []
    if type(result.get("agentInfo")) is dict:
        clues.append(clue("its answer has agentInfo", v1=2))
    capabilities = as_object(result.get("agentCapabilities"))
    if capabilities.keys() & {"loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities"}:
        clues.append(clue("agentCapabilities are those of v1", v1=1, acpex_wire=1))
    if capabilities.keys() & {"sessionCapabilities", "auth"}:
        clues.append(clue("agentCapabilities has what only v1 has", v1=2))
    return clues


def _acpex(result: Object) -> list[Clue]:
    clues = []
    capabilities = as_object(result.get("agentCapabilities"))
    if type(capabilities.get("sessions")) is dict:
        clues.append(clue("agentCapabilities has sessions", acpex=2, acpex_wire=2))
    if capabilities.keys() & {"mcp", "prompts"}:
        clues.append(clue("agentCapabilities has mcp or prompts", acpex=1))
    if "name" in as_object(result.get("meta")):
        clues.append(clue("its answer has meta with a name", acpex=2))
    if type(result.get("authenticationMethods")) is list:
        clues.append(clue("its answer has authenticationMethods", acpex=2))
    return clues


def _refusal(message: Message) -> list[Clue]:
    error = as_object(message.error)
    text = f"{as_text(error.get('message'))} {_words(error.get('data'))}"
    clues = []
    if error.get("code") == VERSION_UNSUPPORTED:
        clues.append(clue("the agent refuses version 1 with the code for it", v2=3))
    if re.search(r"\bprotocol_version\b", text):
        clues.append(clue("its refusal asks for protocol_version", crow=3))
    if error.get("code") == INVALID_PARAMS and re.search(r"\b(info|capabilities)\b", text):
        clues.append(clue("its refusal asks for info or capabilities", v2=2))
    if error.get("code") == METHOD_NOT_FOUND:
        clues.append(clue("the agent knows no initialize", threads=2))
    if message.jsonrpc is UNSET:
        clues.append(clue("its refusal has no jsonrpc", threads=2))
    return clues


def _words(data: Json, depth: int = 0) -> str:
    """All texts and names in the data of an error, which every library lays out in another way."""
    if type(data) is str:
        return data
    if depth > 4:  # deeper than any library goes
        return ""
    if type(data) is dict:
        return " ".join(f"{name} {_words(value, depth + 1)}" for name, value in data.items())
    if type(data) is list:
        return " ".join(_words(value, depth + 1) for value in data)
    return ""


def later_clues(message: Message, request_method: str) -> list[Clue]:
    """Clues in a message after the handshake; `request_method` is the method that an answer belongs to."""
    params = as_object(message.params)
    if message.method == "session/update":
        return _update(params, update_of(message))
    if message.method == "session/request_permission":
        if message.is_notification:
            return [clue("a permission request without an id", haven_legacy=3)]
        return _tool_call(as_object(params.get("toolCall")), "a permission request")
    if message.is_request and message.method in THREADS_METHODS:
        return threads_clues(message)
    if request_method == "session/prompt":
        return _turn_end(as_object(message.result))
    return []


def _update(params: Object, update: Object) -> list[Clue]:
    kind = update.get("sessionUpdate")
    if kind == "message":
        return [clue('an update "message"', koog=3)]
    if kind in ("tool_call", "tool_call_update"):
        return _tool_call(update, "a tool call")
    block = as_object(update.get("content"))
    if block.get("type") == "embedded_resource":
        return [clue("a block embedded_resource", haven=3)]
    if block.get("type") == "resource_link" and "name" not in block:
        return [clue("a resource link without a name", haven=1, acpex=1)]
    if "@type" in update:
        return [clue("an update has @type", crow=3)]
    if type(kind) is not str and type(update.get("kind")) is str:
        return [clue("an update has kind instead of sessionUpdate", acpex=3)]
    if update.get("type") in KINDS:
        if type(kind) is str and kind not in KINDS:
            return [clue("an update has its kind in type, and another word in sessionUpdate", acpex_wire=4)]
        if kind is None:
            return [clue("an update has type instead of sessionUpdate", haven_legacy=3, acpex_wire=1)]
    if "update" not in params and "type" in params:
        return [clue("an update without its wrapper", koog=2)]
    return []


def _tool_call(call: Object, where: str) -> list[Clue]:
    if "toolCallId" in call:
        return [clue(f"{where} has toolCallId", v1=3)]
    if "id" in call and "name" in call:
        return [clue(f"{where} has id and name", haven=3)]
    return []


def _turn_end(result: Object) -> list[Clue]:
    if "stop_reason" in result:
        return [clue("a turn ends with stop_reason", crow=3)]
    clues = []
    if result.get("stopReason") in ("done", "error", "length"):
        # Both forms of it say so. One that streamed nothing by then is settled now, and either reads this.
        clues.append(clue(f'a turn ends with "{result["stopReason"]}"', acpex=3, acpex_wire=2))
    elif type(result.get("content")) is list:
        clues.append(clue("the answer of a turn has content", koog=2, acpex=1))
    return clues
