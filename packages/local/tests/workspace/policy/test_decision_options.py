import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema import v1
from dragoman_local.workspace.policy.decision import choose_option, select_option, usable_options
from tests.workspace.policy.makers import OFFERED, option


def test_allowing_once_is_preferred_to_allowing_for_good() -> None:
    assert choose_option("allow", OFFERED) == "once"
    assert choose_option("allow", [option("always", "allow_always"), option("no", "reject_once")]) is None


def test_denying_takes_a_rejection_of_either_kind() -> None:
    assert choose_option("deny", OFFERED) == "no"
    assert choose_option("deny", [option("never", "reject_always"), option("x", "allow_once")]) == "never"
    assert choose_option("deny", [option("x", "allow_once")]) is None


@pytest.mark.parametrize("outcome", ["allow", "deny"])
def test_no_options_and_unknown_kinds_choose_nothing(outcome: str) -> None:
    assert choose_option(outcome, []) is None  # type: ignore[arg-type]
    assert choose_option(outcome, [option("a", "allow", "Allow"), option("b", "_x", "Reject")]) is None  # type: ignore[arg-type]


def test_an_id_that_is_used_twice_is_not_chosen() -> None:
    assert choose_option("allow", [option("x", "allow_once"), option("x", "reject_once")]) is None
    assert list(usable_options([option("x", "allow_once"), option("x", "allow_once")])) == []


def test_a_name_that_says_the_opposite_of_its_kind_is_no_option() -> None:
    lying = [option("a", "allow_once", "No, never"), option("b", "reject_once", "  **Yes**, run it")]
    honest = [
        option("c", "allow_always", "Yes, and don't ask again"),
        option("d", "reject_once", "No, and tell me what to do"),
        option("e", "allow_once", "Nothing else"),
    ]
    assert list(usable_options([*lying, *honest])) == honest


KINDS = st.sampled_from(["allow_once", "allow_always", "reject_once", "reject_always", "allow", "", "_x"])


@given(st.lists(st.builds(option, st.sampled_from("abc"), KINDS, st.just("Allow")), max_size=6))
def test_only_what_was_decided_is_ever_chosen(options: list[v1.PermissionOption]) -> None:
    kinds = {each.option_id: each.kind for each in options}
    allowed, denied = choose_option("allow", options), choose_option("deny", options)
    assert allowed is None or kinds[allowed] == "allow_once"
    assert denied is None or kinds[denied] in ("reject_once", "reject_always")


def test_choosing_nothing_is_answered_as_cancelled() -> None:
    assert isinstance(select_option(None).outcome, v1.CancelledPermissionOutcome)
    assert select_option("x").outcome == v1.SelectedPermissionOutcome(option_id="x")


def test_a_name_without_words_contradicts_nothing_and_an_unknown_kind_cannot_be_chosen() -> None:
    signs, unknown = option("a", "allow_once", "✓"), option("b", "allow_forever")
    assert usable_options([signs, unknown]) == [signs]
