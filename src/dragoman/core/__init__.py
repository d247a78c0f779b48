"""The rules of a conversation, without a clock and without IO: ids, debts, lifecycle, versions, turns."""

from dragoman.core.connection import (
    Answered,
    Asked,
    Call,
    CancelAsked,
    Complaint,
    Connection,
    Debt,
    Event,
    Ignored,
    Told,
)
from dragoman.core.lifecycle import Lifecycle
from dragoman.core.negotiation import negotiate
from dragoman.core.turns import STOP_REASONS, RunningTurn, Turns

__all__ = [
    "STOP_REASONS",
    "Answered",
    "Asked",
    "Call",
    "CancelAsked",
    "Complaint",
    "Connection",
    "Debt",
    "Event",
    "Ignored",
    "Lifecycle",
    "RunningTurn",
    "Told",
    "Turns",
    "negotiate",
]
