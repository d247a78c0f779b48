from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.act_view import diff_lines, view_of
from tests.workspace.policy.makers import ROOT, SETTING, command, tool, write


def render_act(act: Act) -> str:
    return view_of(act).text


def shown(call: v1.ToolCallUpdate) -> str:
    return view_of(act_of_call(call, SETTING), call).text


def test_a_long_command_is_shown_to_its_last_character() -> None:
    line = "git commit -m '" + "x" * 12_000 + "' && rm -rf / # the end"
    text = render_act(command(line))
    assert line in text
    assert "Take care: the command contains a comment (#)." in text


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


def test_a_change_and_the_rest_of_the_input_are_shown_once() -> None:
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
        f"Path: {ROOT}/x",
        f"Change of {ROOT}/x:\n  @@ -1,2 +1 @@\n  -one\n  -two\n  +␛[2Jthree",
        "Said:\n  because\n  of that",
        '"a": null',
    ):
        assert text.count(part) == 1
    assert "old_string" not in text


def test_paths_outside_the_session_are_marked() -> None:
    text = render_act(tool("read", "a", "/etc/passwd"))
    assert f"Path: {ROOT}/a\nPath: /etc/passwd  (outside" in text


def test_what_would_be_written_is_shown() -> None:
    assert f"New text of {ROOT}/x:\n  one\n  two" in render_act(write(f"{ROOT}/x", text="one\ntwo"))
    assert f"Change of {ROOT}/x: its content is not known" in render_act(tool("edit", "x"))
    same = tool("edit", "x", raw_input={"file_path": "x", "old_string": "a", "new_string": "a"})
    assert f"Change of {ROOT}/x: its text stays the same" in render_act(same)


def test_texts_that_nobody_understands_are_named() -> None:
    text = render_act(tool("read", "a", raw_input={"path": "a", "where": "b.txt", "also": ["git push\nls"]}))
    assert "It also says: b.txt" in text
    assert "It also says:\n  git push\n  ls" in text
    assert "where: b.txt" not in text


def test_whatever_keeps_a_rule_from_allowing_a_command_is_said() -> None:
    lines = render_act(command("make --eval=x", variables=("LD_X=1",))).split("\n")
    doubts = [line for line in lines if line.startswith("Take care: ")]
    assert len(doubts) == 2
    assert "LD_X" in doubts[0]
    assert "--eval" in render_act(command("make --eval=x")).rpartition("Take care: ")[2]
    assert "Take care" not in render_act(command("git status"))


def test_a_command_that_is_not_told_is_no_title() -> None:
    call = v1.ToolCallUpdate(tool_call_id="t", kind="execute", title="ls", raw_input={"command": {"x": "rm"}})
    text = shown(call)
    assert "Command: unknown" in text
    assert '"x": "rm"' in text
    assert "  “ls”" in text


def test_ways_to_show_a_change_that_do_not_agree_are_all_shown() -> None:
    raw = {"file_path": "x", "old_string": "a", "new_string": "c"}
    other = v1.Diff(path="x", old_text="a", new_text="b")
    text = shown(v1.ToolCallUpdate(tool_call_id="t", content=[other], raw_input=raw))
    assert "+b" in text
    assert "+c" in text
    assert "in ways that may not agree" in text
    same = v1.Diff(path="x", old_text="1\na\n", new_text="1\nc\n")
    text = shown(v1.ToolCallUpdate(tool_call_id="t", content=[same], raw_input=raw))
    assert text.count("+c") == 1
    assert "may not agree" not in text


@given(st.text())
def test_nothing_that_is_shown_can_move_a_cursor_or_hide(text: str) -> None:
    shown_text = render_act(command(text))
    assert all(c == "\n" or c == "\t" or c.isprintable() for c in shown_text)
