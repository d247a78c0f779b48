"""Secrets are hidden wherever they stand, also when they were cut in two, and each is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from dragoman_check.trace.tap.recorder import MOST, EntryBacklog
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_local.journal.contract import Entry
from tests.every import every

KEY = "sk-" + "a1B2" * 8


def to_json(value: object) -> bytes:
    return json.dumps(value).encode()


def chunk(
    text: str,
    *,
    session: str = "s",
    kind: str = "agent_message_chunk",
    write: Callable[[object], bytes] = to_json,
) -> Entry:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    frame = write({"jsonrpc": "2.0", "method": "session/update", "params": params})
    return Entry("to_client", frame, 1.0)


def texts(entries: list[Entry]) -> list[str]:
    return [json.loads(entry.frame)["params"]["update"]["content"]["text"] for entry in entries]


def recorded(secrets: SecretFilter, entries: list[Entry]) -> list[Entry]:
    holding = EntryBacklog(secrets)
    written = [entry for one in entries for entry in holding.add([one]).entries]
    return written + holding.release().entries


def test_values_of_secret_variables_are_hidden_in_every_form() -> None:
    secrets = SecretFilter({"API_KEY": 'a"b\\cé-secret', "HOME": "/home/somebody", "TOKEN": "abc"})
    line = json.dumps({"text": 'x a"b\\cé-secret y', "home": "/home/somebody abc"}).encode()
    [hidden] = secrets.hide_all([line])
    assert json.loads(hidden) == {"text": "x [redacted] y", "home": "/home/somebody abc"}
    assert secrets.count == 1


def test_a_line_without_secrets_stays_the_same_object() -> None:
    line = b'{"text":"nothing to see"}'
    assert SecretFilter({"A_TOKEN": "0123456789"}).hide_all([line])[0] is line


@given(st.lists(st.integers(0, len(KEY) + 12), max_size=5))
def test_a_key_is_found_however_a_message_was_cut(cuts: list[int]) -> None:
    whole = f"use {KEY} now"
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[first:last] for first, last in pairwise(edges)]
    secrets = SecretFilter({})
    written = recorded(secrets, [chunk(piece) for piece in pieces])
    assert len(written) == len(pieces)
    assert "".join(texts(written)) == "use [redacted] now"
    assert secrets.count == 1


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 9), st.integers(0, 90))
def test_a_key_is_found_however_its_pieces_pass_together(sizes: list[int], before: int, cut: int) -> None:
    whole = "word " * before + f"use {KEY} now "
    edges = [0]
    for size in [*sizes, len(whole)]:
        edges.append(min(edges[-1] + size, len(whole)))
    entries = [chunk(whole[first:last]) for first, last in pairwise(edges)]
    holding = EntryBacklog(SecretFilter({}))
    written = [
        *holding.add(entries[:cut]).entries,
        *holding.add(entries[cut:]).entries,
        *holding.release().entries,
    ]
    assert "".join(texts(written)) == whole.replace(KEY, "[redacted]")


def test_streams_are_not_mixed_up() -> None:
    first, second = KEY[:10], KEY[10:]
    entries = [
        chunk(first, session="a"),
        chunk("hm "),
        chunk(second, session="a"),
        chunk(" end", session="a"),
    ]
    assert "".join(texts(recorded(SecretFilter({}), entries))) == "[redacted]hm  end"
    apart = [chunk(first), chunk(second, kind="agent_thought_chunk")]
    assert "[redacted]" not in "".join(texts(recorded(SecretFilter({}), apart)))


def test_order_is_kept_and_what_is_held_is_bounded() -> None:
    holding = EntryBacklog(SecretFilter({}))
    entries = [chunk("x"), *(Entry("to_agent", b'{"n":%d}' % n, 2.0) for n in range(MOST))]
    written = [entry for one in entries for entry in holding.add([one]).entries]
    assert written == entries
    assert holding.is_empty


def test_a_complete_word_is_written_at_once() -> None:
    holding = EntryBacklog(SecretFilter({}))
    assert len(holding.add([chunk("a sentence. ")]).entries) == 1
    assert holding.add([chunk("half a wo")]).entries == []
    assert len(holding.add([chunk("rd ")]).entries) == 2


VALUES = {"A_KEY": "word/with/strokes", "B_KEY": "größte-not", "C_KEY": "session-of-mine"}
PIECES = (
    *(["use ", KEY, " now"], ["use ", KEY[:9], KEY[9:], " x"], ["a", "", " ", "b\u3000", "c\n", "\\n", "d"]),
    *(
        ["AKIA" + "A1" * 8, "x"],
        ["tool --token", " abcdef"],
        ["A_KEY", "=abcdef "],
        ["Bearer", " abcdefgh12"],
    ),
    *(["x word/with", "/strokes y"], ["größ", "te-not"], ["gr\u00f6", "\u00dfte-not"], ["\ud83d", "\ude00 "]),
    *(
        ['","b":"', '"', "\\", "\\\\"],
        ["sk", "-" + "a1" * 20],
        ["word/with/strokes"],
        ["harmless ", "words "],
    ),
)
WRITERS: tuple[Callable[[object], bytes], ...] = (
    to_json,
    lambda value: json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"),
    lambda value: json.dumps(value).replace("/", "\\/").encode(),
    lambda value: json.dumps(value).replace("k", "\\u006b").replace("-", "\\u002D").encode(),
    lambda value: (
        json.dumps(value, ensure_ascii=False).replace("ö", "\\u00F6").encode(errors="surrogatepass")
    ),
    lambda value: json.dumps(value)[:-1].encode(),
)


@every(("pieces", "write", "session"), list(product(PIECES, WRITERS, ["s", "session-of-mine"])))
def test_what_is_looked_at_together_is_hidden_as_each_alone(
    pieces: list[str], write: Callable[[object], bytes], session: str
) -> None:
    entries = [chunk("some ", session=session, write=write), chunk("words ", session=session, write=write)]
    entries += [chunk(text, session=session, write=write) for text in pieces]
    assert_same(entries, [2, *(1 for _ in pieces)])
    assert_same(entries, [len(entries)])
    assert_same([*entries, chunk(" of another", session="t"), *entries], [1, len(entries) + 2, len(entries)])


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([text for pieces in PIECES for text in pieces]), max_size=2).map(
                "".join
            ),
            st.sampled_from(["s", "s", "s", "t"]),
            st.sampled_from([WRITERS[0], *WRITERS]),
        ),
        max_size=12,
    ),
    st.lists(st.integers(1, 6), min_size=12, max_size=12),
)
def test_any_pieces_are_hidden_as_each_alone(
    pieces: list[tuple[str, str, Callable[[object], bytes]]], sizes: list[int]
) -> None:
    assert_same([chunk(text, session=session, write=write) for text, session, write in pieces], sizes)


def assert_same(entries: list[Entry], sizes: list[int]) -> None:
    # With a quote in some value, every frame is looked at by itself.
    together, alone = SecretFilter(VALUES), SecretFilter({**VALUES, "D_KEY": 'never"there'})
    written = []
    for secrets in (together, alone):
        backlog, rest, kept = EntryBacklog(secrets), entries, []
        for size in sizes:
            kept += backlog.add(rest[:size]).entries
            rest = rest[size:]
        written.append([*kept, *backlog.release().entries])
    assert written[0] == written[1]
    assert together.count == alone.count


def test_frames_that_are_called_json_are() -> None:
    backlog = EntryBacklog(SecretFilter({}))
    assert backlog.add([chunk("one "), chunk("two ")]).are_json
    odd = [chunk("é ").frame.replace(b"\\u00e9", b"\xff"), chunk("four ").frame.replace(b"four", b"\\x")]
    for frame in odd:
        assert not backlog.add([chunk("three "), Entry("to_client", frame, 1.0), chunk("five ")]).are_json
