"""The rules of a conversation, without a clock and without IO: ids, incoming requests, lifecycle, versions,
turns.
"""

from dragoman.core.connection import (
    CancellationReceived,
    Connection,
    ErrorReply,
    Event,
    Ignored,
    IncomingRequest,
    NotificationReceived,
    OutgoingCall,
    RequestReceived,
    ResponseReceived,
)
from dragoman.core.lifecycle import Lifecycle, negotiate
from dragoman.core.turns import STOP_REASONS, RunningTurn, TurnQueue

__all__ = [
    "STOP_REASONS",
    "CancellationReceived",
    "Connection",
    "ErrorReply",
    "Event",
    "Ignored",
    "IncomingRequest",
    "Lifecycle",
    "NotificationReceived",
    "OutgoingCall",
    "RequestReceived",
    "ResponseReceived",
    "RunningTurn",
    "TurnQueue",
    "negotiate",
]
