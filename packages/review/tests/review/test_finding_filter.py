"""What is reported of one text, and that a line with thousands of findings is read once."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from dragoman_review import Finding, ReviewSettings, ReviewSource
from dragoman_review import finding_filter as module
from dragoman_review.baseline import LONG, fingerprint
from dragoman_review.finding import FindingPlace
from dragoman_review.finding_filter import FindingFilter
from dragoman_review.text_edits import TextLines
from tests.review.findings import finding

CALL = "eval(x); "


def found(count: int, **more: object) -> list[Finding]:
    one = finding(rule="python/eval")
    places = (
        FindingPlace(
            path="a.py", line=1, column=at * len(CALL) + 1, end_line=1, end_column=at * len(CALL) + 8
        )
        for at in range(count)
    )
    return [replace(one, place=place, **more) for place in places]


def test_a_line_with_thousands_of_calls_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Finding] = []

    def count(item: Finding, lines: TextLines) -> str:
        reads.append(item)
        return "same"

    monkeypatch.setattr(module, "fingerprint", count)
    settings, source = ReviewSettings(), ReviewSource("a.py", CALL * 16_000)
    reported = list(FindingFilter(source, "python", settings, Counter()).filter(found(16_000)))
    assert len(reported) == settings.most
    assert len(reads) == 1


def test_a_secret_in_a_long_line_is_known_by_what_is_around_it() -> None:
    first, *_ = found(1, is_secret=True)
    text = CALL * 16_000
    near, far = text[:LONG] + "y" + text[LONG + 1 :], text[: 3 * LONG] + "y" + text[3 * LONG + 1 :]
    digests = [fingerprint(first, TextLines(each)) for each in (text, near, far)]
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]
    short = CALL * 3
    assert fingerprint(first, TextLines(short)) != fingerprint(first, TextLines(short + "y"))
