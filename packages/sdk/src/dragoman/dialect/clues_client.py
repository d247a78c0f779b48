"""Recognises a client's dialect by its first requests.

A client of koog speaks plain v1, and one of haven-legacy says the same as one of haven; both differ only in
what they expect to hear. They cannot be told, only be named; but whoever begins exactly as koog's guide does
is answered in both.
"""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.evidence import Clue, clue
from dragoman.dialect.message import Message, Object, as_object

THREADS_ASKED_OF_AGENT = frozenset(
    {"getThreads", "createThread", "openThread", "getThreadEntries", "sendMessage"}
)
THREADS_ASKED_OF_CLIENT = frozenset(
    {"streamMessageChunk", "readTextFile", "readBinaryFile", "stat", "globSearch"}
)
THREADS_METHODS = THREADS_ASKED_OF_AGENT | THREADS_ASKED_OF_CLIENT


def client_clues(message: Message) -> list[Clue]:
    """Find all clues about a client's dialect in one of its messages."""
    if not message.is_request:
        return []
    params = as_object(message.params)
    match message.method:
        case "initialize":
            return _introduction(params)
        case "session/prompt":
            return _prompt(params)
        case "authenticate" if "data" in params:
            return [clue("authenticate carries data", acpex=2)]
        case str() as method if method in THREADS_METHODS:
            return threads_clues(message)
        case _:
            return []


def begins_as_koog(message: Message) -> bool:
    """Whether this is the `initialize` of koog's guide: all client capabilities, and no name."""
    params = as_object(message.params)
    lends = as_object(params.get("clientCapabilities"))
    return (
        message.method == "initialize"
        and params.keys() == {"protocolVersion", "clientCapabilities"}
        and lends.keys() == {"fs", "terminal"}
        and as_object(lends["fs"]).keys() == {"readTextFile", "writeTextFile"}
    )


def threads_clues(message: Message) -> list[Clue]:
    """Find clues to the thread protocol: its methods without `jsonrpc`. One of the two
    alone proves nothing.
    """
    if message.jsonrpc is not UNSET:
        return []
    return [
        clue("no jsonrpc in the envelope", threads=1),
        clue("a method of the thread protocol", threads=1),
    ]


def _introduction(params: Object) -> list[Clue]:
    clues: list[Clue] = []
    if "protocol_version" in params:
        clues.append(clue("initialize has protocol_version", crow=2))
    if "client_capabilities" in params or "client_info" in params:
        clues.append(clue("initialize has client_capabilities or client_info", crow=1))
    if "clientCapabilities" in params:
        clues.append(clue("initialize has clientCapabilities", v1=1))
        clues += _v1_capabilities(as_object(params["clientCapabilities"]))
    if "clientInfo" in params:
        clues.append(clue("initialize has clientInfo", v1=1))
    version = params.get("protocolVersion")
    if type(version) is int and version >= 2:
        clues.append(clue("initialize offers version 2 or later", v2=1))
        if "info" in params:
            clues.append(clue("initialize has info", v2=1))
        if type(params.get("capabilities")) is dict:
            clues.append(clue("initialize has capabilities", v2=1))
    elif type(params.get("info")) is dict:
        clues.append(clue("initialize has info as in v2, and asks for an earlier version", v1=2))
    elif type(params.get("capabilities")) is dict:
        clues += _capabilities(params)
    if type(version) is str:
        clues.append(clue("initialize offers a version before 1, which is read as v1", v1=1))
    if type(params.get("authenticationMethods")) is list:
        clues.append(clue("initialize has authenticationMethods", acpex=2))
    return clues


def _v1_capabilities(capabilities: Object) -> list[Clue]:
    clues: list[Clue] = []
    if type(capabilities.get("fs")) is dict or type(capabilities.get("terminal")) is bool:
        clues.append(clue("clientCapabilities has fs or terminal as in v1", v1=1))
    if type(capabilities.get("sessions")) is dict:
        clues.append(clue("clientCapabilities has sessions", acpex_wire=2))
    return clues


def _capabilities(params: Object) -> list[Clue]:
    """In version 1, `capabilities` is a word of haven and of acpex."""
    capabilities = as_object(params["capabilities"])
    clues = [clue("initialize has capabilities", acpex=1, haven=1)]
    if type(capabilities.get("fileSystem")) is dict:
        clues.append(clue("capabilities has fileSystem", acpex=2))
    if type(capabilities.get("terminal")) is dict:
        clues.append(clue("capabilities has terminal as an object", acpex=1))
    if type(capabilities.get("prompts")) is dict:
        clues.append(clue("capabilities has prompts", acpex=1))
    if not capabilities and params.keys() == {"protocolVersion", "capabilities"}:
        clues.append(clue("initialize has empty capabilities and nothing else", haven=1))
    return clues


def _prompt(params: Object) -> list[Clue]:
    if "prompt" in params:
        crow = "session_id" in params and "sessionId" not in params
        return [clue("session/prompt has prompt", **({"crow": 1} if crow else {"haven": 1, "v1": 1}))]
    if type(params.get("content")) is list:
        return [clue("session/prompt has content instead of prompt", acpex=3)]
    return []
