"""Advice for authors, as data: words of known dialects, and the v1 words to use instead."""

from __future__ import annotations

from typing import Final


def _call_it(*pairs: tuple[str, str]) -> dict[str, str]:
    return {wrong: f"call it {right}" for wrong, right in pairs}


PARAMS_FIXES: Final[dict[str, dict[str, str]]] = {
    "initialize": {
        **_call_it(
            ("protocol_version", "protocolVersion"),
            ("client_capabilities", "clientCapabilities"),
            ("client_info", "clientInfo"),
            ("capabilities", "clientCapabilities, with fs and terminal in it"),
            ("info", "clientInfo"),
        ),
        "authenticationMethods": "leave it out: in v1 the agent lists its authMethods",
    },
    "session/prompt": _call_it(("session_id", "sessionId"), ("content", "prompt")),
    "session/load": _call_it(("session_id", "sessionId")),
    "session/cancel": _call_it(("session_id", "sessionId")),
    "session/update": _call_it(("session_id", "sessionId")),
    "authenticate": {"data": "leave it out: v1 carries no credentials; let the agent ask for them itself"},
}

RESULT_FIXES: Final[dict[str, dict[str, str]]] = {
    "initialize": _call_it(
        ("protocol_version", "protocolVersion"),
        ("agent_capabilities", "agentCapabilities"),
        ("agent_info", "agentInfo"),
        ("serverInfo", "agentInfo"),
        ("meta", "agentInfo"),
        ("info", "agentInfo"),
        ("capabilities", "agentCapabilities; a list of tools has no place in v1"),
        ("authenticationMethods", "authMethods"),
    ),
    "session/prompt": {
        "stop_reason": "call it stopReason",
        "content": "say it in agent_message_chunk updates before the answer",
    },
    "session/new": _call_it(("session_id", "sessionId")),
}

STOP_FIXES: Final = {
    "done": "write end_turn",
    "error": "answer with a JSON-RPC error instead",
}

UPDATE_FIXES: Final = {
    "agent_message_text": "write agent_message_chunk, with a text block as content",
    "agent_thought_text": "write agent_thought_chunk, with a text block as content",
    "message": "write agent_message_chunk or user_message_chunk, one for each block",
    "permission_request": "send the request session/request_permission",
    "plan_update": "write plan, with its entries",
    "tool_call_start": "write tool_call",
    "user_message_text": "write user_message_chunk, with a text block as content",
}

TOOL_CALL_FIXES: Final = {
    **_call_it(("id", "toolCallId"), ("tool_call_id", "toolCallId"), ("name", "title")),
    "content": "name the call in toolCallId and title, beside its content",
}

METHOD_FIXES: Final = {
    "auth/login": "call authenticate",
    "auth/logout": "call logout",
    "cancel": "send the notification session/cancel",
    "createThread": "call session/new",
    "getThreadEntries": "call session/load, which replays the entries as updates",
    "getThreads": "call session/list",
    "globSearch": "v1 has no search: offer it as a tool, or under a name that begins with _",
    "openThread": "call session/load",
    "permission_response": "answer the request session/request_permission",
    "readBinaryFile": "v1 reads text only: offer it as a tool, or under a name that begins with _",
    "readTextFile": "call fs/read_text_file",
    "sendMessage": "call session/prompt",
    "stat": "v1 has no stat: offer it as a tool, or under a name that begins with _",
    "streamMessageChunk": "send the notification session/update with an agent_message_chunk",
}
