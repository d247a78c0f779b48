"""The words of texts never hide a phrase, whichever texts and phrases came before."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from dragoman.review.vocabulary import Vocabulary, words

LETTERS = st.sampled_from("aB_9é ß.-(\t\nİ")
TEXTS = st.text(LETTERS, max_size=40)


@given(TEXTS)
def test_the_words_of_a_text_are_the_same_whichever_way_they_are_found(text: str) -> None:
    assert set(words(text)) == set(re.findall(r"\w+", text))


@given(st.lists(st.tuples(TEXTS, TEXTS, st.text(LETTERS, min_size=1, max_size=6)), max_size=6))
def test_a_phrase_that_is_in_a_text_is_never_said_to_be_missing(
    texts: list[tuple[str, str, str]],
) -> None:
    vocabularies: list[Vocabulary] = []
    for before, after, phrase in texts:
        vocabularies.append(Vocabulary(f"{before}{phrase}{after}"))
        # Also of those that were made before the phrase was known.
        for vocabulary, (start, end, inside) in zip(vocabularies, texts, strict=False):
            here = vocabulary.present((phrase, inside))
            assert inside in here
            assert phrase in here or phrase not in f"{start}{inside}{end}"


def test_a_phrase_whose_words_are_in_no_text_is_not_looked_for() -> None:
    vocabulary = Vocabulary("def open_all(paths):\n    return [open(path) for path in paths]\n")
    assert list(vocabulary.present(("open(", "close(", "all_", ".open(", "==", "Paths"))) == [
        "open(",
        ".open(",
        "==",
        "Paths",
    ]


def test_a_text_of_a_machine_with_very_many_words_may_have_every_phrase() -> None:
    vocabulary = Vocabulary(" ".join(f"w{number}" for number in range(30_000)))
    assert list(vocabulary.present(("nowhere",))) == ["nowhere"]
