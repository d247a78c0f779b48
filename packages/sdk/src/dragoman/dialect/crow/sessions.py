"""Requests about sessions and their answers, both ways. `session/new` is in camelCase in both.

A request that v1 does not take gives why; an answer that makes no sense gives None.
"""

from __future__ import annotations

from typing import TypeAlias

from dragoman.dialect.crow.errors import ParamError, param_errors
from dragoman.dialect.crow.ledger_notes import CWD, FOLDERS, KEPT, SERVERS, SETTINGS
from dragoman.dialect.crow.names import NAME, either, fits, readable, to_camel, to_snake, with_original
from dragoman.dialect.edge import EdgeSettings
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.originals import drop_original, restore

ParamsOrErrors: TypeAlias = "Object | list[ParamError]"
"""The v1 params, or the list of all their errors."""


def read_new(params: Object, settings: EdgeSettings, note: Note) -> ParamsOrErrors:
    servers = either(params, "mcp_servers", "mcpServers")
    fields: Object = {
        "cwd": _cwd(params, settings, note),
        "mcpServers": list(settings.mcp_servers) if servers is None else servers,
    }
    names = {"cwd", "mcpServers", "mcp_servers"}
    return _check(fields, params, names, "NewSessionRequest", note)


def write_new(params: Object, note: Note) -> Object:
    return drop_original(params)


def read_load(params: Object, settings: EdgeSettings, note: Note) -> ParamsOrErrors:
    servers = either(params, "mcp_servers", "mcpServers")
    fields: Object = {
        "sessionId": either(params, "session_id", "sessionId"),
        "cwd": _cwd(params, settings, note),
        "mcpServers": list(settings.mcp_servers) if servers is None else servers,
    }
    names = {"session_id", "sessionId", "cwd", "mcpServers", "mcp_servers"}
    return _check(fields, params, names, "LoadSessionRequest", note)


def write_load(params: Object, note: Note) -> Object:
    if as_list(params.get("mcpServers")):
        note(SERVERS)
    if as_list(params.get("additionalDirectories")):
        note(FOLDERS)
    fields = {"session_id": params.get("sessionId"), "cwd": params.get("cwd")}
    meta = as_object(drop_original(params).get("_meta"))
    return {**fields, "_meta": meta} if meta else fields


def read_prompt(params: Object, settings: EdgeSettings, note: Note) -> ParamsOrErrors:
    fields: Object = {
        "sessionId": either(params, "session_id", "sessionId"),
        "prompt": to_camel(params.get("prompt")),
    }
    return _check(fields, params, {"session_id", "sessionId", "prompt"}, "PromptRequest", note)


def write_prompt(params: Object, note: Note) -> Object:
    original = restore(
        params, NAME, lambda raw: as_object(read_prompt(as_object(raw), EdgeSettings(), ignore_note))
    )
    if type(original) is dict:
        return original
    snake: Object = to_snake(drop_original(params))
    return snake


def _cwd(params: Object, settings: EdgeSettings, note: Note) -> Json:
    if params.get("cwd") is not None:
        return params["cwd"]
    note(CWD)
    return settings.cwd


def _check(fields: Object, params: Object, names: set[str], kind: str, note: Note) -> ParamsOrErrors:
    if type(params.get("_meta")) is dict:
        fields["_meta"] = params["_meta"]
    if not readable(fields, kind):
        absent = [name for name, value in fields.items() if value is None]
        return param_errors({name: value for name, value in fields.items() if name not in absent}, kind)
    if params.keys() - names - {"_meta"}:
        note(KEPT)
        return with_original(fields, params)
    return fields


def read_opened(result: Json, note: Note) -> Object | None:
    """Read a crow agent's answer to `session/new`."""
    fields = to_camel(as_object(result))
    if fits(fields, "NewSessionResponse"):
        return as_object(fields)
    bare = {"sessionId": fields.get("sessionId")}
    if not fits(bare, "NewSessionResponse"):
        return None
    note(KEPT)
    return with_original(bare, as_object(result))


def write_opened(result: Json, note: Note) -> Object | None:
    session = drop_original(as_object(result))
    if type(session.get("sessionId")) is not str:
        return None
    if session.get("modes") or session.get("configOptions"):
        note(SETTINGS)
    return session


def read_loaded(result: Json, note: Note) -> Object:
    """Read a crow agent's answer to `session/load`; the dialect's document shows no example."""
    fields = to_camel(as_object(result))
    if fits(fields, "LoadSessionResponse"):
        return as_object(fields)
    note(KEPT)
    return with_original({}, as_object(result))


def write_loaded(result: Json, note: Note) -> Object:
    session = drop_original(as_object(result))
    if session.get("modes") or session.get("configOptions"):
        note(SETTINGS)
    return as_object(to_snake(session))
