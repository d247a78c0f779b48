from typing import Any

from dragoman import ToolState
from dragoman.schema import v1
from dragoman_app.tui.drawing.tools import draw_tool
from dragoman_app.tui.model.entries import ToolEntry

SAID = v1.Content(content=v1.TextContent(text="\n".join(f"line {n}" for n in range(30))))


class Typed:
    """A command that has written this."""

    def __init__(self, text: str, exit_text: str | None = None) -> None:
        self.text = text
        self.exit_text = exit_text


def drawn(
    state: ToolState, *, is_open: bool | None = None, whole: bool = False, output: Typed | None = None
) -> list[str]:
    entry = ToolEntry(state)
    entry.is_open = is_open
    return [line.plain for line in draw_tool(entry, 60, lambda _: output, cwd="/work", whole=whole)]


def test_a_title_has_its_state_its_kind_and_its_place_below_the_folder() -> None:
    place = v1.ToolCallLocation(path="/work/src/a.py", line=7)
    state = ToolState(id="1", title="Look", kind="search", status="in_progress", locations=[place])
    assert drawn(state) == ["◐ Look  search  src/a.py:7"]


def test_a_call_without_words_is_named_by_what_there_is() -> None:
    assert drawn(ToolState(id="call-9", status="failed")) == ["✗ call-9"]
    odd: Any = "odd"  # agents say what they like
    assert drawn(ToolState(id="1", status=odd)) == ["· 1"]


def test_output_is_an_excerpt_until_it_is_unfolded_or_wanted_whole() -> None:
    state = ToolState(id="1", title="Run", kind="execute", status="completed", content=[SAID])
    assert drawn(state)[1:3] == ["  │ line 0", "  │ line 1"]
    assert drawn(state)[-1] == "  │ … 22 more lines"
    assert len(drawn(state, is_open=True)) == 31
    assert drawn(state, is_open=False) == ["✓ Run"]
    assert len(drawn(state, is_open=False, whole=True)) == 31


def test_the_end_of_a_terminal_is_what_is_seen_of_it() -> None:
    state = ToolState(id="1", title="Run it", status="in_progress", content=[v1.Terminal(terminal_id="t")])
    lines = drawn(state, output=Typed("".join(f"{n}\n" for n in range(20)), "SIGTERM"))
    assert (lines[1], lines[2], lines[-2:]) == (
        "  │ … 12 lines above",
        "  │ 12",
        ["  │ 19", "  │ ended: SIGTERM"],
    )
    assert drawn(state)[1:] == ["  │ (no output to show)"]


def test_what_a_tool_was_given_is_shown_where_all_of_it_is_wanted() -> None:
    state = ToolState(id="1", title="Call", raw_input={"path": "x\x1b"}, raw_output="done")
    assert "\\u001b" in "".join(drawn(state, whole=True))
    assert drawn(state, whole=True)[-2:] == ["  Output", "  done"]
