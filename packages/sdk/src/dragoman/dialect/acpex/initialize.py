"""Reads `initialize` of either ACPex form into v1. Capabilities are objects of booleans under ACPex's own
names, the agent's name is in `meta`, and logins are in `authenticationMethods`.
"""

from __future__ import annotations

import re

from dragoman.dialect.acpex.form import AcpexForm, with_original
from dragoman.dialect.acpex.ledger_notes import (
    AUTH_METHOD,
    NO_NEW_SESSIONS,
    PARTIAL_TERMINAL,
    PROTOCOL_VERSION,
    UNNAMED_TERMINAL,
)
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.originals import drop_original

TERMINAL = ("create", "output", "waitForExit", "kill", "release")
FILES = ("readTextFile", "writeTextFile")
MCP = ("http", "sse")
_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
PROMPTS = ("audio", "image", "embeddedContext")


def read_greeting(params: Json, form: AcpexForm, note: Note) -> Object:
    """Read the params of `initialize`."""
    params = drop_original(as_object(params))
    offers = _camel(_first_object(params, "clientCapabilities", "capabilities"))
    files = next((offers[name] for name in ("fs", "fileSystem", "filesystem") if name in offers), None)
    read: Object = {
        "protocolVersion": read_version(params.get("protocolVersion"), note),
        "clientCapabilities": {
            "fs": flags(files, FILES),
            "terminal": _has_terminals(offers.get("terminal"), note),
        },
    }
    meta = as_object(params.get("_meta"))
    info = _implementation(params.get("clientInfo")) or _implementation(meta.get("clientInfo"))
    if info:
        read["clientInfo"] = info
    rest = {name: value for name, value in meta.items() if name != "clientInfo"}
    if rest:
        read["_meta"] = rest
    return with_original(read, params, form.greeting(read, ignore_note), form)


def _camel(offers: Object) -> Object:
    """In camelCase, as far down as there are names: Elixir writes those of plain maps as it has them."""
    return {
        _SNAKE.sub(lambda found: found[1].upper(), name): _camel(item) if type(item) is dict else item
        for name, item in offers.items()
    }


def read_introduction(result: Json, form: AcpexForm, note: Note) -> Object:
    """Read the result of `initialize`."""
    result = drop_original(as_object(result))
    offers = _camel(_first_object(result, "agentCapabilities", "capabilities"))
    sessions = as_object(offers.get("sessions"))
    if sessions.get("new") is False:
        note(NO_NEW_SESSIONS)
    read: Object = {
        "protocolVersion": read_version(result.get("protocolVersion"), note),
        "agentCapabilities": {
            "loadSession": True in (offers.get("loadSession"), sessions.get("load")),
            "mcpCapabilities": flags(_first_object(offers, "mcpCapabilities", "mcp"), MCP),
            "promptCapabilities": flags(_first_object(offers, "promptCapabilities", "prompts"), PROMPTS),
        },
        "authMethods": _read_logins(result, note),
    }
    infos = (_implementation(result.get(name)) for name in ("agentInfo", "meta", "_meta"))
    info = next((info for info in infos if info), None)
    if info:
        read["agentInfo"] = info
    if type(result.get("_meta")) is dict:
        read["_meta"] = result["_meta"]
    return with_original(read, result, form.introduction(read, ignore_note), form)


def read_version(value: Json, note: Note) -> int:
    """Read a version: ACPex's tests send 1.0 and "1.0"; a value that is not a number means version 1."""
    if type(value) is int and 0 <= value < 2**16:
        return value
    note(PROTOCOL_VERSION)
    number = value if type(value) is float else as_text(value)
    try:
        version = int(float(number))
    except (ValueError, OverflowError):
        return 1
    return version if 0 <= version < 2**16 else 1


def flags(value: Json, names: tuple[str, ...]) -> Object:
    """Read capability flags: only true counts; a plain true stands for all flags."""
    if type(value) is bool:
        return dict.fromkeys(names, value)
    return {name: as_object(value).get(name) is True for name in names}


def _has_terminals(value: Json, note: Note) -> bool:
    """The overview's first example names `create` alone: what is not named is there, what is denied is not. A
    request for a method that is missing after all gets the client's own refusal.
    """
    if type(value) is bool:
        return value
    can = as_object(value)
    if can.get("create") is not True:
        return False
    if any(name in can and can[name] is not True for name in TERMINAL):
        note(PARTIAL_TERMINAL)
        return False
    if can.keys() < set(TERMINAL):
        note(UNNAMED_TERMINAL)
    return True


def _first_object(fields: Object, *names: str) -> Object:
    return next((fields[name] for name in names if type(fields.get(name)) is dict), {})


def _implementation(value: Json) -> Object | None:
    fields = as_object(value)
    name, version = as_text(fields.get("name")), as_text(fields.get("version"))
    if not name:
        return None
    title_member = {"title": fields["title"]} if as_text(fields.get("title")) else {}
    return {"name": name, **title_member, "version": version or "unknown"}


def _read_logins(result: Object, note: Note) -> list[Object]:
    """Only what v1 has in every login: a type of its own could make a client start a program."""
    entries = as_list(result.get("authMethods")) or as_list(result.get("authenticationMethods"))
    read = [_read_login({"id": item} if type(item) is str else as_object(item), note) for item in entries]
    return [login for login in read if login is not None]


def _read_login(fields: Object, note: Note) -> Object | None:
    login, name = as_text(fields.get("id")), as_text(fields.get("name"))
    if not login or not name:
        note(AUTH_METHOD)
    if not login:
        return None
    read = {"id": login, "name": name or login}
    description = as_text(fields.get("description"))
    return {**read, "description": description} if description else read
