"""A plain notification says what `decode` says of the same bytes, or nothing."""

from __future__ import annotations

import msgspec
from hypothesis import example, given
from msgspec import Raw

from dragoman.wire import MalformedFrame, Notification, decode
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.plain import PlainNotification
from tests.every import every
from tests.wire.corpus import BAD_VALUES
from tests.wire.strategies import frames

_decoder = msgspec.json.Decoder(PlainNotification[str, Raw])


def plain(frame: bytes) -> PlainNotification[str, Raw] | None:
    try:
        return _decoder.decode(frame)
    except UNREADABLE_TEXT:
        return None


@given(frame=frames)
@example(frame=b'{"jsonrpc":"2.0","method":"m","params":{}}')
@example(frame=b'{"jsonrpc":"2.0","method":"m","params":{},"params":[]}')
@example(frame=b'{"jsonrpc":"2.0","method":"m","method":"n","params":{}}')
@example(frame=rb'{"jsonrpc":"2.0","method":"m","params":{},"\u0069d":7}')
@example(frame=b'{"jsonrpc":"2.0","method":"m","params":{}}{}')
@example(frame=b'{"jsonrpc":"2.0","method":"m","params":{},"jsonrpc":"1.0"}')
@example(frame=rb'{"jsonrpc":"2.0","method":"m","params":"\ud800"}')
def test_a_plain_notification_is_the_one_that_decode_reads(frame: bytes) -> None:
    read = plain(frame)
    if read is not None and (frame.isascii() or _is_utf8(frame)):
        message = decode(frame)
        assert isinstance(message, Notification)
        assert (message.method, bytes(message.params or b"")) == (read.method, bytes(read.params))


def _is_utf8(frame: bytes) -> bool:
    try:
        frame.decode()
    except UnicodeDecodeError:
        return False
    return True


@every("name", BAD_VALUES)
def test_params_that_nobody_reads_are_checked_all_the_same(name: str) -> None:
    frame = b'{"jsonrpc":"2.0","method":"m","params":%b}' % BAD_VALUES[name]
    assert isinstance(decode(frame), MalformedFrame)
    assert plain(frame) is None or not _is_utf8(frame)
