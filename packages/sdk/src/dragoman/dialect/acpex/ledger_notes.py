"""The kinds of loss and repair that the ACPex dialects may record in the ledger.

The list tests/dialect/LOSSES.md has the same notes. They name kinds of things and never hold anything
that a peer has said.
"""

from __future__ import annotations

from dragoman.dialect.ledger import LedgerNote

# What an acpex peer says and v1 cannot.
PARTIAL_TERMINAL = LedgerNote(
    "lost",
    "terminal methods that the client denies",
    "terminals not offered: v1 has all five methods or none",
)
NO_NEW_SESSIONS = LedgerNote("lost", "sessions.new: false", "v1 agents always take session/new")
CREDENTIALS = LedgerNote("lost", "credentials of authenticate", "refused: the agent takes none")
UNKNOWN_BLOCK = LedgerNote("lost", "a content block of no known shape", "left out")
UNKNOWN_UPDATE = LedgerNote("lost", "an update of no known kind", "left out")
UNKNOWN_STEP = LedgerNote("lost", "a plan step without text", "left out")
FAILED_STEP = LedgerNote("lost", "a failed plan step", "given as pending: v1 steps do not fail")
UNASKED = LedgerNote("lost", "an answer to no open question", "dropped")
NO_SESSION = LedgerNote(
    "lost", "a request of an agent that names no session", "refused: it is not clear which"
)

# What a v1 peer says and acpex cannot.
PERMISSION = LedgerNote("lost", "a permission request", "decided by the policy: the client cannot be asked")
REQUEST = LedgerNote("lost", "a request that the dialect does not have", "refused as an unknown method")
NOTIFICATION = LedgerNote("lost", "a notification that the dialect does not have", "dropped")
MESSAGE_ID = LedgerNote("lost", "a message's id", "left out")
THOUGHT_BLOCK = LedgerNote("lost", "a thought that is not text", "left out")
TOOL_STATUS = LedgerNote(
    "lost", "the status of a tool call", "left out, but for its end, which is its output"
)
TOOL_FAILED = LedgerNote("lost", "the failure of a tool call", "sent as its output")
TOOL_KIND = LedgerNote("lost", "the kind of a tool call", "left out")
TOOL_PLACES = LedgerNote("lost", "the locations of a tool call", "left out")
TOOL_TITLE = LedgerNote("lost", "the title of a tool call", "left out: its name is sent")
TOOL_CONTENT = LedgerNote("lost", "diffs, terminals and media of a tool call", "left out of its output")
PLAN_DETAILS = LedgerNote("lost", "priority and status of plan entries", "left out: steps are plain texts")

# What arrived in a form of our making.
NO_JSONRPC = LedgerNote("repaired", "a frame without jsonrpc", "completed")
SNAKE_CASE = LedgerNote("repaired", "snake_case names", "given in camelCase")
PROTOCOL_VERSION = LedgerNote(
    "repaired", "a protocol version that is not an integer", "given as a whole number"
)
SESSION_FIELDS = LedgerNote("repaired", "a session without cwd or mcpServers", "completed from the settings")
SESSION_NAMED = LedgerNote("repaired", "a request without its session", "given the only session there is")
AGENT_CAPABILITIES = LedgerNote("repaired", "agent capabilities without a name in the dialect", "not offered")
UNNAMED_TERMINAL = LedgerNote(
    "repaired",
    "terminal methods that the client does not name",
    "taken to be there, as in the overview's example",
)
CLIENT_CAPABILITIES = LedgerNote(
    "repaired", "client capabilities without a name in the dialect", "not offered"
)
AUTH_METHOD = LedgerNote("repaired", "an authentication method without id or name", "completed, or left out")
NAMELESS_AGENT = LedgerNote("repaired", "an agent that does not say its name", "called unknown")
CLIENT_INFO = LedgerNote("repaired", "clientInfo", "sent in _meta: the code has no field for it")
ERROR_CODE = LedgerNote("repaired", "an error code of other meaning", "given the code that means it here")
DENIED = LedgerNote(
    "repaired", "permission denied (-32002)", "given as an internal error: v1 has no code for it"
)
IMAGE_ADDRESS = LedgerNote("repaired", "an image or audio by its address", "given as a resource link")
EMPTY_RESOURCE = LedgerNote("repaired", "a resource without its text", "given as a resource link")
LINK_NAME = LedgerNote("repaired", "a resource link without a name", "named after its address")
BLOB = LedgerNote("repaired", "a binary resource", "sent flat with its blob")
ARGUMENTS = LedgerNote("repaired", "tool arguments that are no JSON object", "kept as text in rawInput")
TOOL_NAME = LedgerNote("repaired", "a tool call without a name", "called Tool call")
TOOL_WORDS = LedgerNote("repaired", "a tool kind or status of its own", "given as the nearest of v1's")
PLAN_DEFAULTS = LedgerNote("repaired", "plan steps without priority or status", "medium and pending")
OTHER_KIND = LedgerNote("repaired", "an update that the dialect does not describe", "sent in its manner")
STOP_REASON = LedgerNote(
    "repaired", "a stop reason that only one side knows", "given as the nearest, or as it is"
)
ENDED_BY_ERROR = LedgerNote("repaired", "stop reason error", "given as an error answer")
FINAL_CONTENT = LedgerNote(
    "repaired", "content in a final answer that was not streamed", "said before the answer"
)
REPEATED_CONTENT = LedgerNote("repaired", "content in a final answer that was streamed", "kept in _meta")
TRUNCATED = LedgerNote("repaired", "terminal output without truncated", "given as not truncated")

PHRASES: tuple[LedgerNote, ...] = tuple(
    value for value in globals().values() if isinstance(value, LedgerNote)
)
