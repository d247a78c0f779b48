"""What an agent says never becomes a command to the terminal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.run.harmless import HarmlessStream, harmless, harmless_json, harmless_line

ATTACKS = [
    "\x1b]52;c;aGFjaw==\x07",  # writes the clipboard
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b2J",
    "\x90q\x9c",
    "a\rb",
    "\x08\x08\x08",
    "\x7f",
    "\u202eevil",
    "\u2066x\u2069",
]


def is_active(character: str) -> bool:
    code = ord(character)
    return (
        (code < 0x20 and character not in "\n\t") or 0x7F <= code < 0xA0 or character in "\u202e\u2066\u2069"
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_sequence_reaches_the_terminal_raw(attack: str) -> None:
    shown = harmless(attack)
    assert not any(map(is_active, shown))
    assert len(shown) >= len(attack)  # it can be seen that something was there
    encoded = harmless_json(json.dumps(attack, ensure_ascii=False).encode())
    assert not any(map(is_active, encoded.decode()))
    assert json.loads(encoded) == attack


@pytest.mark.parametrize("text", ["plain", "two\nlines\tand a tab", "Grüße 🦊 漢字", ""])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text
    assert harmless_json(text.encode()) == text.encode()


def test_a_lone_surrogate_becomes_something_that_can_be_written() -> None:
    assert harmless("a\ud800b").encode() == "a\ufffdb".encode()


def test_a_name_stays_on_one_line() -> None:
    assert "\n" not in harmless_line("a\nb\tc")


@given(st.text(alphabet="a\r\n\x1b\x9b", max_size=20), st.data())
def test_pieces_give_the_same_as_the_whole(text: str, data: st.DataObject) -> None:
    stream, rest, shown = HarmlessStream(), text, ""
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        shown += stream.feed(rest[:cut])
        rest = rest[cut:]
    assert shown + stream.finish() == harmless(text)
