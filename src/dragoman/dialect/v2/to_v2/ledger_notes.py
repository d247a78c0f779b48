"""All that can get lost or has to be mended between a v2 client and a v1 agent, in the ledger's words.

The page on v2 lists the same, and a test holds the two together.
"""

from __future__ import annotations

from dragoman.dialect.ledger import LedgerNote


def _lost(what: str, done: str) -> LedgerNote:
    return LedgerNote("lost", what, done)


def _repaired(what: str, done: str) -> LedgerNote:
    return LedgerNote("repaired", what, done)


# Values
NO_PLACE = _lost("a member that v2 has no place for", "left out")
WRONG = _lost("a value that breaks v1's own rules", "left out")
OUT_OF_BOUNDS = _lost("a number outside of v2's bounds", "left out")
BAD_TIME = _lost("a time that nobody can read", "left out")
LOCAL_TIME = _repaired("a time without a zone", "read as UTC")
RELATIVE = _repaired("a relative path", "made absolute with the session's folder")
NO_URI = _repaired("a URI that is none", "made one")
AS_PATCH = _repaired("a diff as two texts", "sent as the patch between them")
NO_CHOICE = _lost("a config option without choices, or whose value is none of them", "left out")
COMMAND = _lost("a command whose name has a space or occurs twice", "left out")
EMPTY_ENUM = _lost("an empty list of choices in a form", "left out")
FORM_TYPE = _repaired("a form without its type or properties", "filled in")
FORM_VALUE = _repaired("a form's value that v1 cannot hold", "sent as JSON text")
TERMINAL = _repaired(
    "a terminal that the client does not run", "shown, with what the agent says of its output"
)

# Messages
CHUNK_ID = _repaired("a chunk without a message id", "given one")
ECHO = _repaired("the agent's own echo of a prompt", "said once, as the message that was acknowledged")
MODES = _repaired("session modes", "offered as a config option")
LATE_ERROR = _repaired("an error after a prompt was acknowledged", "sent as idle, with the error")
STOP_REASON = _lost("a stop reason that is no text", "left out")
NO_OPTIONS = _lost("a permission request without options", "answered with cancelled")
NO_SCOPE = _lost("a form that belongs to no open request or session", "refused")
FILES = _lost("a wish for the client's files or terminals", "refused: a v2 client lends none")
STRANGE_REQUEST = _lost("a request of the agent that is not the protocol's", "refused")
STRANGE_NOTE = _lost("a notification of the agent that is not the protocol's", "left out")
AFTER_CLOSE = _lost("an update of a closed session", "left out")

# What a v1 agent may lack
NO_SSE = _repaired("MCP servers over SSE", "not offered: v2 has no such servers")
REPEATED = _repaired("a repeated initialize", "answered with the agent's first answer")
NO_LIST = _lost("session/list at an agent without it", "answered with the sessions of this connection")
NO_CLOSE = _lost("session/close at an agent without it", "cancelled, and forgotten here")
NO_RESUME = _repaired("session/resume at an agent that can only load", "loaded, and its replay swallowed")
CANNOT_RESUME = _lost("session/resume at an agent that cannot", "answered for sessions of this connection")
NO_LOGOUT = _lost("auth/logout at an agent without it", "refused")

LEDGER_NOTES: tuple[LedgerNote, ...] = tuple(
    value for value in list(globals().values()) if type(value) is LedgerNote
)
