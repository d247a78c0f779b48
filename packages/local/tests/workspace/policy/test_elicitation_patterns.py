import time

from dragoman.testing.pace import patience
from dragoman_local.workspace.policy.elicitation import matches
from tests.every import every


@every(
    ("pattern", "text", "expected"),
    [
        ("^a+$", "aaa", True),
        ("^a+$", "ab", False),
        ("b", "abc", True),
        ("ü\n", "xü\n", True),
        ("(", "x", None),
        ("(?<name>x)", "x", None),
        ("a\0b", "x", None),
    ],
)
def test_a_pattern_is_found_anywhere_or_cannot_be_checked(
    pattern: str, text: str, expected: bool | None
) -> None:
    assert matches(pattern, text, seconds=20) is expected


def test_a_pattern_that_never_ends_is_given_up() -> None:
    begun = time.monotonic()
    assert matches("^(a+)+$", "a" * 60 + "!", seconds=0.5) is None
    assert time.monotonic() - begun < patience(10)
