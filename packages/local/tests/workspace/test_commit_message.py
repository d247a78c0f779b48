"""Proposed messages: what was wanted, in the form of the repository's last commits."""

from __future__ import annotations

from dragoman_local.workspace.commit_message import LONGEST, NamedChange, propose_message
from tests.every import every

AREAS = [
    "hub: free snapshots",
    "page: show the board",
    "hub: keep the order",
    "docs: plainer words",
    "Merge it",
]
TYPED = ["feat(page): show the board", "fix(hub): keep the order", "chore(deps): pin ruff", "feat(hub): pair"]
SENTENCES = ["Show the board", "Keep the order", "Pin ruff", "Add a page"]
SMALL = ["show the board", "keep the order", "pin ruff"]


def change(path: str, kind: str = "modified") -> NamedChange:
    return NamedChange(path=path, kind=kind)


CASES = {
    "a plain order": ([change("a.py")], "Fix the parser.", [], "Fix the parser"),
    "politeness": ([change("a.py")], "Could you please fix the parser?", [], "Fix the parser"),
    "the first sentence": ([change("a.py")], "Fix a.py. Then run it!", [], "Fix a.py"),
    "the first line": ([change("a.py")], "\nFix the parser\nit loses text", [], "Fix the parser"),
    "small letters": ([change("a.py")], "Fix the parser", SMALL, "fix the parser"),
    "a name stays": ([change("a.py")], "JSON is read twice", SMALL, "JSON is read twice"),
    "sentences": ([change("a.py")], "fix the parser", SENTENCES, "Fix the parser"),
    "an area in use": ([change("src/hub/x.py")], "Fix the order", AREAS, "hub: fix the order"),
    "a new area": ([change("src/cli/x.py"), change("src/cli/y.py")], "Fix it all", AREAS, "cli: fix it all"),
    "an area of a file": ([change("setup.py")], "Fix the name", AREAS, "setup: fix the name"),
    "types": ([change("src/hub/x.py")], "Fix the order", TYPED, "fix(hub): fix the order"),
    "types of docs": ([change("docs/x.md")], "Fix the words", TYPED, "docs: fix the words"),
    "types of tests": ([change("tests/x.py")], "Check the words", TYPED, "test: check the words"),
    "types of news": ([change("x.py", "added")], "A greeting, at last", TYPED, "feat: a greeting, at last"),
    "one word says nothing": ([change("src/x.py")], "go", [], "Update x.py"),
    "nothing was said": ([change("a", "added"), change("b", "added")], "", [], "Add a and b"),
    "many files": ([change(str(number)) for number in range(9)], "", [], "Update 9 files"),
    "hostile text": ([change("a")], "Fix \x1b[31mred\u202e things", [], "Fix ␛[31mred\\u202e things"),
}


@every(("files", "prompt", "subjects", "expected"), CASES.values(), ids=CASES.keys())
def test_a_message_is_proposed_from_what_is_known(
    files: list[NamedChange], prompt: str, subjects: list[str], expected: str
) -> None:
    assert propose_message(files, prompt=prompt, subjects=subjects) == expected


def test_the_title_stands_in_for_a_prompt_that_says_too_little() -> None:
    message = propose_message([change("a.py")], prompt="yes", title="Mend the parser")
    assert message == "Mend the parser"


def test_a_long_order_is_cut_between_words() -> None:
    message = propose_message([change("a.py")], prompt="Mend " + "the parser and " * 20)
    assert len(message) <= LONGEST
    assert message.endswith(("parser…", "the…", "and…"))
