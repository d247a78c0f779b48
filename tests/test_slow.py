"""What `tests/slow.py` leaves in `make test` holds every value, and the rest is marked."""

from __future__ import annotations

from itertools import product

import pytest

from tests.slow import mark_all_but_one, sampled

pytest_plugins = ["pytester"]

SETTINGS = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
TAKING_TURNS = """
import pytest

@pytest.fixture(params=["serve", "hub"])
def stage(request):
    return request.param

@pytest.mark.in_turn("stage")
@pytest.mark.parametrize("fault", range(10))
def test_faults(stage, fault):
    pass

@pytest.mark.in_turn("stage")
def test_without_parameters():
    pass

@pytest.mark.in_turn("agent")
@pytest.mark.parametrize("agent", ["echo", pytest.param("script", marks=pytest.mark.slow)])
def test_with_a_slow_value(agent):
    pass
"""


def test_every_value_is_in_the_sample_and_the_rest_is_slow() -> None:
    letters, digits = "abcde", (1, 2, 3)
    rows = sampled(letters, digits)
    assert [row.values for row in rows] == list(product(letters, digits))
    sample = [row.values for row in rows if not row.marks]
    assert len(sample) == 5
    assert {letter for letter, _ in sample} == set(letters)
    assert {digit for _, digit in sample} == set(digits)
    assert {mark.name for row in rows for mark in row.marks} == {"slow"}


def test_one_parameter_is_its_own_sample() -> None:
    assert [row.marks for row in sampled("abc")] == [[], [], []]


def test_values_take_turns_and_each_combination_of_the_others_is_run_once(pytester: pytest.Pytester) -> None:
    pytester.makeini(SETTINGS)
    items = [item for item in pytester.getitems(TAKING_TURNS) if isinstance(item, pytest.Function)]
    mark_all_but_one(items)
    run = [item for item in items if not item.get_closest_marker("slow")]
    faults = [item.callspec.params for item in run if item.originalname == "test_faults"]
    assert {params["fault"] for params in faults} == set(range(10))
    assert len(faults) == 10
    assert {params["stage"] for params in faults} == {"serve", "hub"}
    assert [item.name for item in run[10:]] == ["test_without_parameters", "test_with_a_slow_value[echo]"]
