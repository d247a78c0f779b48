"""Which language a text is in."""

import pytest

from dragoman_review.languages import LANGUAGES, example_name, language_of
from dragoman_review.structure import GRAMMARS
from tests.every import every


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/b.py", "", "python"),
        ("B.PY", "", "python"),
        ("c:\\x\\b.ts", "", "typescript"),
        ("Dockerfile", "", "dockerfile"),
        ("dir/Dockerfile.prod", "", "dockerfile"),
        (".env.local", "", "ini"),
        (".env", "", "ini"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#!/bin/sh -e\n", "bash"),
        ("run", "#!/usr/bin/node\n", "javascript"),
        ("run", "text", None),
        ("noext.", "", None),
        (".py", "", None),
        ("", "", None),
    ],
)
def test_a_name_or_a_first_line_tells_the_language(path: str, text: str, language: str | None) -> None:
    assert language_of(path, text) == language


@every("language", sorted(LANGUAGES))
def test_a_name_for_a_language_is_recognised_as_of_it(language: str) -> None:
    assert language_of(example_name(language)) == language


def test_every_grammar_belongs_to_a_language_that_can_be_recognised() -> None:
    assert GRAMMARS <= LANGUAGES
