"""W3C Trace Context in `_meta`: what is read, what is not, what is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.api.observability.trace_context import (
    MOST_MEMBERS,
    TraceContext,
    read_meta,
    read_state,
    with_context,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID = f"00-{TRACE}-{SPAN}-01"


def test_a_context_is_read() -> None:
    assert read_meta({"traceparent": VALID, "tracestate": "rojo=00f0, congo = no"}) == TraceContext(
        int(TRACE, 16), int(SPAN, 16), 1
    )
    found = read_meta({"traceparent": VALID, "tracestate": "rojo=00f0,congo=t61"})
    assert found is not None
    assert found.state == (("rojo", "00f0"), ("congo", "t61"))


@pytest.mark.parametrize(
    "parent",
    [
        None,
        7,
        "",
        VALID.upper(),
        VALID[:-1],
        VALID + "0",
        VALID + "\n",
        VALID + "-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"0-{TRACE}-{SPAN}-01",
        f"00_{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0x",
        f"00-{TRACE}-{SPAN}-٠١",
        "00-0-0-00",
        [VALID],
    ],
)
def test_garbage_is_no_context(parent: object) -> None:
    assert read_meta({"traceparent": parent}) is None


def test_nothing_is_no_context() -> None:
    assert read_meta(None) is None
    assert read_meta({"tracestate": "rojo=1"}) is None


def test_a_later_version_may_say_more_and_unknown_flags_are_dropped() -> None:
    found = read_meta({"traceparent": f"cc-{TRACE}-{SPAN}-ff-what-comes-next"})
    assert found is not None
    assert found.traceparent == VALID


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("a=1,,b=2, ", 2),
        ("tenant@system=x", 1),
        ("0a=1", 1),
        ("A=1", 0),
        ("a=1,a=2", 0),
        ("a", 0),
        ("a=", 0),
        ("a=b=c", 0),
        ("a=\x7f", 0),
        ("a=ü", 0),
        (",".join(f"k{n}=v" for n in range(MOST_MEMBERS)), MOST_MEMBERS),
        (",".join(f"k{n}=v" for n in range(MOST_MEMBERS + 1)), 0),
        (f"a={'x' * 257}", 0),
        (",".join(f"k{n}={'x' * 200}" for n in range(20)), 0),
        (None, 0),
    ],
)
def test_a_state_is_read_whole_or_not_at_all(text: object, members: int) -> None:
    assert len(read_state(text)) == members


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans())
def test_what_is_written_is_read_back(trace: int, span: int, sampled: bool) -> None:
    context = TraceContext(trace, span, int(sampled), (("a", "1"), ("b@c", "x y")))
    meta = with_context({"dragoman": {"key": "k"}, "traceparent": "old", "tracestate": "old"}, context)
    assert meta["dragoman"] == {"key": "k"}
    assert read_meta(meta) == context


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    assert read_meta({"traceparent": text, "tracestate": text}) is None
    read_state(text)
