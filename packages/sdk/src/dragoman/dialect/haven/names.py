"""The words of haven that v1 does not have, and every note that its edges may write into the ledger."""

from __future__ import annotations

from typing import TypeAlias

NAME = "haven"
LEGACY = "haven-legacy"

UPDATE = "session/update"
PERMISSION = "session/request_permission"

LISTED = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "available_commands_update",
        "current_mode_update",
    }
)
"""The updates in the reference."""

KNOWN = LISTED | {
    "compaction_summary_chunk",
    "compaction_update",
    "config_option_update",
    "notice",
    "plan_removed",
    "plan_update",
    "session_info_update",
    "session_message",
    "session_message_chunk",
    "subagent_update",
    "usage_update",
}
"""The updates of v1, which the older form may name under its own discriminator."""

STOP_REASONS = frozenset({"end_turn", "max_tokens", "cancelled", "refusal"})

NoteText: TypeAlias = tuple[str, str]
"""The subject of a ledger entry, and the action that was taken."""

# Lost.
TITLE: NoteText = ("a title beside a tool's name", "left out: a tool call has a name only")
UNLISTED: NoteText = ("an update that the reference does not list", "sent as it is: it may be ignored")
STOPPED: NoteText = ("a stop reason that the reference does not list", "sent as it is: it may be ignored")
UNKNOWN_KIND: NoteText = ("an update of no known kind", "passed on as it is")
UNANSWERABLE: NoteText = (
    "a permission request without an answer channel",
    "decided by the policy; without one it is refused",
)
UNASKED: NoteText = ("an answer that nobody asked for", "dropped")

# Repaired.
NAMELESS_CALL: NoteText = ("a tool call without a name", "called a tool call")
NO_STATUS: NoteText = ("a tool call without a status", "sent as pending")
FILE: NoteText = ("tool kind file", "read as edit if there is a diff, else as other, which is asked")
NO_KIND: NoteText = ("a tool kind of neither list", "read as other")
NEAREST: NoteText = ("a tool kind that the reference does not know", "sent as file or other")
FLAT: NoteText = ("an embedded resource without an object of its own", "given one")
NAMELESS_LINK: NoteText = ("a resource link without a name", "named by the end of its address")
BARE: NoteText = ("a block where a tool's content should be", "wrapped")
CANCEL: NoteText = ("session/cancel as a request", "answered, and passed on as a notification")
REPLAYED: NoteText = (
    "a permission request in the history of a session",
    "shown as its tool call; nobody is asked and nothing is stopped",
)
NO_CHOICE: NoteText = ("an answer to a permission request that chooses nothing offered", "taken as cancelled")

LOST = (TITLE, UNLISTED, STOPPED, UNKNOWN_KIND, UNANSWERABLE, UNASKED)
REPAIRED = (
    NAMELESS_CALL,
    NO_STATUS,
    FILE,
    NO_KIND,
    NEAREST,
    FLAT,
    NAMELESS_LINK,
    BARE,
    CANCEL,
    NO_CHOICE,
    REPLAYED,
)
