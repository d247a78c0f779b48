from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.models.turns import CallStep
from dragoman.testing.models.voice import (
    ModelEvent,
    ModelOutput,
    ModelToolCall,
    arguments_text,
    cut_into,
    encode_event,
)


@given(st.text(), st.integers(1, 50))
def test_pieces_are_the_text(text: str, count: int) -> None:
    pieces = cut_into(text, count)
    assert "".join(pieces) == text
    assert 1 <= len(pieces) <= count


@given(st.dictionaries(st.text(), st.text()))
def test_an_event_is_one_line_of_data(data: dict[str, str]) -> None:
    encoded = encode_event(ModelEvent("name", data)).decode()
    # Other ends of lines are none in this format, so they may stand in the data.
    first, second, *rest = encoded.split("\n")
    assert (first, second[:6], rest) == ("event: name", "data: ", ["", ""])
    assert "\r" not in encoded


def test_what_is_said_in_pieces_is_one_part_until_something_else_comes() -> None:
    said = ModelOutput()
    for kind, piece in (("text", "a"), ("text", "b"), ("thought", "c"), ("text", "d")):
        said.add(kind, piece)
    said.parts.append(("call", ModelToolCall("1", "read", "{}")))
    assert [part for _, part in said.parts[:3]] == ["ab", "c", "d"]
    assert (said.text_of("text"), said.size, len(said.calls)) == ("abd", 6, 1)


def test_arguments_that_are_text_stay_as_they_are() -> None:
    assert arguments_text(CallStep("read", "{oh")) == "{oh"
    assert arguments_text(CallStep("read", {"a": 1})) == '{"a": 1}'
