"""The interpreter: dialects of the protocol and its second version, each translated to v1 and back.

A pure room. `edge` says what a dialect is, `translator` runs blocks of frames through it, `ledger` says what
could not be carried, `names` knows all dialects.
"""

from dragoman.dialect.edge import Consent, Edge, EdgeSettings, Out, Toward
from dragoman.dialect.ledger import DialectDecision, Ledger, LedgerEntry, Reason
from dragoman.dialect.message import Message
from dragoman.dialect.names import AUTO, CHOICES, DIALECTS, Position, make_edge
from dragoman.dialect.translator import TranslatedFrames, Translator

__all__ = [
    "AUTO",
    "CHOICES",
    "DIALECTS",
    "Consent",
    "DialectDecision",
    "Edge",
    "EdgeSettings",
    "Ledger",
    "LedgerEntry",
    "Message",
    "Out",
    "Position",
    "Reason",
    "Toward",
    "TranslatedFrames",
    "Translator",
    "make_edge",
]
