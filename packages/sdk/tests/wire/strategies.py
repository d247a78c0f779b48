"""Envelopes and frames for properties: good ones, bad ones, and good ones that something happened to."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dragoman.wire import (
    Envelope,
    ErrorObject,
    Failure,
    Id,
    Notification,
    Request,
    Response,
    encode,
)
from tests.wire.corpus import NO_MESSAGE, NOT_JSON

# Everything that UTF-8 can carry; the names of members are mixed in, because a reader may trip over them.
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["id", "method", "params", "result", '"id"', '"method"', "}\n{", "\\", "\\ud800", "\ufffd"]
    ),
)

ids: st.SearchStrategy[Id] = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, 2**53 + 1, 10**30]), texts, st.none()
)

values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)

raws = values.map(lambda value: Raw(msgspec.json.encode(value)))
params = st.none() | raws

requests = st.builds(Request, ids, texts, params)
notifications = st.builds(Notification, texts, params)
responses = st.builds(Response, ids, raws)
errors = st.builds(ErrorObject, st.integers(-40_000, 1_000), texts, st.just(UNSET) | values)
failures = st.builds(Failure, ids, errors)

envelopes: st.SearchStrategy[Envelope] = st.one_of(requests, notifications, responses, failures)

good_frames = envelopes.map(lambda envelope: encode(envelope)[:-1])

# Members in any order, any number of times, of any type: envelopes as a careless peer would write them.
_names = st.sampled_from(
    [b"jsonrpc", b"id", b"method", b"params", b"result", b"error", b"_meta", rb"m\u0065thod", rb"\u0069d"]
)
_members = st.one_of(
    st.sampled_from(
        [b'"2.0"', b"2.0", b'"m"', b"null", b"{}", b"[]", b"1", b"true", b"1e400", rb'"\ud800"', b'{"id":1}']
    ),
    values.map(msgspec.json.encode),
)
odd_frames = st.lists(st.tuples(_names, _members), max_size=7).map(
    lambda pairs: b"{%b}" % b",".join(b'"%b":%b' % pair for pair in pairs)
)


@st.composite
def damaged_frames(draw: st.DrawFn) -> bytes:
    """A good frame with a piece cut out, put in or doubled."""
    frame = draw(good_frames)
    start = draw(st.integers(0, len(frame)))
    end = draw(st.integers(start, len(frame)))
    piece = draw(
        st.sampled_from([b"", frame[start:end] * 2, b"{", b"}", b'"', b",", b"\\", b"\xff", b"\r", b"{}"])
    )
    return (frame[:start] + piece + frame[end:]).replace(b"\n", b"")


bad_frames = st.one_of(
    st.sampled_from([*NOT_JSON.values(), *NO_MESSAGE.values()]),
    odd_frames,
    damaged_frames(),
    st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from([b"", b" ", b"\r", b"\t \r"]),
)

frames = good_frames | bad_frames
