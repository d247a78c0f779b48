"""Requirements on sessions: AUTH, SES, LOAD, RES, CLO, LST, DEL, ADIR."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import pytest

from tests.requirements.cast import APP, ROLES
from tests.requirements.heard import Recording, kind_of
from tests.requirements.scenes_frames import NOBODY
from tests.requirements.scenes_sessions import MANY

pytestmark = pytest.mark.timeout(180)

TURN_KINDS = {
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}


def test_auth_01_auth_03_and_auth_15_methods_have_a_name_and_none_wants_a_terminal(heard: Recording) -> None:
    for scene in ("story", "bare"):
        methods = heard[scene].result("initialize")["authMethods"]
        assert all(method["id"] and method["name"] for method in methods)
        assert not [method for method in methods if method.get("type") == "terminal" or "command" in method]


def test_auth_07_and_auth_08_a_login_that_has_all_it_needs_is_answered_with_nothing(coder: Recording) -> None:
    assert coder["probes"].result("login") == {}
    assert coder["story"].result("work")["stopReason"] == "end_turn"


def test_auth_09_and_err_02_what_needs_a_login_says_so(coder: Recording) -> None:
    scene = coder["gate"]
    assert scene.result("new")["sessionId"]
    assert scene.code("prompt") == scene.code("login") == -32000


def test_auth_10_an_unknown_method_is_an_error(heard: Recording) -> None:
    assert heard["probes"].code("unknown login") == (-32601 if heard.agent == "review" else -32602)


def test_auth_23_logout_is_not_offered_and_not_known(heard: Recording) -> None:
    can = heard["probes"].result("initialize")["agentCapabilities"]
    assert can.get("auth", {}).get("logout") is None
    assert heard["probes"].code("request logout") == -32601


def test_ses_03_and_len_03_missing_servers_are_refused_and_null_is_none(heard: Recording) -> None:
    scene = heard["probes"]
    assert scene.code("new without servers") == -32602
    assert scene.result("new with null servers")["sessionId"]
    assert scene.result("new with null roots")["sessionId"]


def test_ses_04_every_session_has_an_id_of_its_own(heard: Recording) -> None:
    made = heard["lists"].facts["made"]
    assert len(set(made)) == len(made) == MANY[heard.agent]
    assert all(made)


def test_ses_05_ses_06_and_ses_07_relative_paths_start_at_the_folder_of_the_session(
    heard: Recording,
) -> None:
    scene = heard["bare"]
    places = [item["path"] for update in scene.updates("work") for item in update.get("locations") or ()]
    assert f"{scene.facts['folder']}/app.py" in places
    assert scene.facts["edited"] != APP


def test_ses_08_and_adir_04_files_outside_are_not_read_unasked(heard: Recording) -> None:
    if heard.agent == "code":
        (question,) = heard["story"].asked("session/request_permission", "stray")
        assert question["params"]["toolCall"]["title"] == "Read /etc/hostname"
        ended = heard["story"].updates("stray", "tool_call_update")[-1]
    else:
        ended = heard["roots"].updates("outside", "tool_call_update")[-1]
    assert ended["status"] == "failed"


def test_ses_09_a_relative_folder_is_refused(heard: Recording) -> None:
    assert heard["probes"].code("new with a relative cwd") == -32602


def test_ses_10_and_ses_11_all_servers_over_stdio_are_connected_to(heard: Recording) -> None:
    for log in heard["servers"].facts["logs"]:
        assert {"initialize", "tools/list"} <= set(log)


def test_ses_10_a_tool_of_a_server_is_called(coder: Recording) -> None:
    scene = coder["servers"]
    assert "tools/call" in scene.facts["logs"][0]
    ended = scene.updates("mount", "tool_call_update")[-1]
    assert ended["status"] == "completed"
    assert "nothing to see" in str(ended["content"])


def test_clo_03_a_closed_session_is_gone_and_so_are_its_servers(heard: Recording) -> None:
    assert heard["probes"].code("prompt after close") == -32002
    assert all(log[-1] == "ended" for log in heard["servers"].facts["logs"])


def test_ses_13_http_servers_are_offered(heard: Recording) -> None:
    assert heard["probes"].result("initialize")["agentCapabilities"]["mcpCapabilities"]["http"] is True
    assert heard["servers"].result("http server")["sessionId"]


def test_ses_16_and_len_02_one_broken_server_fails_the_request(heard: Recording) -> None:
    assert heard["probes"].code("new with a broken server") == -32602
    assert heard["probes"].code("new with servers as text") == -32602


def test_ses_23_a_server_of_an_unknown_type_is_not_started(heard: Recording) -> None:
    assert heard["probes"].code("new with an unknown transport") == -32602


def test_ses_18_sessions_share_nothing(heard: Recording) -> None:
    scene = heard["overlap"]
    assert all(text != APP for text in scene.facts["edited"])
    for question in scene.asked("session/request_permission"):
        side = "left" if question["params"]["sessionId"] == scene.facts["left"] else "right"
        assert f"/{side}/app.py" in str(question["params"]["toolCall"])
    if heard.agent == "code":
        failed = heard["servers"].updates("mount elsewhere", "tool_call_update")
        assert "nothing to see" not in str(failed), "another session's tools"


def test_ses_17_the_answer_holds_modes_and_options(heard: Recording) -> None:
    result = heard["story"].result("new")
    assert result.keys() == {"sessionId", "modes", "configOptions"}


def test_ses_19_and_cmd_01_the_answer_comes_before_the_first_update(heard: Recording) -> None:
    for name in ("story", "bare"):
        scene = heard[name]
        made = scene.result("new")["sessionId"]
        assert not [note for note in scene.notes("new") if note["sessionId"] == made]
        commands = scene.updates(kind="available_commands_update")
        assert commands


def test_load_03_load_05_and_load_11_the_whole_conversation_comes_again(heard: Recording) -> None:
    told, again = heard["story"], heard["again"]
    session = told.facts["session"]
    assert {note["sessionId"] for note in again.notes("load")} == {session}
    replayed = again.updates("load")
    assert {update["sessionUpdate"] for update in replayed} >= TURN_KINDS - {"agent_thought_chunk"}
    assert again.text("load").startswith(told.text()[:20])
    for kind in ("agent_message_chunk", "agent_thought_chunk"):
        assert again.text("load", kind) == told.text(None, kind)
    users = again.text("load", "user_message_chunk")
    role = ROLES[heard.agent]
    assert users.startswith(role.work + role.edit)
    first = [update["sessionUpdate"] for update in replayed if update["sessionUpdate"] in TURN_KINDS]
    assert first[0] == "user_message_chunk"


def test_load_04_nothing_is_replayed_after_the_answer(heard: Recording) -> None:
    scene = heard["again"]
    begun, _ = scene.spans["recall"]
    _, answered = scene.spans["load"]
    between = [frame for frame in scene.frames[answered + 1 : begun] if "method" in frame]
    notes = [frame["params"] for frame in between if frame["method"] == "session/update"]
    assert not [note for note in notes if kind_of(note) in TURN_KINDS]


def test_load_06_and_turn_09_ids_of_messages_stay_with_their_message(heard: Recording) -> None:
    roles: dict[str, set[str]] = {}
    for update in heard["again"].updates("load"):
        if "messageId" in update:
            roles.setdefault(update["messageId"], set()).add(update["sessionUpdate"])
    assert all(len(kinds) == 1 for kinds in roles.values())
    told = [update["messageId"] for update in heard["story"].updates() if "messageId" in update]
    assert set(told) <= set(roles)


def test_load_07_load_14_res_05_and_res_06_the_answer_is_an_object_with_the_settings(
    heard: Recording,
) -> None:
    for scene, name in (("again", "load"), ("resumed", "resume")):
        result = heard[scene].result(name)
        assert result["modes"] == heard["story"].result("new")["modes"]
        assert [option["id"] for option in result["configOptions"]]


def test_load_08_and_res_04_the_conversation_goes_on(heard: Recording) -> None:
    role = ROLES[heard.agent]
    for name in ("again", "resumed"):
        assert heard[name].result("recall")["stopReason"] == "end_turn"
        if heard.agent == "review":
            assert role.recalled in heard[name].text("recall")
    if heard.agent == "code":
        asked = heard["resumed"].facts["model"]
        assert asked[-1] == role.recall
        assert role.recalled in asked


def test_load_09_and_res_07_an_unknown_session_is_not_found(heard: Recording) -> None:
    for name in ("load of an unknown session", "resume of an unknown session"):
        assert heard["probes"].code(name) == -32002
    assert NOBODY not in {note["sessionId"] for note in heard["probes"].notes()}


def test_load_12_usage_is_told_on_load_and_resume(coder: Recording) -> None:
    assert coder["again"].updates("load", "usage_update")
    assert coder["resumed"].updates("resume", "usage_update")


def test_load_13_notices_are_not_replayed(heard: Recording) -> None:
    assert heard["again"].updates("load", "notice") == []


def test_load_16_a_finished_compaction_is_replayed_as_one_update(coder: Recording) -> None:
    replayed = coder["again"].updates("load", "compaction_update")
    assert [update["status"] for update in replayed] == ["completed", "completed"]
    assert coder["again"].updates("load", "compaction_summary_chunk") == []


def test_res_03_nothing_is_replayed_on_resume(heard: Recording) -> None:
    assert not [
        update for update in heard["resumed"].updates("resume") if update["sessionUpdate"] in TURN_KINDS
    ]


def test_clo_02_and_clo_07_closing_cancels_the_turn_which_is_answered_first(heard: Recording) -> None:
    scene = heard["withdraws"]
    assert scene.result("closed prompt")["stopReason"] == "cancelled"
    assert scene.spans["closed prompt"][1] < scene.spans["close"][1]
    assert scene.code("prompt after close") == -32002


def test_clo_04_and_del_04_the_answers_are_empty_objects(heard: Recording) -> None:
    assert heard["withdraws"].result("close") == {}
    assert heard["lists"].result("delete") == {}


def test_clo_05_closing_an_unknown_session_is_an_error(heard: Recording) -> None:
    assert heard["probes"].code("close of an unknown session") == -32002


def test_lst_03_and_lst_04_no_match_is_an_empty_list(heard: Recording) -> None:
    assert heard["lists"].result("list nowhere")["sessions"] == []


def test_lst_05_and_lst_10_the_folder_filters_and_pages_add_up(heard: Recording) -> None:
    scene = heard["lists"]
    listed = [session for page in scene.facts["pages"] for session in page]
    assert sorted(listed) == sorted(scene.facts["made"])
    assert all(len(page) <= 50 for page in scene.facts["pages"])
    assert [item["sessionId"] for item in scene.result("list there")["sessions"]] == [scene.facts["there"]]
    assert heard["probes"].code("list of a relative folder") == -32602


def test_lst_06_items_have_what_they_must(heard: Recording) -> None:
    items = heard["lists"].result("list there")["sessions"] + heard["probes"].result("after all")["sessions"]
    for item in items:
        assert item["sessionId"]
        assert PurePath(item["cwd"]).is_absolute()
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", item["updatedAt"])
        assert item.keys() <= {"sessionId", "cwd", "title", "updatedAt", "additionalDirectories", "_meta"}


def test_lst_09_garbage_is_no_cursor(heard: Recording) -> None:
    assert heard["probes"].code("bad cursor") == -32602


def test_lst_13_listing_changes_nothing(heard: Recording) -> None:
    scene = heard["lists"]
    assert scene.result("list there") == scene.result("list there again")
    assert scene.notes("list there again") == []


def test_lst_14_and_lst_16_a_title_is_told_alone_and_listed(heard: Recording) -> None:
    scene = heard["lists"]
    told = scene.updates("work", "session_info_update")
    assert told
    assert all(update.keys() <= {"sessionUpdate", "title", "updatedAt", "_meta"} for update in told)
    (item,) = scene.result("list there")["sessions"]
    assert item["title"] == told[-1]["title"]


def test_del_02_del_03_and_del_05_what_is_deleted_is_gone_and_may_be_deleted_again(heard: Recording) -> None:
    scene = heard["lists"]
    assert scene.result("list after delete")["sessions"] == []
    assert scene.result("delete again") == {}
    assert heard["probes"].result("delete of an unknown session") == {}
    assert scene.code("load after delete") == -32002


@pytest.mark.parametrize("name", ["roots as text", "roots with a number", "roots with nothing"])
def test_adir_03_bad_roots_are_refused(heard: Recording, name: str) -> None:
    assert heard["probes"].code(name) == -32602


def test_adir_03_and_adir_07_relative_roots_are_refused(heard: Recording) -> None:
    assert heard["probes"].code("roots with a relative one") == -32602


def _read(scene: Any, name: str, path: str) -> bool:
    """Whether the review told about this file."""
    return f"{path}#L" in scene.text(name)


def test_adir_05_roots_count_for_as_long_as_they_were_given(heard: Recording) -> None:
    scene = heard["roots"]
    _, extra, outside = scene.facts["folders"]
    if heard.agent == "review":
        assert _read(scene, "extra", f"{extra}/extra.py")
        assert not _read(scene, "outside", f"{outside}/outside.py")
        assert not _read(scene, "extra after load", f"{extra}/extra.py")
    else:
        assert extra in scene.facts["system"]
        assert extra not in scene.facts["system after"]


def test_adir_08_relative_paths_start_at_the_first_folder_only(heard: Recording) -> None:
    scene = heard["roots"]
    main, extra, _ = scene.facts["folders"]
    places = {item["path"] for update in scene.updates("work") for item in update.get("locations") or ()}
    assert f"{main}/app.py" in places
    assert f"{extra}/app.py" not in places


def test_adir_09_notes_of_all_roots_are_read_in_their_order(coder: Recording) -> None:
    system = coder["roots"].facts["system"]
    assert 0 < system.index("MAIN-NOTES") < system.index("EXTRA-NOTES")
    assert "OUTSIDE-NOTES" not in system


def test_lst_11_roots_are_listed(heard: Recording) -> None:
    (item,) = heard["roots"].result("list")["sessions"]
    assert item.get("additionalDirectories", [heard["roots"].facts["folders"][1]]) == [
        heard["roots"].facts["folders"][1]
    ]
