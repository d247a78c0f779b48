"""The kinds of loss and repair that may happen between a v2 client and a v1 agent, as the ledger records
them.

The list tests/dialect/LOSSES.md has the same, and a test holds the two together.
"""

from __future__ import annotations

from dragoman.dialect.ledger import LedgerNote


def _loss(what: str, action: str) -> LedgerNote:
    return LedgerNote("lost", what, action)


def _repair(what: str, action: str) -> LedgerNote:
    return LedgerNote("repaired", what, action)


# Values
NO_PLACE = _loss("a member that v2 has no place for", "left out")
WRONG = _loss("a value that breaks v1's own rules", "left out")
OUT_OF_BOUNDS = _loss("a number outside of v2's bounds", "left out")
BAD_TIME = _loss("a time that nobody can read", "left out")
LOCAL_TIME = _repair("a time without a zone", "read as UTC")
RELATIVE = _repair("a relative path", "made absolute with the session's folder")
NO_URI = _repair("a URI that is none", "made one")
AS_PATCH = _repair("a diff as two texts", "sent as the patch between them")
NO_CHOICE = _loss("a config option without choices, or whose value is none of them", "left out")
COMMAND = _loss("a command whose name has a space or occurs twice", "left out")
EMPTY_ENUM = _loss("an empty list of choices in a form", "left out")
FORM_TYPE = _repair("a form without its type or properties", "filled in")
FORM_VALUE = _repair("a form's value that v1 cannot hold", "sent as JSON text")
TERMINAL = _repair("a terminal that the client does not run", "shown as a terminal of the agent")

# Messages
CHUNK_ID = _repair("a chunk without a message id", "given one")
ECHO = _repair("the agent's own echo of a prompt", "said once, as the message that was acknowledged")
MODES = _repair("session modes", "offered as a config option")
LATE_ERROR = _repair("an error after a prompt was acknowledged", "sent as idle, with the error")
STOP_REASON = _loss("a stop reason that is not text", "left out")
NO_OPTIONS = _loss("a permission request without options", "answered with cancelled")
NO_SCOPE = _loss("a form that belongs to no open request or session", "refused")
FILES = _loss("a wish for the client's files or terminals", "refused: a v2 client lends none")
STRANGE_REQUEST = _loss("a request of the agent that is not the protocol's", "refused")
STRANGE_NOTE = _loss("a notification of the agent that is not the protocol's", "left out")
AFTER_CLOSE = _loss("an update of a closed session", "left out")

# What a v1 agent may lack
NO_SSE = _repair("MCP servers over SSE", "not offered: v2 has no such servers")
REPEATED = _repair("a repeated initialize", "answered with the agent's first answer")
NO_LIST = _loss("session/list at an agent without it", "answered with the sessions of this connection")
NO_CLOSE = _loss("session/close at an agent without it", "cancelled, and forgotten here")
NO_RESUME = _repair("session/resume at an agent that can only load", "loaded, and its replay swallowed")
CANNOT_RESUME = _loss("session/resume at an agent that cannot", "answered for sessions of this connection")
NO_LOGOUT = _loss("auth/logout at an agent without it", "refused")

LEDGER_NOTES: tuple[LedgerNote, ...] = tuple(
    value for value in list(globals().values()) if type(value) is LedgerNote
)
