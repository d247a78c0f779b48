import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core import negotiate
from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import VERSION_UNSUPPORTED
from tests.every import every

BOTH = (1, 2)


@every("requested", [0, 1, 2, 3, 65535])
def test_an_agent_of_version_1_answers_1_to_everything(requested: int) -> None:
    assert negotiate(requested, (1,)) == 1


@every(("requested", "chosen"), [(1, 1), (2, 2), (3, 2), (65535, 2)])
def test_an_agent_of_both_versions_answers_the_highest_that_the_client_may_speak(
    requested: int, chosen: int
) -> None:
    assert negotiate(requested, BOTH) == chosen


@pytest.mark.parametrize(("requested", "chosen"), [(2, 2), (3, 2), (65535, 2)])
def test_an_agent_of_version_2_alone_answers_2_to_whoever_may_speak_it(requested: int, chosen: int) -> None:
    assert negotiate(requested, (2,)) == chosen


@every(("requested", "supported"), [(0, (1, 2)), (0, (2,)), (1, (2,)), (1, (2, 3)), (-1, (1, 2))])
def test_below_everything_spoken_the_error_lists_what_is_spoken(
    requested: int, supported: tuple[int, ...]
) -> None:
    with pytest.raises(ErrorAnswer) as caught:
        negotiate(requested, supported)
    assert caught.value.code == VERSION_UNSUPPORTED
    assert caught.value.data == {"requested": requested, "supported": list(supported)}


def test_a_gap_is_answered_with_the_version_below_it() -> None:
    assert negotiate(2, (1, 3)) == 1
    assert negotiate(4, (1, 3)) == 3


@every("supported", [(2, 1), [1, 2], {1, 2}, frozenset({2, 1}), {2: "b", 1: "a"}])
def test_the_order_and_kind_of_the_collection_mean_nothing(supported: tuple[int, ...]) -> None:
    assert negotiate(65535, supported) == 2
    with pytest.raises(ErrorAnswer) as caught:
        negotiate(0, supported)
    assert caught.value.data["supported"] == [1, 2]


@given(requested=st.integers(0, 65535), supported=st.sets(st.integers(1, 65535), min_size=1))
def test_whatever_is_asked_the_answer_is_never_an_echo_of_what_is_not_spoken(
    requested: int, supported: set[int]
) -> None:
    try:
        chosen = negotiate(requested, supported)
    except ErrorAnswer:
        assert requested < min(supported)
        return
    assert chosen in supported
    assert (chosen == requested) == (requested in supported)
    assert chosen <= requested or supported == {1}
    assert not any(chosen < version <= requested for version in supported)
