"""A request that names a member twice is found, however it is written; others are not suspected."""

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire import MalformedFrame, Notification, Request, decode, decode_block
from dragoman.wire.codes import INVALID_REQUEST
from tests.every import every
from tests.wire.strategies import odd_frames, requests, texts

GOOD = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}'
DOUBLED = {
    "JSN-20 method": b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}',
    "JSN-20 id": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}',
    "params": b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1},"params":{"x":2}}',
    "equal params": b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1},"params":{"x":1}}',
    "params are numbers": b'{"jsonrpc":"2.0","id":1,"method":"a","params":1,"params":12}',
    "shorter number": b'{"jsonrpc":"2.0","id":1,"method":"a","params":12,"params":1}',
    "equal ids": b'{"jsonrpc":"2.0","id":"x","id":"x","method":"a"}',
    "escaped behind": rb'{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}',
    "escaped before": rb'{"jsonrpc":"2.0","id":1,"m\u0065thod":"a","method":"b"}',
    "escaped twice": rb'{"jsonrpc":"2.0","\u0069d":1,"\u0069\u0064":2,"method":"b"}',
    "escaped params": rb'{"jsonrpc":"2.0","id":1,"method":"a","p\u0061rams":{},"params":{}}',
    "around params": b'{"id":1,"jsonrpc":"2.0","method":"a","params":{"id":3},"id":2}',
    "with blanks": b'{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "a" , "id" : 1 }',
    "digits": b'{"id":1,"method":"a","params":{"n":%b},"id":2,"jsonrpc":"2.0"}' % (b"9" * 5000),
    "digits elsewhere": b'{"id":1,"method":"a","x":%b,"id":2,"jsonrpc":"2.0"}' % (b"9" * 5000),
    "beyond floats": b'{"id":1,"method":"a","x":1e400,"id":2,"jsonrpc":"2.0"}',
    "large": b'{"id":1,"method":"a","params":["%b"],"id":2,"jsonrpc":"2.0"}' % (b"x" * 5000),
    "with half a surrogate pair": rb'{"id":1,"method":"\ud800","id":2,"jsonrpc":"2.0"}',
}


@every("frame", DOUBLED.values(), ids=DOUBLED)
def test_a_request_that_says_something_twice_is_refused(frame: bytes) -> None:
    envelope = decode(frame)
    assert isinstance(envelope, MalformedFrame)
    assert (envelope.frame, envelope.code) == (frame, INVALID_REQUEST)
    assert decode_block(frame + b"\n") == [envelope]


@every("frame", DOUBLED.values(), ids=DOUBLED)
@every("neighbour", [GOOD, b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","method":"b"}'])
def test_no_neighbour_in_the_block_hides_it(frame: bytes, neighbour: bytes) -> None:
    for sent in ([neighbour, frame], [frame, neighbour], [neighbour, frame, neighbour]):
        block = b"".join(line + b"\n" for line in sent)
        assert decode_block(block) == [decode(line) for line in sent]


@every(
    "frame",
    [
        GOOD,
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":1,"method":"b","params":{"id":2}}}',
        b'{"params":{"id":1,"method":"b","params":[]},"method":"a","id":1,"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":"id","method":"method","params":["params","id","method"]}',
        b'{"jsonrpc":"2.0","id":"params","method":"params","params":{}}',
        b'{"_meta":{"params":{"x":1},"id":7},"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}',
        b'{"_meta":{"params":12},"jsonrpc":"2.0","id":1,"method":"a","params":1}',
        rb'{"jsonrpc":"2.0","id":1,"method":"a","params":{"text":"\"id\":\"method\""}}',
        rb'{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"a","p\u0061rams":{}}',
        b'{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "a" , "params" : { "id" : 1 } }',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":1,"x":"%b"}}' % (b"x" * 5000),
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2},"_meta":1,"_meta":2}',
        b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"a"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":%b%b}}' % (b"[" * 300, b"]" * 300),
    ],
)
def test_a_request_that_only_looks_doubled_is_read(frame: bytes) -> None:
    assert isinstance(decode(frame), Request)
    assert decode_block(frame + b"\n") == [decode(frame)]


def test_only_requests_are_refused_for_it() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"a","method":"b"}') == Notification("b")
    assert not isinstance(decode(b'{"id":1,"result":1,"result":2}'), MalformedFrame)


@given(frame=odd_frames)
def test_every_request_that_is_read_names_its_members_once(frame: bytes) -> None:
    if isinstance(decode(frame), Request):
        names = [name for name, _ in json.loads(frame, object_pairs_hook=list)]
        assert all(names.count(name) == 1 for name in ("id", "method", "params") if name in names)


@given(sent=requests, again=st.sampled_from(["id", "method", "params"]), ascii=st.booleans(), value=texts)
def test_a_member_added_to_any_request_is_found(sent: Request, again: str, ascii: bool, value: str) -> None:
    params = "{}" if sent.params is None else bytes(sent.params).decode()
    members = [
        '"jsonrpc": "2.0"',
        f'"id": {json.dumps(sent.id, ensure_ascii=ascii)}',
        f'"method": {json.dumps(sent.method, ensure_ascii=ascii)}',
        f'"params": {params}',
    ]
    assert isinstance(decode(f"{{{', '.join(members)}}}".encode()), Request)
    members.insert(1, f'"{again}": {json.dumps(value)}')
    assert isinstance(decode(f"{{{', '.join(members)}}}".encode()), MalformedFrame)
