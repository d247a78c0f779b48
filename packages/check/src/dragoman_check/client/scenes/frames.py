"""Sends malformed frames and frames in unusual pieces, and a correct frame after each."""

from __future__ import annotations

from dragoman_check.client.connection import ClientSilence, is_answer_to
from dragoman_check.client.turn import SHORT, StandInTurn

BAD: dict[str, bytes] = {
    "no JSON": b"{",
    "words": b"Debug: this is not for you",
    "not UTF-8": b'{"jsonrpc":"2.0","id":5001,"method":"\xff"}',
    "no version": b'{"id":5002,"method":"nope/nope","params":{}}',
    "other version": b'{"jsonrpc":"1.0","id":5003,"method":"nope/nope","params":{}}',
    "a number": b"42",
    "a string": b'"x"',
    "empty object": b"{}",
    "method is a number": b'{"jsonrpc":"2.0","id":5004,"method":5}',
    "empty batch": b"[]",
    "batch of a notification": b'[{"jsonrpc":"2.0","method":"_tck/n"}]',
    "batch of a request": b'[{"jsonrpc":"2.0","id":5005,"method":"nope/nope"}]',
}

MEGABYTE = 1_000_000


async def bad_frames(turn: StandInTurn) -> None:
    for name, line in BAD.items():
        async with turn.stretch(name):
            turn.connection.send(line + b"\n")
    async with turn.stretch("after all"):
        turn.say("You are still there. That was all.")


async def streams(turn: StandInTurn) -> None:
    """Send bytes cut in any way, which must not matter."""
    request = b'{"jsonrpc":"2.0","id":"%b","method":"_tck/x","params":{}}'
    await _send_block(turn, "CRLF", request % b"crlf" + b"\r\n", "crlf")
    await _send_block(turn, "blank lines", b"\n\r\n  \n" + request % b"blank" + b"\n", "blank")
    dragon = "\U0001f409\u00e9"
    await _send_block(turn, "dribbled", request % dragon.encode() + b"\n", dragon, pieces=1)
    both = request % b"first" + b"\n" + request % b"second" + b"\n"
    await _send_block(turn, "two in one write", both, "second")
    head = b'{"jsonrpc":"2.0","id":"long","method":"_tck/x","params":{"pad":"'
    await _send_block(turn, "1 MB", head + b"x" * MEGABYTE + b'"}}\n', "long")


async def _send_block(
    turn: StandInTurn, name: str, block: bytes, request_id: str, *, pieces: int = 0
) -> None:
    first = turn.position
    turn.connection.send(block, pieces=pieces)
    try:
        await turn.until(lambda frame: is_answer_to(frame, request_id), seconds=2 * SHORT, since=first)
    except ClientSilence:
        pass  # the next one is cut in another way
    finally:
        turn.mark(name, first)
