import pytest

from tests.every import every


def failure(test: object) -> ExceptionGroup[Exception]:
    assert callable(test)
    with pytest.raises(ExceptionGroup) as caught:
        test()
    return caught.value


def test_every_case_is_tried_and_each_that_fails_is_named() -> None:
    tried: list[int] = []

    @every("number", [1, 2, 3, 4])
    def odd(number: int) -> None:
        tried.append(number)
        if number == 4:
            pytest.fail("four")
        assert number % 2

    error = failure(odd)
    assert tried == [1, 2, 3, 4]
    assert error.message == "2 of 4 failed: 2, 4"
    assert [one.__notes__ for one in error.exceptions] == [["case: 2"], ["case: 4"]]


def test_two_of_cases_lie_across_each_other() -> None:
    tried: list[tuple[int, str]] = []

    @every("letter", "ab")
    @every("number", [1, 2], ids=str)
    def both(number: int, letter: str) -> None:
        tried.append((number, letter))

    both()
    assert tried == [(1, "a"), (2, "a"), (1, "b"), (2, "b")]


@pytest.fixture
def place() -> str:
    return "here"


@every(("first", "second"), {"a": 1, "b": 2}.items(), ids=["one", "two"])
def test_several_names_and_fixtures_are_given(place: str, first: str, second: int) -> None:
    assert (first, second, place) in {("a", 1, "here"), ("b", 2, "here")}


def test_no_case_at_all_is_a_failure() -> None:
    @every("case", [])
    def nothing(case: int) -> None: ...

    with pytest.raises(AssertionError, match="nothing to try"):
        nothing()


def test_as_many_names_as_cases() -> None:
    @every("case", [1, 2], ids=["one"])
    def short(case: int) -> None: ...

    with pytest.raises(ValueError, match="argument"):
        short()


def test_a_case_that_brings_its_own_name_is_refused() -> None:
    with pytest.raises(AssertionError, match="named by `ids`"):
        every("number", [pytest.param(1, id="one")])
