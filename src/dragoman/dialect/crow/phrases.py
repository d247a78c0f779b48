"""What the ledger may say about crow: each kind of loss or repair, in fixed words. The dialect's page in the
documentation lists exactly these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from dragoman.dialect.ledger import Outcome


class Phrase(NamedTuple):
    """An entry of the ledger, before it is counted."""

    outcome: Outcome
    what: str
    done: str


Note: TypeAlias = Callable[[Phrase], None]


def silent(phrase: Phrase) -> None:
    """For conversions that are only tried."""


# Between the first frames and the last.
VERSION = Phrase("repaired", "a protocol version that is no number", "taken for version 1")
INFO = Phrase("repaired", "an introduction without name or version", "filled in with unknown, or left out")
CLIENT_ABILITIES = Phrase("repaired", "client capabilities", "not told: crow has no methods for them")
AGENT_ABILITIES = Phrase(
    "repaired", "agent capabilities that crow does not name", "not told: crow has no methods for them"
)
AUDIO = Phrase("repaired", "prompt capability audio", "told under its own name, which crow does not know")
NO_TEXT = Phrase("lost", "prompt capability text: false", "left out: v1 demands text of every agent")
LOGIN = Phrase("lost", "ways to log in", "left out: crow has none")
CWD = Phrase("repaired", "a session without a folder", "opened in the configured folder")
SETTINGS = Phrase("repaired", "modes and options of a session", "told; crow has no method to choose")
SERVERS = Phrase("lost", "MCP servers of a session that is loaded", "left out: crow loads without them")
FOLDERS = Phrase("lost", "further folders of a session that is loaded", "left out: crow loads without them")

# Turns.
STOP_UNKNOWN_TO_CROW = Phrase("repaired", "a stop reason that crow does not know", "told as it is")
STOP_UNKNOWN = Phrase("repaired", "a stop reason that v1 does not know", "told as end_turn, kept in _meta")
STOP_ERROR = Phrase("repaired", "stop reason error", "told as error -32603 of the request")
ERROR_STOP = Phrase("repaired", "an error that ended a turn", "told as stop reason error, kept in _meta")
ERROR_ODD = Phrase("repaired", "an error without code or message", "told as error -32603")
INVALID_FIELD = Phrase(
    "repaired", "invalid params that name no field in data.errors", "taken from what the error says"
)
ANSWER_ODD = Phrase("lost", "an answer that makes no sense", "told as error -32603")

# Updates.
BESIDE = Phrase("repaired", "members of an update that crow does not name", "sent beside the others")
UNKNOWN_TO_CROW = Phrase("repaired", "an update that crow does not know", "sent under its v1 name")
NOT_TEXT = Phrase("repaired", "content that is not text", "described as text, with the block beside it")
PLAN_ID = Phrase("repaired", "a plan with an id", "sent as the plan: crow has one")
PLAN_OTHER = Phrase("lost", "a plan that is no list of entries", "dropped")
DEFAULTS = Phrase("repaired", "members that crow always shows", "filled in with v1's defaults")
KEPT = Phrase("repaired", "members that v1 does not name", "kept in _meta")
VALUES = Phrase("repaired", "values that v1 does not know", "replaced by v1's defaults, kept in _meta")
PLAIN_OUTPUT = Phrase("repaired", "output of a tool call that is plain text", "sent as a text block")
UNKNOWN_TO_V1 = Phrase("lost", "an update that v1 does not know", "kept in _meta of an empty update")
UPDATE_ODD = Phrase("lost", "an update that makes no sense", "dropped")

# Permission.
ASKED_AGAIN = Phrase("repaired", "a further question about a tool call", "asked under an id of its own")
ASKED_LATER = Phrase("repaired", "a second open question about a tool call", "asked after the first")
ASKED_BEFORE = Phrase(
    "repaired", "a permission request in the history of a session", "shown as its tool call; nobody is asked"
)
OPTION_KIND = Phrase("lost", "a question whose options give no kind", "refused without asking")
QUESTION_ODD = Phrase("lost", "a question that makes no sense", "refused without asking")
NOT_OFFERED = Phrase("repaired", "a choice that was not offered", "taken for cancelled")
NOT_CHOSEN = Phrase("repaired", "an answer to a question that chooses nothing", "taken for cancelled")
NOT_ASKED = Phrase("lost", "an answer to a question that is not open", "not passed on")
CHOICE_REFUSED = Phrase("lost", "a permission_response that the agent refused", "not told to the client")

# Everything else.
NO_METHOD = Phrase("lost", "a request that crow has no method for", "refused as method not found")
NOT_CROW = Phrase("lost", "a request that is not crow's", "refused as method not found")
NO_NOTIFICATION = Phrase("lost", "a notification that crow does not know", "dropped")
NOT_CROWS_NOTIFICATION = Phrase("lost", "a notification that is not crow's", "dropped")
ANSWER_TO_NOTHING = Phrase("lost", "an answer to nothing", "dropped")

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Phrase))
