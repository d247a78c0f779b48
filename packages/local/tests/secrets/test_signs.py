from __future__ import annotations

from dragoman_local.secrets.signs import signs_of, stems_of
from tests.every import every


@every(
    "text",
    [
        "The author passed it on, as section 4.2 of 2024 says.",
        "## Titles\n\n- `code` in *prose*, [links](to.html) and <b>tags</b>!",
        "an utf8 word, a v1 and a date: 2026-11-18",
        'lines\\nand \\"quotes\\" as JSON writes them',
    ],
)
def test_prose_has_no_signs(text: str) -> None:
    assert signs_of(text) == ""
    assert stems_of(text.lower(), "") == []


@every(
    "text",
    ["a=b", "me@host", "run -p x", "run --quiet", 'login("me")', "q7Rt9x", "a" * 20, "cat <<< x", "${HOME}"],
)
def test_what_prose_lacks_is_a_sign(text: str) -> None:
    assert signs_of(text)


def test_telling_words_are_found_by_their_rare_letters() -> None:
    low = "a key, a token, a cookie, a psk, a pw, an otp, a password, the secret"
    assert set(stems_of(low, "!")) == {"key", "token", "cookie", "psk", "pw", "otp", "pass", "secret"}
    assert stems_of("who is the author? passing by", "") == []
    assert stems_of("the password, the authorization", "") == ["pass", "auth"]
