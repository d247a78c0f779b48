from dragoman_app.tui.drawing.board import draw_board
from dragoman_app.tui.model.board import age, columns_of, duration, step_across, step_down, total_cost
from dragoman_app.tui.model.facts import cost_text
from dragoman_app.tui.ports import BoardSession, ChatRequest


def session(name: str, state: str, updated: float = 0.0, **fields: object) -> BoardSession:
    request = ChatRequest(agent="a", cwd="/p", session=name)
    values = {"title": name, "agent": "a", "cwd": "/p", **fields}
    return BoardSession(id=name, request=request, state=state, updated=updated, **values)  # type: ignore[arg-type]


SESSIONS = [
    session("asks-late", "waiting", 9.0),
    session("asks-early", "waiting", 3.0),
    session("works", "running", 5.0, turn_started=940.0, line="reads [b]a.py", cost=(0.5, "USD")),
    session("rests", "idle", 1.0, cost=(1.25, "USD"), changes="+3 -1"),
    session("rests-later", "closed", 8.0, cost=(2.0, "EUR")),
    session("child-asks", "running", 6.0, questions=2),
    session("broke", "failed", 4.0),
    session("old", "archived", 2.0),
]


def ids(columns: list) -> dict[str, list[str]]:  # type: ignore[type-arg]
    return {column.name: [each.id for each in column.sessions] for column in columns}


def test_sessions_stand_in_columns_by_what_they_need_the_longest_wait_first() -> None:
    assert ids(columns_of(SESSIONS)) == {
        "needs": ["asks-early", "child-asks", "asks-late"],
        "running": ["works"],
        "done": ["rests-later", "old", "rests"],
        "failed": ["broke"],
    }
    assert ids(columns_of(SESSIONS, "RESTS /p")) == {
        "needs": [],
        "running": [],
        "done": ["rests-later", "rests"],
        "failed": [],
    }


def test_keys_move_down_through_all_columns_and_across_those_that_have_sessions() -> None:
    columns = columns_of(SESSIONS)
    assert step_down(columns, "", 0) == "asks-early"
    assert step_down(columns, "asks-late", 1) == "works"
    assert step_down(columns, "broke", 1) == "broke"
    assert step_down(columns, "broke", -100) == "asks-early"
    assert step_across(columns, "asks-late", 1) == "works"
    assert step_across(columns, "works", -1) == "asks-early"
    assert step_across(columns, "gone", 1) == "asks-early"
    assert step_across(columns_of(SESSIONS, "rests"), "rests", 1) == "rests"
    assert step_down([], "x", 1) == step_across([], "x", 1) == ""


def test_costs_are_added_in_each_currency_and_times_are_read_at_a_glance() -> None:
    assert total_cost(SESSIONS) == "1.75 USD · 2.00 EUR"
    amounts = (0.0, 0.0004, 0.002, 0.0125, 0.05, 0.0996, 1234.5)
    texts = ["0.00 $", "< 0.001 $", "0.002 $", "0.013 $", "0.05 $", "0.10 $", "1,234.50 $"]
    assert [cost_text((amount, "$")) for amount in amounts] == texts
    assert [duration(seconds) for seconds in (-1, 8, 245, 7625)] == ["0 s", "8 s", "4:05 min", "2 h 07 min"]
    ages = [age(seconds) for seconds in (-1, 8, 245, 7625, 3 * 86_400)]
    assert ages == ["just now", "just now", "4 min ago", "2 h ago", "3 d ago"]


def test_a_wide_board_has_its_columns_side_by_side_and_a_narrow_one_below_each_other() -> None:
    hostile = [*SESSIONS, session("h", "idle", title="evil\x1b[31m [red]\u202e title", line="\x07[/]\nx")]
    text = ""
    for width in (40, 78, 112, 198):
        drawing = draw_board(columns_of(hostile), width, chosen_id="works", now=1000.0)
        text = "\n".join(line.plain for line in drawing.lines)
        assert all(line.cell_length <= width for line in drawing.lines)
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
        assert "evil" in text
        heads = [line.plain for line in drawing.lines if "Needs you  3" in line.plain]
        assert ("Failed  1" in heads[0]) == (width >= 112)
        assert {card.session_id for card in drawing.cards} == {each.id for each in hostile}
        (chosen,) = [card for card in drawing.cards if card.session_id == "works"]
        assert "works" in drawing.lines[chosen.top].plain[chosen.left : chosen.left + chosen.width]
    assert "1:00 min" in text
    assert "0.50 USD" in text
    assert "reads [b]a.py" in text
