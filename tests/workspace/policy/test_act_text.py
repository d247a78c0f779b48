from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize
from dragoman.workspace.policy.act_reader import act_of_call
from dragoman.workspace.policy.act_text import diff_lines, render_act
from tests.workspace.policy.makers import ROOT, SETTING, command, tool, write


def shown(call: v1.ToolCallUpdate) -> str:
    return render_act(act_of_call(call, SETTING), call)


def test_a_long_command_is_shown_to_its_last_character() -> None:
    line = "git commit -m '" + "x" * 12_000 + "' && rm -rf / # the end"
    text = render_act(command(line))
    assert line in text
    assert "Take care: it holds a comment (#)." in text


def test_every_line_of_a_long_change_is_shown() -> None:
    old = "".join(f"old {n}\n" for n in range(3000))
    new = "".join(f"new {n}\n" for n in range(3000))
    text = shown(v1.ToolCallUpdate(tool_call_id="t", content=[v1.Diff(path="x", old_text=old, new_text=new)]))
    assert all(f"  -old {n}\n" in text for n in range(3000))
    assert all(f"  +new {n}\n" in text for n in range(2999))
    assert text.endswith("+new 2999")


def test_a_change_shows_what_changes_and_a_new_file_all_of_it() -> None:
    assert list(diff_lines("a\nb\nc\n", "a\nB\nc\n")) == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert list(diff_lines(None, "a\nb")) == ["@@ -0,0 +1,2 @@", "+a", "+b"]
    assert list(diff_lines("-- x\n", "++ y\n")) == ["@@ -1 +1 @@", "--- x", "+++ y"]
    assert list(diff_lines("a\n", "a")) == ["(the last line no longer has a line end)"]


LINES = st.lists(st.text(st.sampled_from("ab \t\x1b"), max_size=4), max_size=12)


@given(LINES, LINES)
def test_no_changed_line_is_missing_from_a_diff(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    lines = list(diff_lines(before, after))
    gone = [line for line in lines if line.startswith("-")]
    come = [line for line in lines if line.startswith("+")]
    assert len(come) - len(gone) == len(new) - len(old)
    assert {f"-{sanitize(line, exact=True)}" for line in set(old) - set(new)} <= set(gone)
    assert {f"+{sanitize(line, exact=True)}" for line in set(new) - set(old)} <= set(come)


def test_input_is_shown_whole_where_there_is_no_change() -> None:
    call = v1.ToolCallUpdate(
        tool_call_id="t",
        kind="edit",
        title="Edit x",
        raw_input={
            "file_path": "x",
            "old_string": "one\ntwo",
            "new_string": "\x1b[2Jthree",
            "n": [1, {"a": None}],
        },
        content=[v1.Content(content=v1.TextContent(text="because\nof that"))],
    )
    text = shown(call)
    for part in (
        "file_path: x",
        "old_string:\n  one\n  two",
        "new_string: ␛[2Jthree",
        "because",
        "of that",
    ):
        assert part in text
    assert '"a": null' in text


def test_paths_outside_the_session_are_marked() -> None:
    text = render_act(tool("read", "a", "/etc/passwd"))
    assert f"Path: {ROOT}/a\nPath: /etc/passwd  (outside" in text


def test_what_would_be_written_is_shown() -> None:
    assert "New text:\n  one\n  two" in render_act(write(f"{ROOT}/x", text="one\ntwo"))


@given(st.text())
def test_nothing_that_is_shown_can_move_a_cursor_or_hide(text: str) -> None:
    shown_text = render_act(command(text))
    assert all(c == "\n" or c == "\t" or c.isprintable() for c in shown_text)
