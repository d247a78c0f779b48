"""How a fault changes a frame: the pieces to send, and the waits between them. Pure.

Order is never changed and no byte of a message is: what a pipe cannot do, chaos does not do. Answers can be
dropped or replaced by an error, notifications doubled or followed by ones that nobody knows; requests are
left alone, because a request that is doubled would be a lie of ours.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dragoman.wire.decode import read_value
from dragoman.wire.envelope import JsonObject, as_object
from dragoman_check.trace.chaos.faults import ChaosFault

UNKNOWN = b'{"jsonrpc":"2.0","method":"_chaos/nobody_knows_this","params":{"n":1}}\n'


class Piece(Struct, frozen=True):
    """Bytes to send after a wait."""

    block: bytes
    wait: float = 0.0


class DisturbedFrame(Struct):
    """The disturbed form of a frame."""

    pieces: list[Piece]
    struck: list[ChaosFault]
    """The faults that really happened: a fault for an answer does nothing to a notification."""
    kill: bool = False
    stall: float = 0.0
    later: list[bytes] = []
    """To be sent after the next answer."""


def disturb(frame: bytes, faults: list[ChaosFault]) -> DisturbedFrame:
    """Apply these faults to one frame, with its newline."""
    message = as_object(read_value(frame))
    disturbance = DisturbedFrame([Piece(frame)], [])
    for fault in faults:
        if _strike(fault, message, frame, disturbance):
            disturbance.struck.append(fault)
    return disturbance


def _strike(fault: ChaosFault, message: JsonObject, frame: bytes, disturbance: DisturbedFrame) -> bool:
    is_answer = "method" not in message and "id" in message
    is_note = "method" in message and "id" not in message
    match fault.kind:
        case "delay":
            disturbance.pieces = [
                Piece(piece.block, piece.wait + fault.amount) for piece in disturbance.pieces[:1]
            ] + disturbance.pieces[1:]
        case "split" if len(frame) > 1 and disturbance.pieces:
            cut = max(1, min(len(frame) - 1, int(len(frame) * fault.amount)))
            first = disturbance.pieces[0]
            if first.block != frame:
                return False
            disturbance.pieces[0:1] = [Piece(frame[:cut], first.wait), Piece(frame[cut:], 0.02)]
        case "stall":
            disturbance.stall = max(disturbance.stall, fault.amount)
        case "kill":
            disturbance.kill = True
        case "duplicate" if is_note:
            disturbance.pieces.append(Piece(frame))
        case "drop answer" if is_answer:
            disturbance.pieces = []
        case "fail answer" if is_answer and disturbance.pieces:
            error = {"code": -32603, "message": "Internal error"}
            error_answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
            disturbance.pieces = [
                Piece(msgspec.json.encode(error_answer) + b"\n", disturbance.pieces[0].wait)
            ]
        case "unknown" if is_note or is_answer:
            disturbance.pieces.append(Piece(UNKNOWN))
        case "flood" if is_note:
            disturbance.pieces.append(Piece(frame * int(fault.amount)))
        case "late" if is_note:
            disturbance.pieces, disturbance.later = [], [frame]
        case _:
            return False
    return True
