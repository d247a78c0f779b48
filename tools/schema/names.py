"""Our words: which module a type lives in, what it is called where the schema gives no name, and its one-line
docstring.

The protocol's own word comes first. These tables hold only what the schema leaves open.
"""

from __future__ import annotations

import keyword
import re

# The first rule that matches wins. Modules may import those before them in TOPIC_ORDER.
TOPICS: tuple[tuple[str, str], ...] = (
    ("capabilities", r"Capabilities$"),
    (
        "common",
        r"^(SessionId|MessageId|RequestId|ProtocolVersion|Implementation|EnvVariable|HttpHeader|AbsolutePath"
        r"|MediaType|CancelRequestNotification|Ext\w+|Error|ErrorCode|ErrorData|\w+ErrorData)$",
    ),
    ("plan", r"^Plan"),
    ("tool_call", r"^(ToolCall(?!PermissionSubject)|ToolKind|Diff|Terminal$|TerminalId$|CancelToolCall)"),
    (
        "content",
        r"^(ContentBlock|ContentChunk|\w+Content|Annotations|Role|Resource\w+|EmbeddedResource\w*"
        r"|\w+ResourceContents|Icon|IconTheme|Content)$",
    ),
    ("permission", r"Permission"),
    ("providers", r"Provider|^LlmProtocol"),
    ("config", r"Config|^SetSessionConfig"),
    ("modes", r"^(SessionMode|CurrentModeUpdate|SetSessionMode)"),
    ("commands", r"Command"),
    ("mcp", r"Mcp"),
    ("auth", r"^(Auth|Authenticate|Logout|LoginAuth|LogoutAuth)"),
    ("initialize", r"^Initialize(Request|Response)$"),
    (
        "prompt",
        r"^(Prompt(Request|Response)|StopReason|ErrorStopReason|Usage|CancelNotification|CancelSessionNotification"
        r"|\w*StateUpdate|Background\w+)$",
    ),
    ("fs", r"TextFile"),
    ("terminal", r"Terminal"),
    ("elicitation", r"Elicit|PropertySchema|MultiSelect|EnumOption|StringFormat"),
    ("proxy", r"Proxy"),
    (
        "update",
        r"^(SessionUpdate|SessionNotification|UpdateSessionNotification|Notice|NoticeSeverity|Compaction\w+"
        r"|Subagent\w+|SessionMessage\w*|SessionInfoUpdate|UsageUpdate|Cost|\w+Chunk|\w+Message|AgentThought)$",
    ),
    ("session", r"Session|^(SystemPrompt|ReplayFrom)"),
)
TOPIC_ORDER = [
    *("common", "capabilities", "content", "plan", "tool_call", "permission", "config", "modes", "commands"),
    *("mcp", "auth", "initialize", "prompt", "fs", "terminal", "elicitation", "providers", "proxy"),
    *("session", "update"),
]

# JSON-RPC's shells are the wire room's.
ENVELOPES = re.compile(r"^(Agent|Client|Proxy)(Request|Response|Notification)$")

# Variants that have no name of their own, or whose name would clash or say too little: (union, tag) -> class.
VARIANTS: dict[tuple[str, str], str] = {
    ("SessionUpdate", "tool_call_update"): "ToolCallProgress",
    ("SessionUpdate", "state_update"): "SessionStateUpdate",
    ("RequestPermissionOutcome", "cancelled"): "CancelledPermissionOutcome",
    ("CreateElicitationResponse", "decline"): "ElicitationDeclineAction",
    ("CreateElicitationResponse", "cancel"): "ElicitationCancelAction",
    ("SetSessionConfigOptionRequest", "id"): "SetSessionConfigValueRequest",
    ("SetSessionConfigOptionRequest", ""): "SetSessionConfigValueRequest",
    ("SetSessionConfigOptionRequest", "boolean"): "SetSessionConfigBooleanRequest",
    ("DiffChange", "add"): "DiffAdd",
    ("DiffChange", "delete"): "DiffDelete",
    ("DiffChange", "modify"): "DiffModify",
    ("DiffChange", "move"): "DiffMove",
    ("DiffChange", "copy"): "DiffCopy",
}

# Definitions that exist only to be merged into others.
FLATTENED = {"ElicitationSessionScope", "ElicitationRequestScope", "ErrorStopReason"}

# Closed unions on which starting or approving something depends: an unknown member is refused, not kept.
REFUSING = {("v1", "RequestPermissionOutcome")}

# Unions with an untagged member: tags that mean that member too, and what every other tag is read as (""
# refuses).
UNTAGGED: dict[str, tuple[tuple[str, ...], str]] = {
    "McpServer": (("stdio",), ""),
    "AuthMethod": (("agent",), ""),
    # A string value under an unknown type is a value id (session config options page).
    "SetSessionConfigOptionRequest": (("id",), "SetSessionConfigValueRequest"),
    "MultiSelectItems": ((), "Unknown"),
}

# The session modes page shows `modeId` where the schema wants `currentModeId`: read both, write the schema's.
ALSO_READ: dict[str, tuple[tuple[str, str], ...]] = {"CurrentModeUpdate": (("modeId", "currentModeId"),)}

DOCS: dict[str, str] = {
    "AgentMessageChunk": "A piece of what the agent says.",
    "AgentThoughtChunk": "A piece of what the agent thinks aloud.",
    "Annotations": "For whom a piece of content is meant, and how much it matters.",
    "AuthMethodAgent": "A login that the agent handles by itself once `authenticate` names it.",
    "AuthMethodTerminal": "A login that the user does in a terminal; never to be sent to `authenticate`.",
    "BlobResourceContents": "A resource as base64 text.",
    "Content": "Ordinary content as output of a tool call.",
    "ContentChunk": "A piece of a streamed message; the variants say whose.",
    "Cost": "What a session has cost so far.",
    "Diff": "A change to files as output of a tool call.",
    "EmbeddedResource": "A resource whose contents travel along.",
    "Error": "The error object of JSON-RPC.",
    "Implementation": "The name and version of a program.",
    "McpServerAcp": "An MCP server that the client serves over this same connection.",
    "McpServerStdio": "An MCP server that the agent starts as a process.",
    "Notice": "Something the user should see that is no part of the conversation.",
    "PermissionOption": "One answer that the user may give.",
    "Plan": "The whole plan; it replaces the one before.",
    "PlanEntry": "One step of a plan.",
    "ResourceLink": "A resource by reference: the reader fetches it.",
    "SessionStateUpdate": "What the session is doing: the fields of every state in one.",
    "SystemPrompt": "Instructions that the client adds to, or puts in place of, the agent's own.",
    "Terminal": "The live output of a terminal as output of a tool call.",
    "TextResourceContents": "A resource as text.",
    "ToolCall": "A tool call begins.",
    "ToolCallProgress": "A change to a tool call that was announced before.",
    "ToolCallUpdate": "What changed in a tool call; absent fields stay as they were.",
    "Usage": "Tokens used.",
    "UserMessageChunk": "A piece of what the user said, as seen by the session.",
}


def topic(name: str) -> str:
    for module, pattern in TOPICS:
        if re.search(pattern, name):
            return module
    raise ValueError(f"{name} has no topic: add it to names.py")


def snake(wire: str) -> str:
    """A wire name as a Python attribute."""
    if wire == "_meta":
        return "meta"
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found.group().lower(), wire)
    return name + "_" if keyword.iskeyword(name) else name


def pascal(tag: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[_-]", tag))


def constant(name: str) -> str:
    """The name of an enumeration's values as data: ToolKind -> TOOL_KINDS."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    if words.endswith("Y"):
        return words[:-1] + "IES"
    return words + ("ES" if words.endswith("S") else "S")
