"""The tools of an agent as an MCP server: their names, arguments and results.

Data alone. `server` does what they say.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

_SESSION: Final = {"type": "string", "description": "The id of a session, as `prompt` has given it."}


class PromptArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `prompt`."""

    text: str
    session: str | None = None
    cwd: str | None = None
    mode: str | None = None
    model: str | None = None
    options: dict[str, str | bool] = {}
    diffs: bool = False


class SessionsArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `sessions`."""

    stored: bool = False


class SessionArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `cancel` and `close`."""

    session: str


def _array(**properties: Any) -> dict[str, object]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}

_PROMPT_RESULT: Final = {
    "type": "object",
    "properties": {
        "session": {"type": "string", "description": "Pass it again to continue this conversation."},
        "stopReason": {"type": "string", "description": "end_turn, cancelled, refusal, max_tokens, …"},
        "text": {"type": "string", "description": "The agent's answer."},
        "toolCalls": _array(
            id=_TEXT, title=_TEXT, kind=_TEXT, status=_TEXT, paths={"type": "array", "items": _TEXT}
        ),
        "plan": _array(content=_TEXT, status=_TEXT),
        "changedFiles": _array(path=_TEXT, kind=_TEXT, linesAdded=_COUNT, linesRemoved=_COUNT, diff=_TEXT),
        "refused": {
            **_array(what=_TEXT, why=_TEXT),
            "description": "Actions of the agent that were not allowed.",
        },
        "usage": {"type": "object", "additionalProperties": _COUNT},
        "notes": {"type": "array", "items": _TEXT},
    },
    "required": ["session", "stopReason", "text", "toolCalls", "changedFiles", "refused"],
}

_SESSIONS_RESULT: Final = {
    "type": "object",
    "properties": {
        "agent": {"type": "object"},
        "sessions": _array(session=_TEXT, cwd=_TEXT, busy=_FLAG, turns=_COUNT),
        "stored": _array(session=_TEXT, cwd=_TEXT, title=_TEXT),
    },
    "required": ["agent", "sessions"],
}


def make_tools(agent: str) -> list[dict[str, object]]:
    """Return the list for `tools/list`; `agent` is the agent's name for people."""
    return [
        {
            "name": "prompt",
            "title": f"Ask {agent}",
            "description": f"Give the coding agent {agent} a task, or continue a session. It works by "
            "itself in a folder, reads and changes files and runs commands as far as that is permitted, "
            "and answers when it is done. A session does one thing at a time; several work side by side.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "The task for the agent."},
                    "session": {
                        "type": "string",
                        "description": "The session to continue; without it, a new session starts.",
                    },
                    "cwd": {
                        "type": "string",
                        "description": "The folder of a new session; without it, the first that is allowed.",
                    },
                    "mode": {"type": "string", "description": "Switch the session to this mode first."},
                    "model": {"type": "string", "description": "Switch the session to this model first."},
                    "options": {
                        "type": "object",
                        "additionalProperties": {"type": ["string", "boolean"]},
                        "description": "Other options of the session; `sessions` lists them.",
                    },
                    "diffs": {
                        "type": "boolean",
                        "description": "Whether changed files come with their diffs.",
                    },
                },
                "required": ["text"],
                "additionalProperties": False,
            },
            "outputSchema": _PROMPT_RESULT,
            "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
        },
        {
            "name": "sessions",
            "title": f"Sessions of {agent}",
            "description": "The agent, the sessions that are open here, and their modes, models and options.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "stored": {
                        "type": "boolean",
                        "description": "Whether sessions that the agent has stored are listed too.",
                    }
                },
                "additionalProperties": False,
            },
            "outputSchema": _SESSIONS_RESULT,
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "cancel",
            "title": "Cancel a turn",
            "description": "Stop the running turn of a session; its `prompt` ends as cancelled.",
            "inputSchema": _one_session(),
            "outputSchema": _outcome("cancelled"),
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
        },
        {
            "name": "close",
            "title": "Close a session",
            "description": "Free a session that you no longer need. This cancels its running turn.",
            "inputSchema": _one_session(),
            "outputSchema": _outcome("closed"),
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
        },
    ]


def _one_session() -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"session": _SESSION},
        "required": ["session"],
        "additionalProperties": False,
    }


def _outcome(name: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"session": _TEXT, name: _FLAG},
        "required": ["session", name],
    }
