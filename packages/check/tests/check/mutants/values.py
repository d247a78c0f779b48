"""What the good conversations are about: a small project, its sessions, and what both sides can do."""

from __future__ import annotations

from typing import Any

FOLDER = "/home/ada/harbour"
OTHER = "/home/ada/lighthouse"
EXTRA = "/home/ada/charts"
FILE = f"{FOLDER}/harbour.py"
PLAN_FILE = f"{FOLDER}/plan.md"

FIRST = "ses-first"
SECOND = "ses-second"
OLD = "ses-old"
NOBODY = "00000000-0000-4000-8000-000000000000"

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

CLIENT = {"name": "quay", "title": "Quay", "version": "4.2.0"}
AGENT = {"name": "pilot", "title": "Pilot", "version": "1.9.1"}

CLIENT_CAN: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
}
AGENT_CAN: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {
        "list": {},
        "resume": {},
        "close": {},
        "delete": {},
        "additionalDirectories": {},
    },
    "auth": {"logout": {}},
}

SERVERS: list[dict[str, Any]] = [
    {
        "name": "tides",
        "command": "/usr/bin/tides",
        "args": ["--serve"],
        "env": [{"name": "PORT", "value": "9"}],
    },
    {
        "type": "http",
        "name": "weather",
        "url": "https://weather.example/mcp",
        "headers": [{"name": "Accept-Language", "value": "en"}],
    },
]

PERMISSIONS: list[dict[str, Any]] = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "name": "Always reject", "kind": "reject_always"},
]

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "berth": {"type": "string", "title": "Berth", "minLength": 1},
        "boats": {"type": "integer", "title": "Boats", "minimum": 1, "maximum": 20},
        "night": {"type": "boolean", "title": "At night", "default": False},
        "wind": {"type": "string", "enum": ["calm", "fresh", "gale"]},
    },
    "required": ["berth", "boats"],
}


def modes(current: str = "ask") -> dict[str, Any]:
    return {
        "currentModeId": current,
        "availableModes": [
            {"id": "ask", "name": "Ask", "description": "Asks before every change"},
            {"id": "code", "name": "Code"},
            {"id": "plan", "name": "Plan", "description": None},
        ],
    }


def options(mode: str = "ask", *, model: str = "small", brief: bool = False) -> list[dict[str, Any]]:
    named = [{"value": one["id"], "name": one["name"]} for one in modes()["availableModes"]]
    sizes = [
        {"value": "small", "name": "Small"},
        {"value": "large", "name": "Large", "description": "Slower"},
    ]
    return [
        {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode,
            "options": named,
        },
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": model,
            "options": [{"group": "house", "name": "House", "options": sizes}],
        },
        {"id": "brief", "name": "Brief", "category": "_style", "type": "boolean", "currentValue": brief},
    ]


def text(words: str, **members: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **members}


def prompt(session: str, *blocks: Any) -> dict[str, Any]:
    parts = [text(block) if isinstance(block, str) else block for block in blocks]
    return {"sessionId": session, "prompt": parts}


def held(words: str) -> dict[str, Any]:
    """A text as the content of a tool call."""
    return {"type": "content", "content": text(words)}


def entry(content: str, status: str, priority: str = "medium") -> dict[str, Any]:
    return {"content": content, "priority": priority, "status": status}


def plan(*statuses: str) -> list[dict[str, Any]]:
    steps = ("Read the harbour", "Mend the pier", "Write the log")
    return [entry(step, status, "high") for step, status in zip(steps, statuses, strict=True)]


def selected(option: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option}}


EXAMINED: dict[str, Any] = {"exit": 0, "scene": "a good one"}
"""What an examination knows of every conversation."""

CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
