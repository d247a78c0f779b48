"""The words of koog that v1 does not have, and every note that its edges may write into the ledger."""

from __future__ import annotations

from typing import TypeAlias

NAME = "koog"

UPDATE = "session/update"
WHOLE = "message"
"""The update with a whole message."""

SHOWN = frozenset({WHOLE, "agent_message_chunk", "plan", "tool_call", "tool_call_update"})
"""The updates in the guide. Its clients accept any v1 update."""

NoteText: TypeAlias = tuple[str, str]
"""The subject of a ledger entry, and the action that was taken."""

# Lost.
NO_BLOCK: NoteText = ("a part of a message that is not a block", "left out")

# Repaired.
TOOLS: NoteText = ("capabilities.tools", "kept in _meta: v1 has no list of an agent's tools")
NO_NAME: NoteText = ("serverInfo without a name or a version", "filled in as unknown")
NO_VERSION: NoteText = ("an answer to initialize without a protocol version", "read as version 1")
UNWRAPPED: NoteText = ("an update without its wrapper", "wrapped")
KINDLESS: NoteText = ("an update without sessionUpdate", "read as what its other members show")
PLAIN_TEXT: NoteText = ("a message that is plain text", "read as a block of text")
ROLE: NoteText = ("a message of an unknown role", "read as the agent's")
SILENT: NoteText = ("content in the answer of a silent turn", "said as a message before the answer")
UNSAID: NoteText = (
    "content in the answer of a turn that streamed something else",
    "said as a message before the answer",
)
REPEATED: NoteText = ("content in the answer that was streamed before", "not said again, kept in _meta")
SPARSE: NoteText = ("a tool call without a title, kind or status", "filled in with v1's defaults")
SWITCH: NoteText = ("tool kind switch_mode", "sent as other: the guide does not know it")

LOST = (NO_BLOCK,)
REPAIRED = (
    TOOLS,
    NO_NAME,
    NO_VERSION,
    UNWRAPPED,
    KINDLESS,
    PLAIN_TEXT,
    ROLE,
    SILENT,
    UNSAID,
    REPEATED,
    SPARSE,
    SWITCH,
)
