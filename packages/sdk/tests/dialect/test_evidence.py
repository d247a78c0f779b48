"""Evidence weighed: what is sure, what is likely, and what is v1 for want of better."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.dialect.evidence import Tally, clue


def tally(*weights: dict[str, int]) -> Tally:
    made = Tally()
    for number, one in enumerate(weights, 1):
        made.add([clue(f"thing {number}", **one)], frame=number)
    return made


def test_nothing_is_nothing() -> None:
    assert (tally().verdict(), tally().last_call(), tally().foreign) == (None, "v1", False)


def test_a_word_of_its_own_decides() -> None:
    assert tally({"crow": 2}).verdict() == "crow"


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from(["acpex", "haven", "v1", "v2", "crow"]), st.just(1), min_size=1))
def test_a_single_word_that_may_be_anybodys_never_decides(weights: dict[str, int]) -> None:
    assert tally(weights).verdict() is None
    assert tally(weights).last_call() == "v1"


def test_small_evidence_adds_up() -> None:
    assert tally({"v2": 1}, {"v2": 1}).verdict() == "v2"


def test_a_small_lead_decides_only_at_the_last_call() -> None:
    made = tally({"haven": 2}, {"acpex": 1})
    assert (made.verdict(), made.last_call()) == (None, "haven")


def test_a_tie_is_v1() -> None:
    assert tally({"haven": 2}, {"acpex": 2}).last_call() == "v1"


def test_reasons_keep_their_frames_and_say_what_they_speak_for() -> None:
    reasons = tally({"acpex": 2, "haven_legacy": 1}, {"v1": 1}).reasons
    assert [(one.frame, one.conclusion) for one in reasons] == [
        (1, "acpex, perhaps haven-legacy"),
        (2, "perhaps v1"),
    ]
