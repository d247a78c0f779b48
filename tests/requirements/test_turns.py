"""Requirements on turns: INIT after the handshake, TURN, CAN, CRQ, UPD, MODE, CFG, CMD, CONT."""

from __future__ import annotations

import pytest

from tests.requirements.cast import ROLES
from tests.requirements.heard import Recording, kind_of
from tests.requirements.scenes_turns import PIXEL

pytestmark = pytest.mark.timeout(180)

REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
PROMPTS = ("work", "edit", "blocks", "recall", "command", "unknown command", "work at last")


def test_init_21_what_every_agent_has_is_known(heard: Recording) -> None:
    assert heard["story"].result("new")["sessionId"]
    assert heard["story"].result("work")["stopReason"]
    assert heard["story"].notes("work")
    assert heard["cancels"].result("cancelled")["stopReason"] == "cancelled"


def test_init_22_cont_05_cont_06_cont_08_and_cont_10_texts_links_and_resources_are_taken(
    heard: Recording,
) -> None:
    assert heard["story"].result("blocks")["stopReason"] == "end_turn"


def test_cont_04_and_cont_11_pictures_reach_the_model_and_come_back_as_they_were(coder: Recording) -> None:
    assert coder["story"].result("image")["stopReason"] == "end_turn"
    assert coder["story"].facts["images"] == 1
    blocks = [update["content"] for update in coder["again"].updates("load", "user_message_chunk")]
    assert {"type": "image", "data": PIXEL, "mimeType": "image/png"} in blocks


def test_ext_10_meta_of_a_block_is_kept(heard: Recording) -> None:
    blocks = [update["content"] for update in heard["again"].updates("load", "user_message_chunk")]
    (link,) = [block for block in blocks if block["type"] == "resource_link"]
    assert link["_meta"] == {"a": 1}


def test_init_12_fs_01_and_term_01_what_was_not_offered_is_not_used(heard: Recording) -> None:
    used = {
        name: {frame["method"] for frame in heard[name].said if "id" in frame and "method" in frame}
        for name in ("story", "bare", "reads", "writes")
    }
    asks = {"session/request_permission"}
    assert used["bare"] == asks
    assert used["reads"] == asks | {"fs/read_text_file"}
    assert used["writes"] == asks | {"fs/write_text_file"}
    assert used["story"] >= asks | {"fs/read_text_file", "fs/write_text_file"}
    if heard.agent == "code":
        assert "terminal/create" in used["story"]


@pytest.mark.parametrize("name", ["bare", "reads", "writes", "story"])
def test_init_13_init_14_and_len_01_a_turn_works_with_every_client(heard: Recording, name: str) -> None:
    assert heard[name].result("work")["stopReason"] == "end_turn"
    assert heard[name].result("edit")["stopReason"] == "end_turn"
    assert "import os" not in heard[name].facts["edited"]
    if heard.agent == "code" and name != "story":
        assert heard[name].facts["ran"]


def test_turn_03_and_turn_04_every_turn_ends_with_a_reason(heard: Recording) -> None:
    reasons = {
        frame["result"]["stopReason"] for frame in heard.said if "stopReason" in frame.get("result", ())
    }
    assert reasons <= REASONS
    assert reasons >= {"end_turn", "cancelled"}


def test_turn_05_limits_have_their_reasons(coder: Recording) -> None:
    assert coder["story"].result("long")["stopReason"] == "max_tokens"
    assert coder["story"].result("refuse")["stopReason"] == "refusal"


def test_turn_06_no_update_of_a_turn_comes_after_its_answer(heard: Recording) -> None:
    kinds = {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
    for scene in heard.all:
        spans = [span for span in scene.spans.items() if _is_prompt(scene.frames[span[1][0]])]
        covered = {at for _, (first, last) in spans for at in range(first, last + 1)}
        loads = [scene.spans[name] for name in ("load",) if name in scene.spans]
        covered |= {at for first, last in loads for at in range(first, last + 1)}
        if scene in (heard["overlap"], heard["death"]):
            continue  # prompts without a name
        for at, frame in enumerate(scene.frames):
            if scene.lines[at].way == "to_client" and frame.get("method") == "session/update":
                assert at in covered or kind_of(frame["params"]) not in kinds


def _is_prompt(frame: object) -> bool:
    return isinstance(frame, dict) and frame.get("method") == "session/prompt"


@pytest.mark.parametrize("name", PROMPTS)
def test_turn_07_updates_name_the_session(heard: Recording, name: str) -> None:
    scene = heard["story"]
    assert {note["sessionId"] for note in scene.notes(name)} == {scene.facts["session"]}


def test_turn_08_and_turn_11_ids_of_messages_are_texts_and_on_every_chunk(coder: Recording) -> None:
    chunks = [update for update in coder["story"].updates() if update["sessionUpdate"].endswith("_chunk")]
    assert chunks
    assert all(type(update["messageId"]) is str for update in chunks)


def test_turn_12_and_tool_22_a_call_is_told_before_anything_happens_to_it(heard: Recording) -> None:
    for scene in heard.all:
        told: set[str] = set()
        for frame in scene.said:
            update = frame.get("params", {}).get("update", {})
            if update.get("sessionUpdate") == "tool_call":
                told.add(update["toolCallId"])
            elif update.get("sessionUpdate") == "tool_call_update":
                assert update["toolCallId"] in told
            elif frame.get("method") == "session/request_permission":
                assert frame["params"]["toolCall"]["toolCallId"] in told


def test_turn_13_turn_14_and_turn_26_usage_has_a_size(coder: Recording) -> None:
    found = coder["story"].updates(kind="usage_update")
    assert found
    for update in found:
        assert type(update["used"]) is int
        assert update["size"] == 100_000
        assert update["cost"]["currency"] == "USD"
        assert update["cost"]["amount"] > 0


def test_turn_14_who_has_no_window_tells_no_usage(reviewer: Recording) -> None:
    assert [update for update in reviewer.updates if update["sessionUpdate"] == "usage_update"] == []


def test_turn_15_a_turn_builds_on_the_ones_before(heard: Recording) -> None:
    role = ROLES[heard.agent]
    if heard.agent == "review":
        assert role.recalled in heard["story"].text("recall")
    else:
        (asked,) = [texts for texts in heard["story"].facts["model"] if texts[-1] == role.recall]
        assert role.recalled in asked


def test_turn_16_a_prompt_to_a_busy_session_waits_and_goes_with_the_cancel(heard: Recording) -> None:
    scene = heard["cancels"]
    assert scene.facts["busy"] == []
    (answer,) = [frame for frame in scene.answers if frame["id"] == scene.facts["busy id"]]
    assert answer["result"]["stopReason"] == "cancelled"


def test_turn_17_turns_of_two_sessions_run_at_once(heard: Recording) -> None:
    scene = heard["cancels"]
    first, second = scene.spans["cancelled"], scene.spans["neighbour"]
    assert first[0] < second[0] < first[1] < second[1]
    asked = [frame["params"]["sessionId"] for frame in scene.asked("fs/read_text_file", "cancelled")]
    assert set(asked) == {scene.facts["one"], scene.facts["two"]}


def test_turn_18_audio_was_not_offered_and_is_refused(heard: Recording) -> None:
    assert heard["story"].code("audio") == -32602
    assert heard["probes"].code("block of an unknown kind") == -32602


def test_turn_19_an_empty_prompt_is_answered(heard: Recording) -> None:
    assert heard["story"].result("empty prompt")["stopReason"] == "end_turn"


def test_turn_23_and_rpc_13_a_failed_turn_is_an_error_and_the_session_goes_on(coder: Recording) -> None:
    assert coder["story"].code("fail") == -32603
    assert coder["story"].result("work at last")["stopReason"] == "end_turn"


def test_turn_24_and_turn_25_text_calls_and_the_files_of_the_client_in_one_turn(coder: Recording) -> None:
    assert coder["story"].text("work")
    assert coder["story"].updates("work", "tool_call")
    assert coder["story"].asked("fs/read_text_file", "work")


def test_can_05_can_06_can_07_and_can_08_a_cancelled_turn_is_answered_so_after_its_updates(
    heard: Recording,
) -> None:
    scene = heard["cancels"]
    assert scene.result("cancelled") == {"stopReason": "cancelled"}
    calls = {update["toolCallId"]: update for update in scene.updates("cancelled") if "toolCallId" in update}
    mine = [note for note in scene.notes("cancelled") if note["sessionId"] == scene.facts["one"]]
    ends = {note["update"]["toolCallId"]: note["update"].get("status") for note in mine if _is_call(note)}
    assert calls
    assert set(ends.values()) <= {"completed", "failed"}
    assert heard["withdraws"].result("cancelled while asked")["stopReason"] == "cancelled"
    assert heard["withdraws"].facts["app"] == "import os\n"


def _is_call(note: object) -> bool:
    return isinstance(note, dict) and kind_of(note).startswith("tool_call")


def test_can_10_a_cancel_without_a_turn_spares_the_next(heard: Recording) -> None:
    assert heard["cancels"].result("after an idle cancel")["stopReason"] == "end_turn"


def test_can_12_the_neighbour_is_not_cancelled(heard: Recording) -> None:
    assert heard["cancels"].result("neighbour")["stopReason"] == "end_turn"


def test_can_13_a_cancelled_session_can_be_used(heard: Recording) -> None:
    assert heard["cancels"].result("after the cancel")["stopReason"] == "end_turn"
    assert heard["cancels"].result("after both")["stopReason"] == "end_turn"


def test_can_15_crq_01_and_crq_04_open_requests_are_withdrawn_by_their_id(heard: Recording) -> None:
    scene = heard["cancels"]
    asked = {frame["id"] for frame in scene.said if "id" in frame and "method" in frame}
    withdrawn = [frame for frame in scene.said if frame.get("method") == "$/cancel_request"]
    assert withdrawn
    assert all("id" not in frame and frame["params"]["requestId"] in asked for frame in withdrawn)


def test_crq_03_and_crq_09_a_withdrawn_prompt_is_answered_once(heard: Recording) -> None:
    assert heard["withdraws"].result("withdrawn")["stopReason"] == "cancelled"
    assert heard["withdraws"].result("after it")["stopReason"] == "end_turn"


def test_crq_06_and_can_14_a_withdrawal_that_comes_late_does_nothing(heard: Recording) -> None:
    scene = heard["cancels"]
    assert len([frame for frame in scene.answers if frame["id"] == 77]) == 1
    assert scene.result("after both")["stopReason"] == "end_turn"


def test_crq_08_the_text_of_a_number_is_another_id(heard: Recording) -> None:
    scene = heard["cancels"]
    sent = [
        at for at, frame in enumerate(scene.frames) if frame and frame.get("method") == "$/cancel_request"
    ]
    assert scene.lines[sent[0]].way == "to_agent"
    assert scene.frames[sent[0] + 2]["result"] == {"sessions": []}, "still nothing but the sentinel"


def test_upd_02_chunks_hold_one_block(heard: Recording) -> None:
    chunks = [update for update in heard.updates if update["sessionUpdate"].endswith("message_chunk")]
    assert chunks
    assert all(type(update["content"]) is dict for update in chunks)


def test_upd_03_and_mode_07_a_mode_set_elsewhere_is_told(heard: Recording) -> None:
    found = [update for update in heard.updates if update["sessionUpdate"] == "current_mode_update"]
    assert found
    assert all("currentModeId" in update and "modeId" not in update for update in found)


def test_upd_04_cfg_16_and_cfg_17_lists_are_whole(heard: Recording) -> None:
    scene = heard["story"]
    ids = {option["id"] for option in scene.result("new")["configOptions"]}
    for name in ("set option", "set option with type", "set option, odd type"):
        assert {option["id"] for option in scene.result(name)["configOptions"]} >= ids
    told = scene.updates(kind="config_option_update")
    assert told
    assert all({option["id"] for option in update["configOptions"]} >= ids for update in told)


def test_upd_05_upd_06_upd_08_and_upd_10_notices_and_compactions_are_for_those_who_want_them(
    heard: Recording,
) -> None:
    wanting = {"story", "cancels", "withdraws", "death", "reads", "again"}
    kinds = {"notice", "compaction_update", "compaction_summary_chunk"}
    for name, scene in heard.scenes.items():
        found = [update for update in scene.updates() if update["sessionUpdate"] in kinds]
        assert not found or name in wanting, name
        for update in found:
            if update["sessionUpdate"] == "notice":
                assert update["severity"]
                assert update["title"]
    for name in ("bare", "writes"):
        assert heard[name].result("command")["stopReason"] == "end_turn"


def test_upd_09_without_the_capability_a_compaction_is_told_in_words(coder: Recording) -> None:
    assert coder["bare"].updates("command")


def test_upd_11_upd_12_upd_13_and_upd_15_a_compaction_begins_and_ends_once(coder: Recording) -> None:
    scene = coder["story"]
    states: dict[str, list[str]] = {}
    for update in scene.updates(kind="compaction_update"):
        states.setdefault(update["compactionId"], []).append(update["status"])
        assert "summary" not in update or update["status"] == "completed"
        assert "error" not in update or update["status"] == "failed"
    assert list(states.values()) == [["in_progress", "completed"]] * 2


def test_mode_01_mode_02_and_mode_03_modes_are_whole(heard: Recording) -> None:
    modes = heard["story"].result("new")["modes"]
    assert modes["currentModeId"] in [mode["id"] for mode in modes["availableModes"]]
    assert all(mode["id"] and mode["name"] for mode in modes["availableModes"])


def test_mode_05_and_cfg_19_settings_change_idle_and_in_a_turn(heard: Recording) -> None:
    assert heard["story"].result("set mode") == {}
    scene = heard["cancels"]
    assert scene.result("mode in a turn") == {}
    assert scene.result("option in a turn")["configOptions"]
    assert scene.spans["option in a turn"][1] < scene.spans["cancelled"][1]


def test_mode_06_and_cfg_18_what_does_not_exist_is_refused_and_changes_nothing(heard: Recording) -> None:
    for name in ("unknown mode", "unknown option", "illegal value"):
        assert heard["probes"].code(name) == -32602
    scene = heard["story"]
    assert scene.code("set option wrongly") == -32602
    modes = heard["again"].result("load")["modes"]
    assert modes["currentModeId"] == scene.facts["modes"][0]


def test_cfg_04_modes_and_the_option_say_the_same(heard: Recording) -> None:
    scene = heard["story"]
    first, other = scene.facts["modes"]
    told = scene.updates(kind="config_option_update")
    currents = [
        option["currentValue"]
        for update in told
        for option in update["configOptions"]
        if option["id"] == "mode"
    ]
    assert other in currents
    assert {"sessionUpdate": "current_mode_update", "currentModeId": first} in scene.updates()


def test_cfg_01_cfg_05_cfg_06_cfg_07_cfg_08_cfg_11_and_cfg_13_options_are_whole(heard: Recording) -> None:
    for name in ("story", "bare", "reads"):
        options = heard[name].result("new")["configOptions"]
        assert options[0]["category"] == "mode"
        for option in options:
            assert option["type"] == "select"
            assert option["name"]
            assert option["currentValue"] in [choice["value"] for choice in option["options"]]
            known = {"mode", "model", "model_config", "thought_level"}
            assert option.get("category", "mode") in known


def test_cfg_15_the_type_of_a_value_may_be_absent_or_odd(heard: Recording) -> None:
    for name in ("set option", "set option with type", "set option, odd type"):
        (mode,) = [item for item in heard["story"].result(name)["configOptions"] if item["id"] == "mode"]
        assert mode["currentValue"] == heard["story"].facts["modes"][0]


def test_cmd_02_and_cmd_07_commands_have_a_name_without_a_slash(heard: Recording) -> None:
    for update in heard.updates:
        if update["sessionUpdate"] == "available_commands_update":
            for command in update["availableCommands"]:
                assert command["name"]
                assert not command["name"].startswith("/")
                assert command["description"]


def test_cmd_05_a_command_is_known_with_blocks_beside_it(heard: Recording) -> None:
    scene = heard["story"]
    plain = [update["sessionUpdate"] for update in scene.updates("command")]
    assert plain
    assert [update["sessionUpdate"] for update in scene.updates("command with a block")] == plain


def test_cmd_06_an_unknown_command_is_text(heard: Recording) -> None:
    assert heard["story"].result("unknown command")["stopReason"] == "end_turn"
    assert heard["story"].text("unknown command")
