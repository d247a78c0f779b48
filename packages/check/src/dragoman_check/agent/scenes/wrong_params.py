"""Requests with params of the wrong shape, with unusual params, and with unknown methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.driver import prompt_params
from dragoman_check.agent.stage import Stage

SECRET = "hunter2-must-not-come-back"  # noqa: S105  # nobody's: it is looked for in what comes back
STDIO = {"name": "a", "command": "/bin/true", "args": [], "env": []}
BROKEN_STDIO = {"name": "a", "command": "/bin/true", "args": 5, "env": [{"name": "T", "value": SECRET}]}

Probe = tuple[str, Json]
"""A method and its params."""


def bad_params(stage: Stage, folder: Path, setup: JsonObject) -> dict[str, Probe]:
    """Params of the wrong shape, by their mistake, as far as the agent advertised the method."""
    session = str(setup.get("sessionId"))
    probes = {**_bad_new(str(folder)), **_bad_prompts(session), **_bad_settings(session, setup)}
    probes["unknown login"] = ("authenticate", {"methodId": "nobody's"})
    if stage.profile.has("sessionCapabilities", "list"):
        probes["bad cursor"] = ("session/list", {"cursor": "garbage"})
        probes["list of a relative folder"] = ("session/list", {"cwd": "src"})
    if stage.profile.has("loadSession"):
        probes["load without session"] = ("session/load", {"cwd": str(folder), "mcpServers": []})
    if stage.profile.has("sessionCapabilities", "additionalDirectories"):
        probes |= _bad_roots(str(folder))
    return probes


def _bad_new(folder: str) -> dict[str, Probe]:
    new: JsonObject = {"cwd": folder, "mcpServers": []}
    unknown_kind = {**STDIO, "type": "ws"}
    return {
        "new without cwd": ("session/new", {"mcpServers": []}),
        "new without servers": ("session/new", {"cwd": folder}),
        "new with a number as cwd": ("session/new", {**new, "cwd": 5}),
        "new with an array": ("session/new", [folder, []]),
        "new without params": ("session/new", None),
        "new with a relative cwd": ("session/new", {**new, "cwd": "src"}),
        "new with a broken server": ("session/new", {**new, "mcpServers": [{"name": "a"}, STDIO]}),
        "new with a secret": ("session/new", {**new, "mcpServers": [BROKEN_STDIO]}),
        "new with an unknown transport": ("session/new", {**new, "mcpServers": [unknown_kind]}),
        "new with servers as text": ("session/new", {**new, "mcpServers": "none"}),
    }


def _bad_roots(folder: str) -> dict[str, Probe]:
    new: JsonObject = {"cwd": folder, "mcpServers": []}
    return {
        "roots as text": ("session/new", {**new, "additionalDirectories": folder}),
        "roots with a number": ("session/new", {**new, "additionalDirectories": [5]}),
        "roots with nothing": ("session/new", {**new, "additionalDirectories": [""]}),
        "roots with a relative one": ("session/new", {**new, "additionalDirectories": ["src"]}),
    }


def _bad_prompts(session: str) -> dict[str, Probe]:
    return {
        "prompt without session": ("session/prompt", {"prompt": []}),
        "prompt without prompt": ("session/prompt", {"sessionId": session}),
        "prompt as text": ("session/prompt", {"sessionId": session, "prompt": "hello"}),
        "block of no kind": ("session/prompt", prompt_params(session, {"text": "x"})),
        "block of an unknown kind": (
            "session/prompt",
            prompt_params(session, {"type": "smell", "text": "x"}),
        ),
        "text block without text": ("session/prompt", prompt_params(session, {"type": "text"})),
    }


def _bad_settings(session: str, setup: JsonObject) -> dict[str, Probe]:
    wrong = {"sessionId": session, "modeId": "nobody's"}
    option = {"sessionId": session, "configId": "nobody's", "value": "x"}
    probes: dict[str, Probe] = {
        "unknown mode" if setup.get("modes") else "mode without modes": ("session/set_mode", wrong)
    }
    if setup.get("modes"):
        probes["mode without mode"] = ("session/set_mode", {"sessionId": session})
    if options := setup.get("configOptions"):
        first = options[0] if isinstance(options, list) and isinstance(options[0], dict) else {}
        illegal = {**option, "configId": first.get("id"), "value": "nobody's"}
        probes["unknown option"] = ("session/set_config_option", option)
        probes["illegal value"] = ("session/set_config_option", illegal)
    return probes


def unknown(stage: Stage) -> Iterator[tuple[str, str, Json]]:
    """Unknown methods and sessions."""
    unknown_session = {"sessionId": stage.unknown_session}
    for method in ("nope/nope", "$/foo", "_tck/x"):
        yield f"request {method}", method, {}
    yield "request session/cancel", "session/cancel", unknown_session
    if not stage.profile.has("auth", "logout"):  # who can, does: and somebody would be logged out
        yield "request logout", "logout", {}
    setup = {**unknown_session, "cwd": str(stage.folder), "mcpServers": []}
    if stage.profile.version == 1:
        yield "load of an unknown session", "session/load", setup
        yield "mode of an unknown session", "session/set_mode", {**unknown_session, "modeId": "ask"}
    yield "resume of an unknown session", "session/resume", setup
    yield "close of an unknown session", "session/close", unknown_session
    yield "delete of an unknown session", "session/delete", unknown_session
    yield "prompt of an unknown session", "session/prompt", prompt_params(stage.unknown_session, "hello")
    if stage.profile.version == 1 or stage.profile.setup.get("configOptions"):
        option = {"type": "id", "configId": "mode", "value": "ask"}
        yield "option of an unknown session", "session/set_config_option", {**unknown_session, **option}


def lenient(stage: Stage, folder: Path, setup: JsonObject) -> dict[str, Probe]:
    """Odd params that an agent must accept; at the end the session is closed by those who can."""
    session = str(setup.get("sessionId"))
    hostile = {"cwd": "/etc", "sessionId": "x", "prompt": [], "mcpServers": 7}
    new = {"cwd": str(folder), "mcpServers": []}
    probes: dict[str, Probe] = {
        "new with hostile meta": ("session/new", {**new, "_meta": hostile}),
        "new with meta as text": ("session/new", {**new, "_meta": "x"}),
        "new with meta null": ("session/new", {**new, "_meta": None}),
        "new with bogus": ("session/new", {**new, "bogus": 1}),
        "new with null servers": ("session/new", {**new, "mcpServers": None}),
        "new with null roots": ("session/new", {**new, "additionalDirectories": None}),
    }
    if stage.profile.has("sessionCapabilities", "list"):
        probes["list with a bad filter"] = ("session/list", {"cwd": 7})
    if stage.profile.has("sessionCapabilities", "close"):
        close = {"sessionId": session, "_meta": {"traceparent": "00-0-0-00"}}
        probes["close"] = ("session/close", close)
        probes["prompt after close"] = ("session/prompt", prompt_params(session, "hello"))
    return probes
