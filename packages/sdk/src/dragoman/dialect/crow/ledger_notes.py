"""The kinds of loss and repair that the ledger may record for crow. The dialect's page in the documentation
lists exactly these.
"""

from __future__ import annotations

from dragoman.dialect.ledger import LedgerNote

# Between the first frames and the last.
VERSION = LedgerNote("repaired", "a protocol version that is not a number", "taken for version 1")
INFO = LedgerNote(
    "repaired", "an introduction without name or version", "filled in with unknown, or left out"
)
CLIENT_ABILITIES = LedgerNote("repaired", "client capabilities", "not sent: crow has no methods for them")
AGENT_ABILITIES = LedgerNote(
    "repaired", "agent capabilities that crow does not name", "not sent: crow has no methods for them"
)
AUDIO = LedgerNote("repaired", "prompt capability audio", "sent under its own name, which crow does not know")
NO_TEXT = LedgerNote("lost", "prompt capability text: false", "left out: v1 demands text of every agent")
LOGIN = LedgerNote("lost", "ways to log in", "left out: crow has none")
CWD = LedgerNote("repaired", "a session without a folder", "opened in the configured folder")
SETTINGS = LedgerNote("repaired", "modes and options of a session", "sent; crow has no method to choose")
SERVERS = LedgerNote("lost", "MCP servers of a session that is loaded", "left out: crow loads without them")
FOLDERS = LedgerNote(
    "lost", "further folders of a session that is loaded", "left out: crow loads without them"
)

# Turns.
STOP_UNKNOWN_TO_CROW = LedgerNote("repaired", "a stop reason that crow does not know", "sent as it is")
STOP_UNKNOWN = LedgerNote(
    "repaired", "a stop reason that v1 does not know", "sent as end_turn, kept in _meta"
)
STOP_ERROR = LedgerNote("repaired", "stop reason error", "sent as error -32603 of the request")
ERROR_STOP = LedgerNote("repaired", "an error that ended a turn", "sent as stop reason error, kept in _meta")
ERROR_ODD = LedgerNote("repaired", "an error without code or message", "sent as error -32603")
INVALID_FIELD = LedgerNote(
    "repaired", "invalid params that name no field in data.errors", "taken from what the error says"
)
ANSWER_ODD = LedgerNote("lost", "an answer that makes no sense", "sent as error -32603")

# Updates.
BESIDE = LedgerNote("repaired", "members of an update that crow does not name", "sent beside the others")
UNKNOWN_TO_CROW = LedgerNote("repaired", "an update that crow does not know", "sent under its v1 name")
NOT_TEXT = LedgerNote("repaired", "content that is not text", "described as text, with the block beside it")
PLAN_ID = LedgerNote("repaired", "a plan with an id", "sent as the plan: crow has one")
PLAN_OTHER = LedgerNote("lost", "a plan that is not a list of entries", "dropped")
DEFAULTS = LedgerNote("repaired", "members that crow always shows", "filled in with v1's defaults")
KEPT = LedgerNote("repaired", "members that v1 does not name", "kept in _meta")
VALUES = LedgerNote("repaired", "values that v1 does not know", "replaced by v1's defaults, kept in _meta")
PLAIN_OUTPUT = LedgerNote("repaired", "output of a tool call that is plain text", "sent as a text block")
UNKNOWN_TO_V1 = LedgerNote("lost", "an update that v1 does not know", "kept in _meta of an empty update")
UPDATE_ODD = LedgerNote("lost", "an update that makes no sense", "dropped")

# Permission.
ASKED_AGAIN = LedgerNote("repaired", "a further question about a tool call", "asked under an id of its own")
ASKED_LATER = LedgerNote("repaired", "a second open question about a tool call", "asked after the first")
ASKED_BEFORE = LedgerNote(
    "repaired", "a permission request in the history of a session", "shown as its tool call; nobody is asked"
)
OPTION_KIND = LedgerNote("lost", "a question whose options give no kind", "refused without asking")
QUESTION_ODD = LedgerNote("lost", "a question that makes no sense", "refused without asking")
NOT_OFFERED = LedgerNote("repaired", "a choice that was not offered", "taken for cancelled")
NOT_CHOSEN = LedgerNote("repaired", "an answer to a question that chooses nothing", "taken for cancelled")
NOT_ASKED = LedgerNote("lost", "an answer to a question that is not open", "not passed on")
CHOICE_REFUSED = LedgerNote("lost", "a permission_response that the agent refused", "not sent to the client")

# Everything else.
NO_METHOD = LedgerNote("lost", "a request that crow has no method for", "refused as method not found")
NOT_CROW = LedgerNote("lost", "a request that is not crow's", "refused as method not found")
NO_NOTIFICATION = LedgerNote("lost", "a notification that crow does not know", "dropped")
NOT_CROWS_NOTIFICATION = LedgerNote("lost", "a notification that is not crow's", "dropped")
ANSWER_TO_NOTHING = LedgerNote("lost", "an answer to nothing", "dropped")

ALL = tuple(value for value in list(globals().values()) if isinstance(value, LedgerNote))
