"""Many updates at once: a block in which each frame is an update with the hub's mark in its usual place.

That is what nearly all of a replay and of a stream is; taken one by one, the marks would cost more than the
updates. What looks different in any way is none of this, and is read frame by frame. Nothing is parsed here:
the hub has parsed what it sends, and the editor is given the same bytes without the mark. Knows no sessions.
"""

from __future__ import annotations

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{'

_MARK = UPDATE + b'"_meta":{"dragoman":{"cursor":"'

_SESSION = b'"}},"sessionId":"'
"""Between the cursor and the session: the mark is the whole `_meta`, so nothing of somebody else's goes."""


def remove_marks(block: bytes) -> tuple[bytes, dict[str, str]] | None:
    """The block without its marks, and the last cursor of each session; None if it is not a block of
    marked updates.
    """
    if not block.startswith(_MARK):  # nearly always enough to tell
        return None
    # A frame holds no newline, so what stands behind one is the beginning of a frame.
    frames = block[len(_MARK) :].split(b"\n" + _MARK)
    if len(frames) != block.count(b"\n") + (not block.endswith(b"\n")):
        return None
    return _of_one_session(frames) or _of_many(frames)


def _of_one_session(frames: list[bytes]) -> tuple[bytes, dict[str, str]] | None:
    """What nearly every block is: all marks are cut off by the same words behind them."""
    _, _, behind = frames[0].partition(_SESSION)
    session, end, _ = behind.partition(b'"')
    if not end or b"\\" in session or not session.isascii():
        return None
    words = _SESSION + session + end
    cuts = [frame.partition(words) for frame in frames]
    heads = [cursor for cursor, _, _ in cuts]
    if not (b"".join(heads).isdigit() and all(heads)) or not all(found for _, found, _ in cuts):
        return None
    between = UPDATE + b'"sessionId":"' + session + end
    whole = between + (b"\n" + between).join([rest for _, _, rest in cuts])
    return whole, {session.decode(): heads[-1].decode()}


def _of_many(frames: list[bytes]) -> tuple[bytes, dict[str, str]] | None:
    parts = []
    cursors: dict[bytes, bytes] = {}
    for frame in frames:
        at = frame.find(_SESSION)
        begin = at + len(_SESSION)
        session = frame[begin : frame.find(b'"', begin)]
        cursor = frame[:at]
        if at < 0 or not (cursor.isdigit() or _is_part(cursor)) or b"\\" in session or not session.isascii():
            return None
        cursors[session] = cursor
        parts.append(frame[begin:])
    between = UPDATE + b'"sessionId":"'
    whole = between + (b"\n" + between).join(parts)
    return whole, {session.decode(): cursor.decode() for session, cursor in cursors.items()}


def _is_part(cursor: bytes) -> bool:
    """Of an entry that is told in several messages."""
    return cursor.replace(b".", b"", 1).isdigit()
