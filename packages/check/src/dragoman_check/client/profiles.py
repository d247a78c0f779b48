"""Profiles of the stand-in agent: the capabilities it advertises, its session settings, and its scenes.

A client is started once for each of them, because much of what a client must do shows only with an agent
that says less, says it oddly, or wants a login.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject

INFO = {"name": "dragoman-stand-in", "title": "Dragoman's stand-in", "version": "1"}

EVERYTHING: JsonObject = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {
        "list": {},
        "delete": {},
        "additionalDirectories": {},
        "resume": {},
        "close": {},
    },
    "auth": {"logout": {}},
}

MALFORMED: JsonObject = {
    "loadSession": "yes",
    "promptCapabilities": [],
    "mcpCapabilities": {"http": 7},
    "sessionCapabilities": {"list": None, "close": {}, "someday": {"since": 3}},
    "auth": 5,
    "someday": True,
    "_meta": {"example.org/odd": [1, 2]},
}
"""Invalid capabilities, except `close`."""

MODES = {
    "currentModeId": "ask",
    "availableModes": [
        {"id": "ask", "name": "Ask", "description": "Asks before it does anything"},
        {"id": "code", "name": "Code"},
    ],
}

MODE_OPTION = {
    "id": "mode",
    "name": "Mode",
    "category": "mode",
    "type": "select",
    "currentValue": "ask",
    "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}],
}

MODEL_OPTION = {
    "id": "model",
    "name": "Model",
    "description": "Which model answers",
    "category": "model",
    "type": "select",
    "currentValue": "small",
    "options": [
        {"group": "near", "name": "Near", "options": [{"value": "small", "name": "Small"}]},
        {"group": "far", "name": "Far", "options": [{"value": "large", "name": "Large"}]},
    ],
}

BOOLEAN_OPTION = {"id": "terse", "name": "Terse", "type": "boolean", "currentValue": False}

ODD_OPTIONS: list[Json] = [
    {"id": "warmth", "name": "Warmth", "type": "slider", "currentValue": 3, "from": 1, "to": 9},
    {**MODEL_OPTION, "category": "_example.org/odd"},
    {"id": "broken"},
    {key: value for key, value in MODE_OPTION.items() if key != "category"},
]
"""An unknown kind, an unknown category, a broken one, and an option without a category."""

LOGIN = "agent-login"

METHODS: list[Json] = [
    {"id": "broken-terminal", "name": "Broken", "type": "terminal", "args": 5},
    {"id": "unknown-kind", "name": "Some day", "type": "oauth2"},
    {"id": LOGIN, "name": "Log in", "description": "The agent does it by itself"},
]
"""Only the last one may be used with `authenticate`."""

BROKEN_METHODS: list[Json] = [{}, {"id": 5}]
"""Invalid login methods, which must not stop a client: no login is required."""

TERMINAL_METHOD = {"id": "terminal-login", "name": "In a terminal", "type": "terminal", "args": ["--log-in"]}


class ClientProfile(Struct, frozen=True, kw_only=True):
    """One role that the stand-in agent can play."""

    name: str
    about: str
    version: int = 1
    capabilities: JsonObject | None = None
    has_info: bool = True
    login: bool = False
    """Whether it requires a login."""
    polite: bool = False
    """Whether sessions offer valid modes and options."""
    broken_logins: bool = False
    """Whether it offers unreadable logins, and requires none. A separate profile: a client that stops there
    must not fail anything else.
    """
    odd: bool = False
    """Whether sessions offer unusual modes and options."""
    closes: bool = True
    """Whether it supports closing a session."""
    scenes: tuple[str, ...] = ()
    """Names of groups; see `scenes`."""


PROFILES: dict[str, ClientProfile] = {
    profile.name: profile
    for profile in (
        ClientProfile(
            name="full",
            about="an agent that offers and does everything",
            capabilities=EVERYTHING,
            polite=True,
            scenes=("polite", "questions", "odd", "frames", "odd questions"),
        ),
        ClientProfile(
            name="bare",
            about="an agent that advertises nothing and misbehaves",
            has_info=False,
            scenes=("odd", "frames"),
        ),
        ClientProfile(
            name="odd",
            about="an agent whose odd answers a client must accept",
            capabilities=MALFORMED,
            odd=True,
            closes=False,
            scenes=("greeting",),
        ),
        ClientProfile(
            name="unreadable",
            about="an agent with malformed login methods",
            broken_logins=True,
            scenes=("greeting",),
        ),
        ClientProfile(
            name="future", about="an agent of an unknown protocol version", version=99, scenes=("greeting",)
        ),
        ClientProfile(
            name="login",
            about="an agent that needs a login",
            capabilities={"sessionCapabilities": {"close": {}}},
            login=True,
            scenes=("greeting",),
        ),
    )
}
