import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tui.text.harmless import harmless, harmless_line


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\rb", "a␍b"),
        ("a\r\nb", "a\nb"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("a\u200bb\u2066c", "a\\u200bb\\u2066c"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\ufffd"),
        ("\x7f\x9b", "␡\\u009b"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_what_a_terminal_would_obey_becomes_visible(hostile: str, shown: str) -> None:
    assert harmless(hostile) == shown


def test_a_title_stays_on_one_line() -> None:
    assert harmless_line("one\ntwo\tthree") == "one␊two three"


@given(st.text())
def test_nothing_active_is_left(text: str) -> None:
    left = {c for c in harmless(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not left
