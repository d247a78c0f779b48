from __future__ import annotations

from dragoman_local.secrets.signs import STEMS, has_prose_stem, signs_of, stems_of
from dragoman_local.secrets.words import MOST_WORDS, WordParts
from tests.every import every


@every(
    "text",
    [
        "The author passed it on, as section 4.2 of 2024 says.",
        "## Titles\n\n- `code` in *prose*, [links](to.html) and <b>tags</b>!",
        "an utf8 word, a v1 and a date: 2026-11-18",
        'lines\\nand \\"quotes\\" as JSON writes them',
        f"{'x' * 20} and {'-' * 30} and {'x' * 99}",
    ],
)
def test_prose_has_no_signs(text: str) -> None:
    assert signs_of(text) == ""
    assert not has_prose_stem(text.lower())


@every(
    "text",
    [
        "a=b",
        "me@host",
        "run -p x",
        "run --quiet",
        'login("me")',
        "q7Rt9x",
        "aaab" * 5,
        "ghp_" + "a" * 20,
        "cat <<< x",
        "${HOME}",
    ],
)
def test_what_prose_lacks_is_a_sign(text: str) -> None:
    assert signs_of(text)


def stems(low: str, signs: str) -> list[str]:
    return stems_of(low, signs, WordParts(STEMS).found(low.encode()))


def test_telling_words_are_found() -> None:
    low = "a key, a token, a cookie, a psk, a pw, an otp, a password, the secret"
    assert set(stems(low, "!")) == {"key", "token", "cookie", "psk", "pw", "otp", "pass", "secret"}
    assert stems("who is the author? passing by", "") == []
    assert stems("the password, the authorization", "") == ["pass", "auth"]


def test_words_are_judged_once_and_few_are_remembered() -> None:
    words = WordParts(["key", "auth", "schlüssel"])
    text = "An API_KEY, myAuth2 and der Schlüssel".encode()
    assert words.found(text) == {"key", "auth", "schlüssel"}
    many = " ".join(f"w{chr(97 + n % 26)}{'x' * (n % 20)}{chr(97 + n // 26 % 26)}q" for n in range(100))
    assert words.found(many.encode()) == set()
    assert words.found(text) == {"key", "auth", "schlüssel"}
    for n in range(MOST_WORDS + 10):
        letters = "".join(chr(98 + n // 8**place % 8) for place in range(5))  # b to i
        assert not words.found(f"zz{letters}".encode())
    assert len(words._plain) + len(words._telling) <= MOST_WORDS
    assert words.found(text) == {"key", "auth", "schlüssel"}
