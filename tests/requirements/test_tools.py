"""Requirements on tools and on what is asked of the client: TOOL, PERM, PLAN, FS, TERM, ELIC."""

from __future__ import annotations

from typing import Any

import pytest

from tests.requirements.heard import Recording, Scene
from tests.requirements.scenes_turns import REFUSALS

pytestmark = pytest.mark.timeout(180)

KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
STATES = {"pending", "in_progress", "completed", "failed"}


def calls(heard: Recording) -> list[Any]:
    return [
        update for update in heard.updates if update["sessionUpdate"] in ("tool_call", "tool_call_update")
    ]


def test_tool_01_tool_02_tool_04_tool_05_and_tool_06_calls_are_told_whole(heard: Recording) -> None:
    assert heard["story"].updates("work", "tool_call")
    for update in calls(heard):
        assert update["toolCallId"]
        assert update.get("kind", "other") in KINDS
        assert update.get("status", "pending") in STATES
        if update["sessionUpdate"] == "tool_call":
            assert update["title"]


def test_tool_03_ids_of_calls_are_unique(heard: Recording) -> None:
    for scene in heard.all:
        replayed = scene.updates("load", "tool_call") if "load" in scene.spans else []
        made = [update["toolCallId"] for update in scene.updates(kind="tool_call") if update not in replayed]
        again = [update["toolCallId"] for update in replayed]
        assert len(made) == len(set(made))
        assert len(again) == len(set(again))


def _states(scene: Scene, name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for update in scene.updates(name):
        if "toolCallId" in update and "status" in update:
            found.setdefault(update["toolCallId"], []).append(update["status"])
    return found


@pytest.mark.parametrize("name", ["work", "edit"])
def test_tool_08_and_tool_10_calls_run_and_end(heard: Recording, name: str) -> None:
    found = _states(heard["story"], name)
    assert found
    for states in found.values():
        assert states[-2:] == ["in_progress", "completed"]
        assert states[:-2] in ([], ["pending"])


def test_tool_08_a_call_is_in_progress_only_when_it_was_allowed(heard: Recording) -> None:
    scene = heard["story"]
    kinds = [
        frame["params"]["update"].get("status", "-") if frame.get("method") == "session/update" else "asked"
        for frame in scene.during("edit")
        if frame["method"] == "session/request_permission"
        or frame["params"].get("update", {}).get("sessionUpdate", "").startswith("tool_call")
    ]
    assert [kind for kind in kinds if kind != "-"] == ["pending", "asked", "in_progress", "completed"]


def test_tool_10_no_call_is_left_open(heard: Recording) -> None:
    for name, scene in heard.scenes.items():
        ends: dict[str, str] = {}
        for update in scene.updates():
            if "toolCallId" in update:
                ends[update["toolCallId"]] = update.get("status") or ends[update["toolCallId"]]
        if name != "death":
            assert set(ends.values()) <= {"completed", "failed"}, name


def test_tool_09_progress_is_told(coder: Recording) -> None:
    updates = coder["story"].updates("run", "tool_call_update")
    assert [update.get("status") for update in updates] == ["in_progress", None, "completed"]


def test_tool_11_tool_12_and_tool_14_content_is_of_three_kinds(heard: Recording) -> None:
    terminals = {
        frame["result"]["terminalId"]
        for scene in heard.all
        for frame in scene.frames
        if isinstance(frame, dict) and "terminalId" in (frame.get("result") or ())
    }
    seen = set()
    for update in calls(heard):
        for item in update.get("content") or ():
            seen.add(item["type"])
            if item["type"] == "diff":
                assert item["path"].startswith("/")
                assert type(item["newText"]) is str
            elif item["type"] == "terminal":
                assert item["terminalId"] in terminals
            else:
                assert item["content"]["type"] == "text"
    assert seen >= {"content", "diff"}


def test_tool_13_an_emptied_file_is_a_diff_to_nothing(reviewer: Recording) -> None:
    diffs = [
        item
        for update in reviewer["bare"].updates()
        for item in update.get("content") or ()
        if isinstance(item, dict) and item.get("type") == "diff"
    ]
    assert "" in [item["newText"] for item in diffs]


def test_tool_14_a_terminal_is_shown_before_it_is_released(coder: Recording) -> None:
    told = [
        "shown" if "terminal-1" in str(frame["params"].get("update", {}).get("content")) else frame["method"]
        for frame in coder["story"].during("run")
    ]
    assert told.index("terminal/create") < told.index("shown") < told.index("terminal/release")


def test_tool_17_the_name_of_a_tool_is_told_first_and_stays(heard: Recording) -> None:
    named = [update for update in calls(heard) if "name" in update]
    assert named
    assert all(update["sessionUpdate"] == "tool_call" for update in named)
    if heard.agent == "code":
        first = [update for update in calls(heard) if update["sessionUpdate"] == "tool_call"]
        assert all(update["name"] for update in first)


def test_tool_19_raw_input_is_json(coder: Recording) -> None:
    first = coder["story"].updates("work", "tool_call")
    assert [update["rawInput"] for update in first] == [{"path": "app.py"}]


def test_perm_01_perm_02_perm_03_perm_04_and_perm_11_questions_are_whole(heard: Recording) -> None:
    asked = heard.asked("session/request_permission")
    assert len(asked) > len(REFUSALS)
    for frame in asked:
        params = frame["params"]
        assert params["sessionId"]
        assert params["toolCall"]["toolCallId"]
        options = params["options"]
        assert options
        assert len({option["optionId"] for option in options}) == len(options)
        for option in options:
            assert option["name"]
            assert option["kind"] in {"allow_once", "allow_always", "reject_once", "reject_always"}
    (question,) = heard["story"].asked("session/request_permission", "edit")
    assert question["params"]["sessionId"] == heard["story"].facts["session"]


@pytest.mark.parametrize("choice", REFUSALS)
def test_perm_09_and_perm_10_whatever_is_no_yes_is_a_no(heard: Recording, choice: str) -> None:
    scene = heard["story"]
    assert scene.asked("session/request_permission", f"edit, {choice}")
    assert scene.asked("fs/write_text_file", f"edit, {choice}") == []
    assert scene.facts[f"after {choice}"] == "import os\n"
    (states,) = _states(scene, f"edit, {choice}").values()
    assert states[-1] == "failed"


def test_perm_12_several_questions_are_answered_in_any_order(heard: Recording) -> None:
    scene = heard["overlap"]
    assert len(scene.asked("session/request_permission")) == 2
    assert scene.result("right")["stopReason"] == scene.result("left edit")["stopReason"] == "end_turn"
    assert all("import os" not in text for text in scene.facts["edited"])


def test_plan_01_plan_02_plan_03_and_plan_05_plans_are_told_whole_and_go_on(heard: Recording) -> None:
    plans = [update["entries"] for update in heard["story"].updates("work", "plan")]
    assert len(plans) > 1
    assert {len(entries) for entries in plans} == {len(plans[0])}
    for entry in [entry for entries in plans for entry in entries]:
        assert entry["content"]
        assert entry["priority"] in {"high", "medium", "low"}
        assert entry["status"] in {"pending", "in_progress", "completed"}
    done = [sum(entry["status"] == "completed" for entry in entries) for entries in plans]
    assert done == sorted(done)
    assert done[-1] > done[0]


def test_plan_06_entries_may_change(reviewer: Recording) -> None:
    texts = [
        tuple(entry["content"] for entry in update["entries"])
        for update in reviewer["story"].updates("work", "plan")
    ]
    assert len(set(texts)) > 1


def test_fs_02_files_are_asked_for_by_session_and_path(heard: Recording) -> None:
    for frame in heard.asked("fs/read_text_file"):
        assert {"sessionId", "path"} <= frame["params"].keys() <= {"sessionId", "path", "line", "limit"}
    for frame in heard.asked("fs/write_text_file"):
        assert frame["params"].keys() == {"sessionId", "path", "content"}


def test_fs_09_null_is_taken_as_the_answer_to_a_write(heard: Recording) -> None:
    scene = heard["story"]
    assert len(scene.asked("fs/write_text_file", "edit")) == 1
    assert next(iter(_states(scene, "edit").values()))[-1] == "completed"
    assert scene.facts["edited"].endswith("# unsaved\n"), "what was not saved is not lost"


def test_term_03_term_10_and_term_16_terminals_are_made_whole_and_released(coder: Recording) -> None:
    (made,) = coder["story"].asked("terminal/create")
    params = made["params"]
    assert {"sessionId", "command"} <= params.keys()
    assert params["cwd"] == coder["story"].facts["folder"]
    assert params["outputByteLimit"] > 0
    assert len(coder["story"].asked("terminal/release")) == 1
    assert coder["story"].facts["open terminals"] == []


def test_elic_01_nobody_is_asked_for_a_form(heard: Recording) -> None:
    assert heard.asked("elicitation/create") == []
