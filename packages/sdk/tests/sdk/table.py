"""One valid message for every method of version 1: params as on the wire, result as a handler gives it.

`test_agent` and `test_client` hold it to the method table, so that a new method cannot be forgotten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dragoman.schema import v1

S = {"sessionId": "s1"}
SETUP = {"cwd": "/tmp", "mcpServers": []}


class Example(NamedTuple):
    """`result` None: a notification, or a request whose answer may be empty."""

    params: dict[str, Any]
    result: Any = None
    wrong: dict[str, Any] | None = None
    """Params that cannot be read: the value at fault is the text SECRET."""


SECRET = "sk-do-not-repeat-me"
NO_SESSION = {"sessionId": [SECRET]}

AGENT: dict[str, Example] = {
    "initialize": Example(
        {"protocolVersion": 1, "clientCapabilities": {}},
        v1.InitializeResponse(protocol_version=1, meta={"own": True}),
        {"protocolVersion": SECRET},
    ),
    "authenticate": Example({"methodId": "m"}, None, {"methodId": [SECRET]}),
    "logout": Example({}),
    "auth/status": Example({}, v1.AuthStatusResponse(state="authenticated")),
    "session/new": Example(SETUP, v1.NewSessionResponse(session_id="s2"), {**SETUP, "cwd": [SECRET]}),
    "session/load": Example({**S, **SETUP}, None, {**NO_SESSION, **SETUP}),
    "session/resume": Example({**S, **SETUP}, None, {**NO_SESSION, **SETUP}),
    "session/fork": Example({**S, **SETUP}, v1.ForkSessionResponse(session_id="s3"), {**NO_SESSION, **SETUP}),
    "session/list": Example({}, v1.ListSessionsResponse(sessions=[])),
    "session/close": Example(S, None, NO_SESSION),
    "session/delete": Example(S, None, NO_SESSION),
    "session/archive": Example(S, None, NO_SESSION),
    "session/unarchive": Example(S, None, NO_SESSION),
    "session/status": Example(S, v1.SessionStatusResponse(status="idle"), NO_SESSION),
    "session/set_title": Example(
        {**S, "title": "t"}, v1.SetSessionTitleResponse(title="t"), {**S, "title": [SECRET]}
    ),
    "session/set_mode": Example({**S, "modeId": "code"}, None, {**S, "modeId": [SECRET]}),
    "session/set_config_option": Example(
        {**S, "configId": "c", "value": "v"},
        v1.SetSessionConfigOptionResponse(config_options=[]),
        {**S, "configId": [SECRET], "value": "v"},
    ),
    "session/prompt": Example({**S, "prompt": []}, None, {**S, "prompt": SECRET}),
    "providers/list": Example({}, v1.ListProvidersResponse(providers=[])),
    "providers/set": Example(
        {"providerId": "p", "apiType": "anthropic", "baseUrl": "http://localhost"},
        None,
        {"providerId": [SECRET], "apiType": "anthropic", "baseUrl": "http://localhost"},
    ),
    "providers/disable": Example({"providerId": "p"}, None, {"providerId": [SECRET]}),
    "session/cancel": Example(S),
    "mcp/message": Example({"serverId": "m", "requestId": "r", "method": "m"}),
}

CLIENT: dict[str, Example] = {
    "session/request_permission": Example(
        {
            **S,
            "toolCall": {"toolCallId": "t"},
            "options": [{"optionId": "y", "name": "y", "kind": "allow_once"}],
        },
        v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="y")),
        {**NO_SESSION, "toolCall": {"toolCallId": "t"}, "options": []},
    ),
    "fs/read_text_file": Example(
        {**S, "path": "/x"}, v1.ReadTextFileResponse(content="text"), {**S, "path": [SECRET]}
    ),
    "fs/write_text_file": Example(
        {**S, "path": "/x", "content": "text"}, None, {**S, "path": [SECRET], "content": ""}
    ),
    "terminal/create": Example(
        {**S, "command": "ls"}, v1.CreateTerminalResponse(terminal_id="t"), {**S, "command": [SECRET]}
    ),
    "terminal/output": Example(
        {**S, "terminalId": "t"},
        v1.TerminalOutputResponse(output="out", truncated=False),
        {**S, "terminalId": [SECRET]},
    ),
    "terminal/wait_for_exit": Example(
        {**S, "terminalId": "t"},
        v1.WaitForTerminalExitResponse(exit_code=0),
        {**S, "terminalId": [SECRET]},
    ),
    "terminal/kill": Example({**S, "terminalId": "t"}, None, {**S, "terminalId": [SECRET]}),
    "terminal/release": Example({**S, "terminalId": "t"}, None, {**S, "terminalId": [SECRET]}),
    "elicitation/create": Example(
        {**S, "mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}},
        v1.ElicitationDeclineAction(),
        {**S, "mode": "form", "message": [SECRET], "requestedSchema": {"type": "object", "properties": {}}},
    ),
    "mcp/message": Example(
        {"serverId": "m", "requestId": "r", "method": "m"},
        v1.MessageMcpResponse(result={}),
        {"serverId": [SECRET], "requestId": "r", "method": "m"},
    ),
    "session/update": Example({**S, "update": {"sessionUpdate": "plan", "entries": []}}),
    "elicitation/complete": Example({"elicitationId": "e"}),
    "auth/status_update": Example({"state": "authenticated"}),
}
