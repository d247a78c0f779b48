"""Runs of requests: read in one go only when they are plainly that, and then as `decode_block` reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire import Request, decode_block, request
from dragoman.wire.plain import plain_requests
from tests.every import every

params = st.sampled_from([b"{}", b'{"path":"/a"}', b"[1,2]", b'{"a":{"b":"c"}}'])
methods = st.sampled_from(["fs/read_text_file", "fs/write_text_file", "_x"])
good = st.builds(request, st.integers(0, 10**9), methods, params)
odd = st.sampled_from(
    [
        b'{"jsonrpc":"2.0","id":"1","method":"a","params":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"id":2}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"method":"b"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{"b":1}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"\\u0069d":2}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"more":2}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":2}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"text":"\xc3"}}\n',
        b'{"jsonrpc":"1.0","id":1,"method":"a","params":{}}\n',
        b'{"jsonrpc":"2.0","id":true,"method":"a","params":{}}\n',
        request(1, "a", b"{}")[:-1] + b" " + request(2, "a", b"{}"),
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","method":"session/update","params":{}}\n',
        b"\n",
        b"garbage\n",
    ]
)


@given(st.lists(good, min_size=2, max_size=20))
def test_a_run_of_plain_requests_is_read_as_it_would_be_one_by_one(frames: list[bytes]) -> None:
    block = b"".join(frames)
    read = [(one.id, one.method, bytes(one.params)) for one in plain_requests(block)]
    slow = [(e.id, e.method, bytes(e.params or b"")) for e in decode_block(block) if isinstance(e, Request)]
    assert read == slow
    assert len(read) == len(frames)


@given(st.lists(good, max_size=5), odd, st.lists(good, max_size=5))
def test_anything_else_among_them_is_left_to_the_long_way(
    before: list[bytes], other: bytes, after: list[bytes]
) -> None:
    assert plain_requests(b"".join([*before, other, *after])) == []


@every("block", [b"", b"{", request(1, "a", b"{}"), request(1, "a", b"{}") * 2 + b"{"])
def test_a_lone_request_and_what_is_no_whole_line_are_not_a_run(block: bytes) -> None:
    assert plain_requests(block) == []
