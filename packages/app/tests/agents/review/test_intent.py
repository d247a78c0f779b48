"""What people write, and what is understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_app.agents.review.intent import (
    OWN_BRANCH,
    ExplainIntent,
    FixIntent,
    HelpIntent,
    Intent,
    ReviewIntent,
    RulesIntent,
    UnclearIntent,
    named_revision,
    understand,
)
from tests.every import every

WORKING = ReviewIntent(changes="working")
SAID: dict[str, Intent] = {
    "review src/app.py": ReviewIntent(paths=("src/app.py",)),
    "Please review src/app.py and lib/b.ts.": ReviewIntent(paths=("src/app.py", "lib/b.ts")),
    "could you check `my file.py`?": ReviewIntent(paths=("my file.py",)),
    "what is wrong with @src/a.py": ReviewIntent(paths=("src/a.py",)),
    "@README.md": ReviewIntent(paths=("README.md",)),
    "look at src/a.py:10-20": ReviewIntent(paths=("src/a.py:10-20",)),
    "review file:///tmp/x%20y.py": ReviewIntent(paths=("/tmp/x y.py",)),
    "review src": ReviewIntent(guesses=("src",)),
    "review the Makefile": ReviewIntent(guesses=("Makefile",)),
    "review": ReviewIntent(),
    "Review this file for issues": ReviewIntent(),
    "review everything": ReviewIntent(everything=True),
    "review this repository": ReviewIntent(everything=True),
    "review .": ReviewIntent(everything=True),
    "review my changes": WORKING,
    "my changes": WORKING,
    "Are there any problems in the diff?": WORKING,
    "review changes in src/": ReviewIntent(changes="working", paths=("src/",)),
    "review staged": ReviewIntent(changes="staged"),
    "review what I am about to commit": ReviewIntent(changes="staged"),
    "review the diff against main": ReviewIntent(changes="working", against="main"),
    "review against Feature/X-1": ReviewIntent(changes="working", against="Feature/X-1"),
    "compare with origin/main": ReviewIntent(changes="working", against="origin/main"),
    "review changes since v1.2": ReviewIntent(changes="working", against="v1.2"),
    "check the last 3 commits": ReviewIntent(changes="working", against="HEAD~3"),
    "review the last commit": ReviewIntent(changes="working", against="HEAD~1"),
    "review this branch": ReviewIntent(changes="working", against=OWN_BRANCH),
    "check src/a.py against the style guide": ReviewIntent(paths=("src/a.py",), guesses=("guide",)),
    "review src/a.py and fix it": ReviewIntent(paths=("src/a.py",), fix=True),
    "review my changes, then apply the fixes": ReviewIntent(changes="working", fix=True),
    "apply the fixes": FixIntent(),
    "fix it": FixIntent(),
    "Yes, please fix them all.": FixIntent(),
    "apply fix 3": FixIntent(numbers=(3,)),
    "apply fixes 1, 3 and 5-7": FixIntent(numbers=(1, 3, 5, 6, 7)),
    "fix #2": FixIntent(numbers=(2,)),
    "fix the bugs in src/a.py": FixIntent(paths=("src/a.py",)),
    "apply all fixes, also the unsafe ones": FixIntent(unsafe=True),
    "explain rule python/eval": ExplainIntent("python/eval"),
    "what does python/eval mean?": ExplainIntent("python/eval"),
    "why 3?": ExplainIntent("3"),
    "explain finding 2": ExplainIntent("2"),
    "rules": RulesIntent(),
    "list the rules for python": RulesIntent("python"),
    "which rules are there?": RulesIntent(),
    "help": HelpIntent(),
    "What can you do?": HelpIntent(),
    "": HelpIntent(),
    "tell me a joke": UnclearIntent(),
    "/nothing here": UnclearIntent(),
    "fix the login page": UnclearIntent(),
    "what are you": UnclearIntent(),
}


@every(("text", "intent"), SAID.items(), ids=SAID)
def test_understands(text: str, intent: Intent) -> None:
    assert understand(text) == intent


def test_what_is_attached_is_meant_if_nothing_else_is() -> None:
    assert understand("", has_attachments=True) == ReviewIntent()
    assert understand("Anything I should know?", has_attachments=True) == ReviewIntent()
    assert understand("fix it", has_attachments=True) == ReviewIntent(fix=True)
    assert understand("help", has_attachments=True) == HelpIntent()


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("", WORKING),
        ("staged", ReviewIntent(changes="staged")),
        ("main", ReviewIntent(changes="working", against="main")),
        ("against origin/main", ReviewIntent(changes="working", against="origin/main")),
        ("the last 2 commits", ReviewIntent(changes="working", against="HEAD~2")),
    ],
)
def test_the_argument_of_diff_names_a_revision(text: str, intent: Intent) -> None:
    assert named_revision(text) == intent


@given(st.text(max_size=200), st.booleans())
def test_anything_is_understood_as_something(text: str, attached: bool) -> None:
    understand(text, has_attachments=attached)
    named_revision(text)


_VOCABULARY = " ".join(SAID).split()


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=12))
def test_any_mixture_of_known_words_is_understood_as_something(words: list[str]) -> None:
    understand(" ".join(words))
