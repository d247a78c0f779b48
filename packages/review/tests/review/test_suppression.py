"""Comments that silence a rule."""

import pytest

from dragoman_review import ReviewSource
from dragoman_review.suppression import NAMELESS, WITHOUT_REASON
from tests.review.samples import reviewed, rules_of

pytestmark = pytest.mark.usefixtures("rules_in_this_process")

CALL = "x = eval('1')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{CALL}  # dragoman: ignore[python/eval] ours alone\n", set()),
        (f"{CALL}  # dragoman: ignore[eval] ours alone\n", set()),
        (f"{CALL}  # dragoman: ignore[python/*] ours alone\n", set()),
        (f"{CALL}  # dragoman: ignore[text/todo, python/eval] ours alone\n", set()),
        (f"# dragoman: ignore[eval] ours alone\n{CALL}\n", set()),
        (f"# dragoman: ignore-file[eval] ours alone\n\n\n{CALL}\n", set()),
        (f"{CALL}  # dragoman: ignore[python/exec] another one\n", {"python/eval"}),
        (f"# dragoman: ignore[eval] ours alone\n\n{CALL}\n", {"python/eval"}),
        (f"y = 1  # dragoman: ignore[eval] for this line only\n{CALL}\n", {"python/eval"}),
        (f"{CALL}  # dragoman: ignore[eval]\n", {WITHOUT_REASON.id}),
        (f"{CALL}  # dragoman: ignore everything\n", {NAMELESS.id, "python/eval"}),
        (f"{CALL}  # dragoman: ignored by all\n", {"python/eval"}),
        (f"s = 'dragoman: ignore'\n{CALL}\n", {"python/eval"}),
    ],
)
async def test_a_comment_silences_what_it_names(text: str, expected: set[str]) -> None:
    assert rules_of(await reviewed(ReviewSource("x.py", text))) == expected


async def test_other_languages_have_other_comments() -> None:
    text = "/* dragoman: ignore[javascript/no-eval] it is ours */\neval(x);\n"
    assert "javascript/no-eval" not in rules_of(await reviewed(ReviewSource("x.js", text)))


async def test_a_text_about_suppressions_is_not_complained_about() -> None:
    assert await reviewed(ReviewSource("x.txt", "write dragoman: ignore and so on\n")) == []
