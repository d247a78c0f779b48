"""What people write, and what is understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.agents.review.intent import (
    OWN_BRANCH,
    ApplyFixes,
    Explain,
    Help,
    Intent,
    Review,
    ShowRules,
    Unclear,
    named_revision,
    understand,
)
from tests.every import every

WORKING = Review(changes="working")
SAID: dict[str, Intent] = {
    "review src/app.py": Review(paths=("src/app.py",)),
    "Please review src/app.py and lib/b.ts.": Review(paths=("src/app.py", "lib/b.ts")),
    "could you check `my file.py`?": Review(paths=("my file.py",)),
    "what is wrong with @src/a.py": Review(paths=("src/a.py",)),
    "@README.md": Review(paths=("README.md",)),
    "look at src/a.py:10-20": Review(paths=("src/a.py:10-20",)),
    "review file:///tmp/x%20y.py": Review(paths=("/tmp/x y.py",)),
    "review src": Review(guesses=("src",)),
    "review the Makefile": Review(guesses=("Makefile",)),
    "review": Review(),
    "Review this file for issues": Review(),
    "review everything": Review(everything=True),
    "review this repository": Review(everything=True),
    "review .": Review(everything=True),
    "review my changes": WORKING,
    "my changes": WORKING,
    "Are there any problems in the diff?": WORKING,
    "review changes in src/": Review(changes="working", paths=("src/",)),
    "review staged": Review(changes="staged"),
    "review what I am about to commit": Review(changes="staged"),
    "review the diff against main": Review(changes="working", against="main"),
    "review against Feature/X-1": Review(changes="working", against="Feature/X-1"),
    "compare with origin/main": Review(changes="working", against="origin/main"),
    "review changes since v1.2": Review(changes="working", against="v1.2"),
    "check the last 3 commits": Review(changes="working", against="HEAD~3"),
    "review the last commit": Review(changes="working", against="HEAD~1"),
    "review this branch": Review(changes="working", against=OWN_BRANCH),
    "check src/a.py against the style guide": Review(paths=("src/a.py",), guesses=("guide",)),
    "review src/a.py and fix it": Review(paths=("src/a.py",), fix=True),
    "review my changes, then apply the fixes": Review(changes="working", fix=True),
    "apply the fixes": ApplyFixes(),
    "fix it": ApplyFixes(),
    "Yes, please fix them all.": ApplyFixes(),
    "apply fix 3": ApplyFixes(numbers=(3,)),
    "apply fixes 1, 3 and 5-7": ApplyFixes(numbers=(1, 3, 5, 6, 7)),
    "fix #2": ApplyFixes(numbers=(2,)),
    "fix the bugs in src/a.py": ApplyFixes(paths=("src/a.py",)),
    "apply all fixes, also the unsafe ones": ApplyFixes(unsafe=True),
    "explain rule python/eval": Explain("python/eval"),
    "what does python/eval mean?": Explain("python/eval"),
    "why 3?": Explain("3"),
    "explain finding 2": Explain("2"),
    "rules": ShowRules(),
    "list the rules for python": ShowRules("python"),
    "which rules are there?": ShowRules(),
    "help": Help(),
    "What can you do?": Help(),
    "": Help(),
    "tell me a joke": Unclear(),
    "/nothing here": Unclear(),
    "fix the login page": Unclear(),
    "what are you": Unclear(),
}


@every(("text", "intent"), SAID.items(), ids=SAID)
def test_understands(text: str, intent: Intent) -> None:
    assert understand(text) == intent


def test_what_is_attached_is_meant_if_nothing_else_is() -> None:
    assert understand("", attached=True) == Review()
    assert understand("Anything I should know?", attached=True) == Review()
    assert understand("fix it", attached=True) == Review(fix=True)
    assert understand("help", attached=True) == Help()


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("", WORKING),
        ("staged", Review(changes="staged")),
        ("main", Review(changes="working", against="main")),
        ("against origin/main", Review(changes="working", against="origin/main")),
        ("the last 2 commits", Review(changes="working", against="HEAD~2")),
    ],
)
def test_the_argument_of_diff_names_a_revision(text: str, intent: Intent) -> None:
    assert named_revision(text) == intent


@given(st.text(max_size=200), st.booleans())
def test_anything_is_understood_as_something(text: str, attached: bool) -> None:
    understand(text, attached=attached)
    named_revision(text)


_VOCABULARY = " ".join(SAID).split()


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=12))
def test_any_mixture_of_known_words_is_understood_as_something(words: list[str]) -> None:
    understand(" ".join(words))
