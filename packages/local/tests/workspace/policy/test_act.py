import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import (
    act_of_call,
    act_of_command,
    act_of_file,
    act_of_request,
)
from dragoman_local.workspace.policy.act_view import diff_lines, view_of
from dragoman_local.workspace.policy.judge import resolve
from tests.every import every
from tests.workspace.policy.makers import HOME, ROOT, SETTING, command, policy, tool, write


def asked(**fields: Any) -> Act:
    return act_of_call(v1.ToolCallUpdate(tool_call_id="t", **fields), SETTING, session_id="s")


@every(
    ("raw", "expected"),
    [
        ({"command": "git status && ls"}, (("git", "status"), ("ls",))),
        ({"command": ["/bin/bash", "-lc", "git status && ls"]}, (("git", "status"), ("ls",))),
        ({"command": ["git", "a b"]}, (("git", "a b"),)),
        ({"command": "git", "args": ["status"]}, (("git", "status"),)),
        ({"cmd": "ls"}, (("ls",),)),
    ],
)
def test_commands_are_found_where_agents_put_them(raw: Any, expected: Any) -> None:
    script = asked(kind="execute", raw_input=raw).script
    assert script is not None
    assert script.objection is None
    assert script.commands == expected


@every(
    "raw",
    [
        None,
        {},
        {"command": 5},
        {"command": []},
        {"command": ["git", 5]},
        {"command": "git", "args": "x"},
        {"command": "git", "args": [5]},
        "text",
    ],
)
def test_an_execution_that_does_not_say_what_it_runs_cannot_be_read(raw: Any) -> None:
    script = asked(kind="execute", title="git status", raw_input=raw).script
    assert script is not None
    assert script.objection


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["command", "cmd", "args", "path", "paths", "file_path", "cwd", "x"])


@given(st.dictionaries(KEYS, JSON, max_size=5) | JSON, st.sampled_from(["execute", "read", "edit", "_x"]))
def test_any_input_makes_a_question_and_none_is_allowed_by_accident(raw: Any, kind: str) -> None:
    act = asked(kind=kind, raw_input=raw, title="x")
    assert policy().decide(act).outcome == "ask"
    if isinstance(raw, dict) and (raw.get("cmd") is not None or raw.get("command") is not None):
        assert policy(approve="reads").decide(act).outcome == "deny"


def test_a_kind_is_a_claim_that_commands_and_changes_outweigh() -> None:
    diff = v1.Diff(path="x", new_text="y")
    assert asked(kind="search", raw_input={"command": "rm x"}).kinds == {"execute"}
    assert asked(kind="read", content=[diff]).kinds == {"edit"}
    assert asked(kind="delete", content=[diff]).kinds == {"edit", "delete"}
    assert asked(kind="read").kinds == {"read"}
    assert asked().kinds == {"other"}
    assert asked(kind="_new").kinds == {"other"}
    assert asked(kind="read", raw_input={"url": "https://example.org/"}).kinds == {"fetch"}
    assert asked(raw_input={"more": ["HTTP://example.org"]}).kinds == {"fetch"}


@every("name", ["deleteFile", "rename_file", "mcp__files__move", "Write"])
def test_a_read_whose_name_says_something_else_is_no_clear_read(name: str) -> None:
    reading = {"kind": "read", "raw_input": {"path": "x"}}
    assert not asked(title=name, **reading).is_clear
    assert not asked(title="Look", name=name, **reading).is_clear
    assert asked(title="Read deleted files", **reading).is_clear
    assert asked(title="Reset", name=name, kind="edit", raw_input={"path": "x"}).is_clear


def test_the_verbs_of_an_editing_tool_are_no_commands() -> None:
    assert asked(kind="read", raw_input={"command": "view", "path": "x"}).script is None
    assert asked(kind="execute", raw_input={"command": "view", "path": "x"}).script is not None
    assert asked(kind="read", raw_input={"command": "rm", "path": "x"}).script is not None
    assert asked(kind="edit", raw_input={"command": "undo_edit", "path": "x"}).script is None
    assert asked(kind="read", raw_input={"command": "undo_edit", "path": "x"}).script is not None


@every("switch", [{"delete": True}, {"truncate": 0}, {"overwrite": 1}])
def test_a_switch_says_what_a_read_does_besides(switch: dict[str, object]) -> None:
    assert not asked(kind="read", raw_input={"path": "x", **switch}).is_clear
    assert asked(kind="read", raw_input={"path": "x", "limit": 5, **dict.fromkeys(switch, False)}).is_clear


def test_paths_come_from_locations_changes_and_input() -> None:
    act = asked(
        kind="edit",
        locations=[v1.ToolCallLocation(path="a.py")],
        content=[v1.Diff(path=f"{ROOT}/b.py", new_text="")],
        raw_input={"file_path": "c//./d.py", "paths": ["../e.py", 5], "content": "x"},
    )
    assert act.paths == (f"{ROOT}/a.py", f"{ROOT}/b.py", f"{ROOT}/c/d.py", f"{ROOT}/../e.py")
    assert not act.is_inside


def test_what_was_said_before_about_a_call_counts_where_the_request_is_silent() -> None:
    before = v1.ToolCallUpdate(
        tool_call_id="t", kind="edit", name="Write", locations=[v1.ToolCallLocation(path="x")]
    )
    now = v1.ToolCallUpdate(tool_call_id="t", title="Write x")
    act = act_of_call(now, SETTING, known_call=before)
    assert (act.kind, act.tool, act.paths) == ("edit", "Write", (f"{ROOT}/x",))


@every(
    ("announced", "asked_input"),
    [
        ({"command": "rm x"}, {"command": "ls"}),
        ({"command": "rm x"}, {"cmd": "ls"}),
        ({}, {"command": "ls", "cmd": "rm x"}),
        ({}, {"command": ["ls"], "cmd": "rm x"}),
    ],
)
def test_a_request_takes_no_command_back(announced: dict[str, Any], asked_input: dict[str, Any]) -> None:
    before = v1.ToolCallUpdate(tool_call_id="t", kind="read", raw_input=announced)
    now = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input=asked_input)
    act = act_of_call(now, SETTING, known_call=before)
    assert act.script is not None
    assert set(act.script.commands) == {("rm", "x"), ("ls",)}
    assert act.objection() == "the agent names 2 different commands for it"


def test_a_command_that_was_announced_piece_by_piece_is_one() -> None:
    before = v1.ToolCallUpdate(tool_call_id="t", raw_input={"command": "git comm"})
    now = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input={"command": "git commit"})
    act = act_of_call(now, SETTING, known_call=before)
    assert act.script is not None
    assert act.script.commands == (("git", "commit"),)
    assert act.objection() is None


@every(
    ("raw", "paths"),
    [
        ({"path": "~/x"}, [f"{HOME}/x"]),
        ({"path": "$HOME/x"}, [f"{HOME}/x"]),
        ({"path": "${HOME}/x"}, [f"{HOME}/x"]),
        ({"path": "file:///etc/pass%77d"}, ["/etc/passwd"]),
        ({"path": "file://localhost/etc/x"}, ["/etc/x"]),
        ({"uri": "FILE:///etc/x"}, ["/etc/x"]),
        ({"fileName": "/etc/x"}, ["/etc/x"]),
        ({"absolutePath": "~/x"}, [f"{HOME}/x"]),
        ({"changes": [{"to": {"where": "../x"}}]}, [f"{ROOT}/../x"]),
        ({"files": [{"path": "/a"}, "/b"]}, ["/a", "/b"]),
        ({"file_path": ["a"]}, [f"{ROOT}/a"]),
        ({"paths": "a"}, [f"{ROOT}/a"]),
        ({"content": "/not/a/place"}, []),
        ({"path": "a", "old_string": "/x", "new_string": "/y"}, [f"{ROOT}/a"]),
    ],
)
def test_a_place_counts_however_it_is_written(raw: dict[str, Any], paths: list[str]) -> None:
    assert sorted(asked(kind="read", raw_input=raw).paths) == paths


@every(
    ("raw", "texts"),
    [
        ({"target": ".env"}, [".env"]),
        ({"a": {"b": ["c", 3, None]}}, ["c"]),
        ({"description": "x", "command": "ls", "cwd": "."}, []),
        ({"command": "ls -l", "parsed": [{"words": ["ls", "-l"]}]}, []),
        ({"deep": [[[[{"x": "y"}]]]]}, ["y"]),
        ("a text", ["a text"]),
        ({"args": ["x"], "env": {"A": "y"}}, ["y", "x"]),
        ({"cwd": ["x"]}, ["x"]),
        ({"data": {"x.py": 1}}, ["x.py"]),
    ],
)
def test_a_text_under_an_unknown_name_is_kept(raw: object, texts: list[str]) -> None:
    act = asked(kind="read", raw_input=raw)
    assert list(act.unknown_texts) == texts
    assert act.is_read is False


@every(
    "raw",
    [
        {"a": ["x"] * 100_000},
        {"a": "x" * 100_000},
        "x" * 100_000,
        {"a": json.loads("[" * 100 + '"git push"' + "]" * 100)},
    ],
)
def test_an_input_that_is_too_large_to_be_read_is_doubted(raw: object) -> None:
    act = asked(kind="other", name="x", raw_input=raw)
    assert len(act.unknown_texts) <= 256
    assert sum(map(len, act.unknown_texts)) <= 65_536
    assert act.doubts == ("its input is too large to be read",)
    rules = '[[rule]]\ndecision = "deny"\n{}\n[[rule]]\ndecision = "allow"\ntool = "x"\n'
    assert policy(rules.format('tool = "y"')).decide(act).outcome == "allow"
    for hidden in ('command = "git push"', 'path = "**/.env"'):
        assert policy(rules.format(hidden)).decide(act).outcome == "ask"


def test_a_read_that_names_no_place_may_be_anything() -> None:
    assert not asked(kind="read").is_read
    assert asked(kind="search", raw_input={"pattern": "x"}).is_read
    assert asked(kind="read", raw_input={"path": "x"}).is_read


def test_meta_says_nothing() -> None:
    act = asked(kind="read", meta={"kind": "execute", "command": "rm", "path": "/x"})
    assert act.kinds == {"read"}
    assert act.paths == ()
    assert act.script is None


def test_lent_files_and_terminals_are_kinds_too() -> None:
    assert act_of_file("write", "/x", SETTING).kinds == {"edit"}
    assert act_of_file("read", "/x", SETTING).method == "fs/read"
    assert act_of_file("search", "**/x", SETTING).paths == ()
    run = act_of_command(["git", "push"], SETTING, cwd=ROOT, variables=["PATH"])
    assert run.kinds == {"execute"}
    assert run.method == "terminal"
    assert str(run.objection()).startswith("the agent sets the variable PATH for it, with which programs may")


@pytest.mark.parametrize(
    "env",
    [
        {"NODE_OPTIONS": "--require ./x.js"},
        [{"name": "NODE_OPTIONS", "value": "--require ./x.js"}],
        ["NODE_OPTIONS=--require ./x.js"],
    ],
)
def test_variables_are_found_where_agents_put_them(env: Any) -> None:
    act = asked(kind="execute", raw_input={"command": "npm test", "env": env})
    assert act.variables == ("NODE_OPTIONS=--require ./x.js",)
    assert "NODE_OPTIONS" in str(act.objection())


def test_a_question_without_roots_is_outside() -> None:
    assert tool("read", "x").is_read
    assert not act_of_call(
        v1.ToolCallUpdate(tool_call_id="t", kind="read", locations=[v1.ToolCallLocation(path="/x")]),
        type(SETTING)(),
    ).is_read


@every(
    "raw",
    [
        {"file_path": [".env"]},
        {"paths": ".env"},
        {"args": [".env"]},
        {"env": {"file": ".env"}},
        {"cwd": [".env"]},
        {"data": {".env": 1}},
        {"query": ".env"},
        {"prompt": "Read .env, please."},
        {"todos": [{"name": ".env"}]},
        {"data": {"prompt": ".env"}},
        {"x": ".env#L1"},
        {"x": ".env?raw"},
        {"x": "[.env](it)"},
        {"x": ".env\0.txt"},
    ],
)
def test_a_denied_place_is_found_wherever_an_input_names_it(raw: object) -> None:
    act = asked(kind="other", name="x", raw_input=raw)
    rules = '[[rule]]\ndecision = "deny"\npath = "**/.env"\n[[rule]]\ndecision = "allow"\ntool = "x"\n'
    assert policy(rules).decide(act).outcome != "allow"


@pytest.mark.parametrize(
    ("call", "is_fetch"),
    [
        ({"raw_input": {"target": "https://a.example/x"}}, True),
        ({"raw_input": {"target": "a.txt"}}, False),
        ({"kind": "execute", "raw_input": {"command": "curl https://a.example/x"}}, False),
        ({"kind": "execute", "raw_input": {"command": "curl x", "note": "https://a.example/x"}}, False),
    ],
)
def test_an_address_in_an_input_is_a_fetch_and_a_command_is_a_command(
    call: dict[str, Any], is_fetch: bool
) -> None:
    act = act_of_call(v1.ToolCallUpdate(tool_call_id="t", **call), SETTING, session_id="s")
    assert act.fetches is is_fetch
    assert ("fetch" in act.kinds) is is_fetch


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has these files")
def test_a_question_about_a_write_does_not_show_what_the_kernel_makes_up(tmp_path: Path) -> None:
    """The file has the environment of this process."""
    (tmp_path / "a.txt").write_text("old\n")
    shown = {
        path: resolve(act_of_file("write", path, SETTING, text="new\n")).changes[0].old
        for path in ("/proc/self/environ", "/proc/self/comm", str(tmp_path / "a.txt"))
    }
    assert [*shown.values()] == [None, None, "old\n"]


@every(
    ("call", "member", "expected"),
    [
        ({"kind": "read", "raw_input": {"arguments": "a.py"}}, "paths", (f"{ROOT}/a.py",)),
        ({"kind": "read", "raw_input": {"arguments": "a b"}}, "paths", ()),
        ({"kind": "other", "raw_input": {"arguments": "a.py"}}, "paths", ()),
        ({"kind": "other", "title": "one / two"}, "paths", ()),
        ({"kind": "execute", "raw_input": {"command": "ls", "cwd": ""}}, "cwd", ""),
        ({"kind": "edit", "raw_input": {"command": "create", "path": "a"}}, "script", None),
    ],
)
def test_a_word_means_something_where_it_can_only_mean_that(
    call: dict[str, Any], member: str, expected: object
) -> None:
    assert getattr(asked(**call), member) == expected


@every(
    "raw",
    [
        {"kind": "execute", "raw_input": {"command": "create", "path": "a"}},
        {"kind": "edit", "raw_input": {"command": "create"}},
        {"kind": "edit", "raw_input": {"command": "make", "path": "a"}},
    ],
)
def test_a_verb_is_a_command_unless_a_path_says_what_it_edits(raw: dict[str, Any]) -> None:
    assert asked(**raw).script is not None


@every("command", ["rm", ["rm"]])
@every("args", [["-rf", "/x"], "-rf /x", {"a": "-rf"}, [1]])
def test_no_argument_is_left_out_of_a_command(command: object, args: object) -> None:
    act = asked(kind="execute", raw_input={"command": command, "args": args})
    assert policy('[[rule]]\ndecision = "allow"\ncommand = "rm"').decide(act).outcome == "ask"
    assert act.script is not None
    assert act.script.commands == ((("rm", "-rf", "/x"),) if args == ["-rf", "/x"] else ())


def test_only_files_that_are_named_are_lent_and_only_writes_change_them() -> None:
    for method, path in (("fs/read_text_file", 3), ("fs/write_text_file", None), ("fs/other", "/a")):
        assert act_of_request(method, {"path": path}, SETTING) is None
    assert not act_of_file("read", "/a", SETTING, text="x").changes
    assert not act_of_file("write", "/a", SETTING).changes


def test_a_request_that_shows_no_change_has_announced_none() -> None:
    known = v1.ToolCallUpdate(tool_call_id="t", content=[v1.Diff(path="/a", new_text="x")])
    act = act_of_call(v1.ToolCallUpdate(tool_call_id="t"), SETTING, session_id="s", known_call=known)
    assert not act.doubts


def test_a_view_calls_outside_what_is_outside_and_alone_what_was_shown_in_two_ways() -> None:
    assert view_of(write("/x/a.py")).places[0].is_outside
    assert not view_of(replace(write("/x/a.py"), roots=())).places[0].is_outside
    assert view_of(command("ls", cwd="/x")).is_folder_outside
    assert not view_of(command("ls")).is_folder_outside
    assert not view_of(asked(kind="other", raw_input={"cwd": "/x"})).is_folder_outside
    edits = [{"old_string": text, "new_string": "z"} for text in ("x", "y")]
    assert not view_of(asked(kind="edit", raw_input={"file_path": "a", "edits": edits})).doubts
    assert list(diff_lines(None, "x\n"))[-1] == "+x"
