"""The interpreter: dialects of the protocol and its second version, each translated to v1 and back.

A pure room. `edge` says what a dialect is, `translator` runs blocks of frames through it, `ledger` says what
could not be carried, `names` knows all dialects.
"""

from dragoman.dialect.decision import Decision, Reason
from dragoman.dialect.edge import Consent, Edge, Out, Settings, Toward
from dragoman.dialect.ledger import Entry, Ledger
from dragoman.dialect.message import Message
from dragoman.dialect.names import AUTO, CHOICES, DIALECTS, Position, make_edge
from dragoman.dialect.translator import Passed, Translator

__all__ = [
    "AUTO",
    "CHOICES",
    "DIALECTS",
    "Consent",
    "Decision",
    "Edge",
    "Entry",
    "Ledger",
    "Message",
    "Out",
    "Passed",
    "Position",
    "Reason",
    "Settings",
    "Toward",
    "Translator",
    "make_edge",
]
