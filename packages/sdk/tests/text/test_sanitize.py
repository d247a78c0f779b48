"""What a peer says is seen as it is, and never obeyed by a terminal."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.sanitize import SanitizedStream, sanitize, sanitize_json, sanitize_line
from tests.every import every

INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0" + "".join(
    chr(code) for start, end in ((0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for code in range(start, end)
)
JOINERS = "\u200c\u200d"
NEEDED = f"{JOINERS}{INVISIBLE}" + "".join(map(chr, range(0xE0020, 0xE0080)))

HOSTILE = {
    "writes the clipboard": ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
    "clears the screen": ("\x1b[2J\x1b[H", "␛[2J␛[H"),
    "a control sequence of C1": ("\x9b2J\x90q\x9c", "\\u009b2J\\u0090q\\u009c"),
    "writes over its line": ("safe\rrm -rf /", "safe␍rm -rf /"),
    "deletes what stands before": ("a\x08\x7f", "a␈␡"),
    "NUL": ("a\0b", "a␀b"),
    "an override of direction": ("\u202etxt.exe", "\\u202etxt.exe"),
    "an embedding of direction": ("\u202a\u202b\u202c", "\\u202a\\u202b\\u202c"),
    "an isolate of direction": ("\u2066x\u2069", "\\u2066x\\u2069"),
    "marks of direction": ("\u200e\u200f\u061c", "\\u200e\\u200f\\u061c"),
    "no width": ("pay\u200bpal\ufeff\u2060", "pay\\u200bpal\\ufeff\\u2060"),
    "joiners between letters that do not join": ("rm\u200d -rf\u200c", "rm\\u200d -rf\\u200c"),
    "tags": ("\U000e0041\U000e007f", "\\U000e0041\\U000e007f"),
    "tags behind a flag that has none": ("\U0001f3f4\U000e0041\U000e007f", "🏴\\U000e0041\\U000e007f"),
    "a variation selector behind a letter": ("a\ufe0f1\ufe0f", "a\\ufe0f1\\ufe0f"),
    "data in variation selectors": ("😀\ufe0f\ufe01\U000e0101", "😀\ufe0f\\ufe01\\U000e0101"),
    "a soft hyphen": ("pass\xadword", "pass\\u00adword"),
    "separators of lines and paragraphs": ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
    "fillers": ("\u3164\u115f\u1160\uffa0", "\\u3164\\u115f\\u1160\\uffa0"),
    "operators that nobody sees": ("f\u2061x\u2062y", "f\\u2061x\\u2062y"),
    "private and unassigned": ("\ue000\U000f0000\u0378\uffff", "\\ue000\\U000f0000\\u0378\\uffff"),
    "half of a character": ("a\ud800b", "a\\ud800b"),
    "annotations": ("\ufff9a\ufffb", "\\ufff9a\\ufffb"),
}

ORDINARY = {
    "Latin": "Grüße, naïve café – “quoted”… © 2026 ½ 50 €",
    "French blanks": "Oui\u00a0: voilà\u202f!",
    "Persian": "می\u200cخواهم",
    "Arabic with a sign of its own": "\u06dd١٢٣ السلام عليكم",
    "Hindi": "क्\u200dष हिन्दी",
    "Malayalam": "നന്\u200dമ",
    "Thai": "ภาษาไทย",
    "Hebrew": "שָׁלוֹם",
    "Japanese": "葛\U000e0100城\u3000日本語、テスト",
    "Chinese": "你好，世界",
    "Korean": "한국어",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ\u180b",
    "a family": "👨\u200d👩\u200d👧\u200d👦",
    "a heart": "❤\ufe0f \u2764\ufe0f\u200d🔥",
    "skin": "👍🏽 🧑🏿\u200d💻",
    "a key": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "flags": "🇩🇪 🏳\ufe0f\u200d🌈 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "text style": "ℹ\ufe0e ↔\ufe0f ©\ufe0f",
    "a picture that this Python may not know": "\U0001fae9",
    "drawings": "┌─┐ █▓ ⠋⠙\u2800 ✓ → ∀x∈ℝ",
    "lines and tabs": "two\nlines\tand a tab",
}


@every(("hostile", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_terminal_would_obey_or_hide_becomes_visible(hostile: str, shown: str) -> None:
    assert sanitize(hostile) == shown
    assert sanitize_line(hostile) == shown
    assert sanitize_line(hostile, exact=True) == shown


@every("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert sanitize(text) == text
    assert sanitize_json(text.encode()) == text.encode()


def test_one_line_shows_its_line_ends() -> None:
    assert sanitize_line("one\ntwo\tthree\r\nfour") == "one␊two three␊four"
    assert sanitize("a\r\nb") == "a\nb"


def test_what_is_approved_shows_blanks_that_are_no_spaces() -> None:
    assert sanitize_line("rm\u00a0-rf\u3000\u2800\tx\r\n", exact=True) == "rm\\u00a0-rf\\u3000\\u2800␉x␍␊"
    assert sanitize("a\tb\r\nc d", exact=True) == "a\tb␍\nc d"


def is_safe(text: str, *, allowed: str = "") -> bool:
    """Whether all of it can be seen, but for what stands in `allowed` and for the signs that words need."""
    return all(
        character in allowed
        or (
            character in NEEDED
            and position > 0
            and not text[position - 1].isascii() | (text[position - 1] in "\n\t")
        )
        or (character == "\ufe0f" and text[position + 1 : position + 2] == "\u20e3")
        or (
            (
                character not in INVISIBLE
                and unicodedata.category(character) not in ("Cc", "Cs", "Co", "Zl", "Zp")
            )
            and (
                unicodedata.category(character) not in ("Cf", "Cn")
                or "\U0001f000" <= character <= "\U0001faff"
                or character
                in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
            )
        )
        for position, character in enumerate(text)
    )


NASTY = st.text(
    st.sampled_from(
        "a1#\n\t\r\x1b\x9b\u202e\u2066\xad\u200b\u200c\u200d\ufe0f\ufe0e\u20e3👨🏴❤ه葛\U000e0067\U000e007f\U000e0100\ue000\ud800"
    )
)
ANY = st.one_of(st.text(), st.text(st.characters()), NASTY)


@given(ANY)
def test_nothing_that_is_left_can_act_or_hide(text: str) -> None:
    assert is_safe(sanitize(text), allowed="\n\t")
    assert is_safe(sanitize_line(text))
    assert is_safe(sanitize_line(text, exact=True))
    sanitize(text).encode()  # it can be written


@given(ANY)
def test_a_sanitized_text_is_left_alone(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(ANY)
def test_json_keeps_its_value_and_loses_what_acts(text: str) -> None:
    encoded = json.dumps(text.replace("\ud800", "?"), ensure_ascii=False).encode("utf-8", "replace")
    shown = sanitize_json(encoded)
    assert json.loads(shown) == json.loads(encoded)
    assert is_safe(shown.decode())


@given(NASTY, st.data())
def test_pieces_give_the_same_as_the_whole(text: str, data: st.DataObject) -> None:
    stream, rest, shown = SanitizedStream(), text, ""
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        shown += stream.feed(rest[:cut])
        rest = rest[cut:]
    assert shown + stream.finish() == sanitize(text)
