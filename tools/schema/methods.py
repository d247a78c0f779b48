"""The method table: which definition is whose params or result, and which capability opens a method.

Names, sides and types come from the schema. The capabilities come from the specification's pages, which say
in prose what the schema does not: the path that the receiver must have advertised before the method may be
sent to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .fields import Schema

RECEIVERS = {"agent": "agent", "client": "client", "protocol": "both", "proxy": "proxy"}
PREEMPTING = {"session/cancel", "$/cancel_request"}

# (method, receiver) -> dotted path below `agentCapabilities` or `clientCapabilities` (v1), `capabilities`
# (v2).
CAPABILITIES: dict[str, dict[tuple[str, str], str]] = {
    "v1": {
        ("logout", "agent"): "auth.logout",
        ("auth/status", "agent"): "auth.status",
        ("providers/list", "agent"): "providers",
        ("providers/set", "agent"): "providers",
        ("providers/disable", "agent"): "providers",
        ("session/load", "agent"): "loadSession",
        ("session/list", "agent"): "sessionCapabilities.list",
        ("session/delete", "agent"): "sessionCapabilities.delete",
        ("session/fork", "agent"): "sessionCapabilities.fork",
        ("session/archive", "agent"): "sessionCapabilities.archive",
        ("session/unarchive", "agent"): "sessionCapabilities.archive",
        ("session/status", "agent"): "sessionCapabilities.status",
        ("session/set_title", "agent"): "sessionCapabilities.title",
        ("session/resume", "agent"): "sessionCapabilities.resume",
        ("session/close", "agent"): "sessionCapabilities.close",
        ("mcp/message", "agent"): "mcpCapabilities.acp",
        ("fs/read_text_file", "client"): "fs.readTextFile",
        ("fs/write_text_file", "client"): "fs.writeTextFile",
        ("terminal/create", "client"): "terminal",
        ("terminal/output", "client"): "terminal",
        ("terminal/release", "client"): "terminal",
        ("terminal/wait_for_exit", "client"): "terminal",
        ("terminal/kill", "client"): "terminal",
        ("elicitation/create", "client"): "elicitation",
        ("elicitation/complete", "client"): "elicitation.url",
    },
    "v2": {
        ("auth/status", "agent"): "auth.status",
        ("providers/list", "agent"): "providers",
        ("providers/set", "agent"): "providers",
        ("providers/disable", "agent"): "providers",
        ("session/new", "agent"): "session",
        ("session/list", "agent"): "session",
        ("session/resume", "agent"): "session",
        ("session/close", "agent"): "session",
        ("session/prompt", "agent"): "session",
        ("session/cancel", "agent"): "session",
        ("session/set_config_option", "agent"): "session",
        ("tool_call/cancel", "agent"): "session",
        ("terminal/cancel", "agent"): "session",
        ("session/delete", "agent"): "session.delete",
        ("session/fork", "agent"): "session.fork",
        ("session/archive", "agent"): "session.archive",
        ("session/unarchive", "agent"): "session.archive",
        ("session/status", "agent"): "session.status",
        ("session/set_title", "agent"): "session.title",
        ("mcp/message", "agent"): "session.mcp.acp",
        ("elicitation/create", "client"): "elicitation",
        ("elicitation/complete", "client"): "elicitation.url",
    },
}


@dataclass(frozen=True)
class Method:
    name: str
    receiver: str
    kind: str
    params: str
    result: str | None
    stable: bool
    capability: str | None
    preempts: bool
    session_scoped: bool


def read_methods(version: str, stable: Schema, unstable: Schema) -> list[Method]:
    capabilities = CAPABILITIES[version]
    methods = [
        _method(name, schema, stable, unstable, capabilities)
        for name, schema in unstable.items()
        if _is_params(name, schema)
    ]
    sent = {(method.name, method.receiver) for method in methods}
    if strangers := set(capabilities) - sent:
        raise ValueError(f"capabilities of methods that {version} does not have: {sorted(strangers)}")
    return methods


def _is_params(name: str, schema: Schema) -> bool:
    return "x-method" in schema and not name.endswith("Response")


def _method(
    name: str, schema: Schema, stable: Schema, unstable: Schema, capabilities: dict[tuple[str, str], str]
) -> Method:
    method, receiver = schema["x-method"], RECEIVERS[schema["x-side"]]
    is_request = name.endswith("Request")
    result = name.removesuffix("Request") + "Response" if is_request else None
    if result and unstable[result]["x-method"] != method:
        raise ValueError(f"{result} is not the result of {method}")
    return Method(
        method,
        receiver,
        "request" if is_request else "notification",
        name,
        result,
        stable=name in stable,
        capability=capabilities.get((method, receiver)),
        preempts=method in PREEMPTING,
        session_scoped='"sessionId"' in _properties(schema, unstable),
    )


def _properties(schema: Schema, definitions: Schema) -> str:
    """Names of all properties an object of this schema may have at its top level, each in quotes."""
    found = "".join(f'"{name}"' for name in schema.get("properties", ()))
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        target = definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        found += _properties(target, definitions)
    return found
