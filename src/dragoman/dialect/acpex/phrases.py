"""Everything that these dialects may put into the ledger: each kind of loss and repair, once.

The page docs/dialects/acpex.md lists the same phrases. They name kinds of things and never hold anything
that a peer has said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from dragoman.dialect.ledger import Outcome


class Phrase(NamedTuple):
    outcome: Outcome
    what: str
    done: str


Note: TypeAlias = Callable[[Phrase], None]
"""Where a conversion says what it could not carry or had to repair."""


def unnoted(phrase: Phrase) -> None:
    """For conversions that are only tried."""


# What an acpex peer says and v1 cannot.
PARTIAL_TERMINAL = Phrase("lost", "partial terminal support", "not offered: v1 has all five methods or none")
NO_NEW_SESSIONS = Phrase("lost", "sessions.new: false", "v1 agents always take session/new")
CREDENTIALS = Phrase("lost", "credentials of authenticate", "refused: v1 has no place for them")
UNKNOWN_BLOCK = Phrase("lost", "a content block of no known shape", "left out")
UNKNOWN_UPDATE = Phrase("lost", "an update of no known kind", "left out")
UNKNOWN_STEP = Phrase("lost", "a plan step without text", "left out")
FAILED_STEP = Phrase("lost", "a failed plan step", "given as pending: v1 steps do not fail")
UNASKED = Phrase("lost", "an answer to no open question", "dropped")
NO_SESSION = Phrase("lost", "a request of an agent that names no session", "refused: it is not clear which")

# What a v1 peer says and acpex cannot.
PERMISSION = Phrase("lost", "a permission request", "decided by the policy: the client cannot be asked")
REQUEST = Phrase("lost", "a request that the dialect does not have", "refused as an unknown method")
NOTIFICATION = Phrase("lost", "a notification that the dialect does not have", "dropped")
MESSAGE_ID = Phrase("lost", "a message's id", "left out")
THOUGHT_BLOCK = Phrase("lost", "a thought that is no text", "left out")
TOOL_STATUS = Phrase("lost", "the status of a tool call", "left out, but for its end, which is its output")
TOOL_FAILED = Phrase("lost", "the failure of a tool call", "sent as its output")
TOOL_KIND = Phrase("lost", "the kind of a tool call", "left out")
TOOL_PLACES = Phrase("lost", "the locations of a tool call", "left out")
TOOL_TITLE = Phrase("lost", "the title of a tool call", "left out: its name is sent")
TOOL_CONTENT = Phrase("lost", "diffs, terminals and media of a tool call", "left out of its output")
PLAN_DETAILS = Phrase("lost", "priority and status of plan entries", "left out: steps are plain texts")

# What arrived in a form of our making.
NO_JSONRPC = Phrase("repaired", "a frame without jsonrpc", "completed")
SNAKE_CASE = Phrase("repaired", "snake_case names", "given in camelCase")
PROTOCOL_VERSION = Phrase("repaired", "a protocol version that is no integer", "given as a whole number")
SESSION_FIELDS = Phrase("repaired", "a session without cwd or mcpServers", "completed from the settings")
SESSION_NAMED = Phrase("repaired", "a request without its session", "given the only session there is")
AGENT_CAPABILITIES = Phrase("repaired", "agent capabilities without a name in the dialect", "not offered")
CLIENT_CAPABILITIES = Phrase("repaired", "client capabilities without a name in the dialect", "not offered")
AUTH_METHOD = Phrase("repaired", "an authentication method without id or name", "completed, or left out")
NAMELESS_AGENT = Phrase("repaired", "an agent that does not say its name", "called unknown")
CLIENT_INFO = Phrase("repaired", "clientInfo", "sent in _meta: the code has no field for it")
ERROR_CODE = Phrase("repaired", "an error code of other meaning", "given the code that means it here")
DENIED = Phrase("repaired", "permission denied (-32002)", "given as an internal error: v1 has no code for it")
IMAGE_ADDRESS = Phrase("repaired", "an image or audio by its address", "given as a resource link")
EMPTY_RESOURCE = Phrase("repaired", "a resource without its text", "given as a resource link")
LINK_NAME = Phrase("repaired", "a resource link without a name", "named after its address")
BLOB = Phrase("repaired", "a binary resource", "sent flat with its blob")
ARGUMENTS = Phrase("repaired", "tool arguments that are no JSON object", "kept as text in rawInput")
TOOL_NAME = Phrase("repaired", "a tool call without a name", "called Tool call")
TOOL_WORDS = Phrase("repaired", "a tool kind or status of its own", "given as the nearest of v1's")
PLAN_DEFAULTS = Phrase("repaired", "plan steps without priority or status", "medium and pending")
OTHER_KIND = Phrase("repaired", "an update that the dialect does not describe", "sent in its manner")
STOP_REASON = Phrase(
    "repaired", "a stop reason that only one side knows", "given as the nearest, or as it is"
)
ENDED_BY_ERROR = Phrase("repaired", "stop reason error", "given as an error answer")
FINAL_CONTENT = Phrase(
    "repaired", "content in a final answer that was not streamed", "said before the answer"
)
REPEATED_CONTENT = Phrase("repaired", "content in a final answer that was streamed", "kept in _meta")
TRUNCATED = Phrase("repaired", "terminal output without truncated", "given as not truncated")

PHRASES: tuple[Phrase, ...] = tuple(value for value in globals().values() if isinstance(value, Phrase))
