"""Runs of answers: read in one go only when they are plainly that, and then as `decode_block` reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire import Response, decode_block, response
from dragoman.wire.plain import plain_answers
from tests.every import every
from tests.wire.strategies import frames

results = st.sampled_from([b"{}", b"null", b'{"content":"a\\nb"}', b"[1,2]", '{"a":"ü"}'.encode()])
good = st.builds(response, st.integers(0, 10**9), results)
odd = st.sampled_from(
    [
        b'{"jsonrpc":"2.0","id":"1","result":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}\n',
        b'{"id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":true,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}} {"jsonrpc":"2.0","id":2,"result":{}}\n',
        b'{"jsonrpc":"2.0","method":"session/update","params":{}}\n',
        b"\n",
        b"garbage\n",
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xed\xa0\x80"}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}\n',
    ]
)


@given(st.lists(good, min_size=1, max_size=20))
def test_a_run_of_plain_answers_is_read_as_it_would_be_one_by_one(frames: list[bytes]) -> None:
    block = b"".join(frames)
    read = [(answer.id, bytes(answer.result)) for answer in plain_answers(block)]
    slow = [(e.id, bytes(e.result)) for e in decode_block(block) if isinstance(e, Response)]
    assert read == slow
    assert len(read) == len(frames)


@given(st.lists(good, max_size=5), odd, st.lists(good, max_size=5))
def test_anything_else_among_them_is_left_to_the_long_way(
    before: list[bytes], other: bytes, after: list[bytes]
) -> None:
    assert plain_answers(b"".join([*before, other, *after])) == []


@given(st.lists(good | frames.map(lambda frame: frame + b"\n"), max_size=4))
def test_whatever_is_read_by_the_short_way_is_read_the_same_by_the_long_way(sent: list[bytes]) -> None:
    block = b"".join(sent)
    read = plain_answers(block)
    if read:
        envelopes = decode_block(block)
        assert all(isinstance(one, Response) for one in envelopes)
        assert [(one.id, bytes(one.result)) for one in envelopes if isinstance(one, Response)] == [
            (one.id, bytes(one.result)) for one in read
        ]


@every("block", [b"", b"{", b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":'])
def test_what_is_no_whole_line_is_not_a_run(block: bytes) -> None:
    assert plain_answers(block) == []
