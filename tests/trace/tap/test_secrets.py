"""Secrets are hidden wherever they stand, also when they were cut in two, and each is counted."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dragoman.journal.contract import Entry
from dragoman.trace.tap.backlog import MOST, EntryBacklog
from dragoman.trace.tap.secrets import SecretFilter

KEY = "sk-" + "a1B2" * 8


def chunk(text: str, *, session: str = "s", kind: str = "agent_message_chunk") -> Entry:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    frame = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()
    return Entry("to_client", frame, 1.0)


def texts(entries: list[Entry]) -> list[str]:
    return [json.loads(entry.frame)["params"]["update"]["content"]["text"] for entry in entries]


def recorded(secrets: SecretFilter, entries: list[Entry]) -> list[Entry]:
    holding = EntryBacklog(secrets)
    written = [entry for one in entries for entry in holding.add([one])]
    return written + holding.release()


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
    written = [*holding.add(entries[:cut]), *holding.add(entries[cut:]), *holding.release()]
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
    written = [entry for one in entries for entry in holding.add([one])]
    assert written == entries
    assert holding.is_empty


def test_a_complete_word_is_written_at_once() -> None:
    holding = EntryBacklog(SecretFilter({}))
    assert len(holding.add([chunk("a sentence. ")])) == 1
    assert holding.add([chunk("half a wo")]) == []
    assert len(holding.add([chunk("rd ")])) == 2
