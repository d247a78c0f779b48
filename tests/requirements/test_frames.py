"""Requirements on frames and the connection: RPC, STD, ERR, EXT, and INIT before a session exists."""

from __future__ import annotations

import copy
import re
from pathlib import PurePath
from typing import Any

import pytest

from tests.requirements.heard import Recording, values
from tests.requirements.scenes_frames import BAD_FRAMES, BAD_VERSIONS, IDS, NOBODY, SECRET, SILENT_FRAMES

pytestmark = pytest.mark.timeout(180)

MEANT = {-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002}


def answers(frames: list[Any]) -> list[Any]:
    return [frame for frame in frames if "method" not in frame]


def test_rpc_01_and_rpc_04_every_frame_names_the_version_and_every_answer_has_one_half(
    heard: Recording,
) -> None:
    for frame in heard.said:
        assert frame["jsonrpc"] == "2.0"
        if "method" not in frame:
            assert frame.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_rpc_10_rpc_11_and_rpc_16_what_is_no_request_is_refused_once(heard: Recording, name: str) -> None:
    (refusal,) = answers(heard["probes"].facts[name])
    assert refusal["id"] == {"no version": 51, "other version": 52}.get(name)  # all others under null
    assert refusal["error"]["code"] == (-32700 if name in ("no JSON", "not UTF-8") else -32600)


def test_rpc_02_rpc_06_requests_of_the_agent_have_a_whole_id_and_a_method(heard: Recording) -> None:
    asked = [frame for frame in heard.said if "method" in frame and "id" in frame]
    assert asked
    for frame in asked:
        assert type(frame["id"]) in (int, str)
        assert type(frame["method"]) is str


@pytest.mark.parametrize("request_id", IDS)
def test_rpc_03_an_answer_repeats_the_id(heard: Recording, request_id: Any) -> None:
    found = heard["probes"].answer(f"id {request_id!r}")["id"]
    assert (type(found), found) == (type(request_id), request_id)


@pytest.mark.parametrize("name", SILENT_FRAMES)
def test_rpc_05_rpc_15_ext_08_crq_02_crq_07_can_02_and_can_11_silence(heard: Recording, name: str) -> None:
    assert answers(heard["probes"].facts[name]) == []


def test_rpc_05_nobody_is_answered_twice(heard: Recording) -> None:
    for scene in heard.all:
        ids = [repr(frame["id"]) for frame in scene.answers if frame["id"] not in (None, 9)]  # 9: RPC-20
        assert len(ids) == len(set(ids))


def test_rpc_07_rpc_08_and_err_04_errors_have_a_code_and_one_short_sentence(heard: Recording) -> None:
    errors = [frame["error"] for frame in heard.said if "error" in frame]
    assert len(errors) > 40
    for error in errors:
        assert error.keys() <= {"code", "message", "data"}
        assert type(error["code"]) is int
        assert error["code"] in MEANT
        assert 0 < len(error["message"]) < 400
        assert "\n" not in error["message"]


@pytest.mark.parametrize("method", ["nope/nope", "$/foo", "_tck/x"])
def test_rpc_09_crq_11_and_ext_07_unknown_methods_are_refused(heard: Recording, method: str) -> None:
    assert heard["probes"].code(f"request {method}") == -32601


def test_can_02_a_cancel_that_wants_an_answer_is_an_unknown_request(heard: Recording) -> None:
    assert heard["probes"].code("request session/cancel") == -32601


BAD_PARAMS = [
    "new without cwd",
    "new with a number as cwd",
    "new with an array",
    "new without params",
    "prompt without session",
    "prompt without prompt",
    "prompt as text",
    "block of no kind",
    "text block without text",
    "mode without mode",
    "load without session",
    "list with a bad filter",
]


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_rpc_12_len_05_cont_01_cont_02_params_of_the_wrong_shape_are_refused(
    heard: Recording, name: str
) -> None:
    assert heard["probes"].code(name) == -32602


def test_rpc_14_the_connection_stays_usable(heard: Recording) -> None:
    scene = heard["probes"]
    made = [item["sessionId"] for item in scene.result("after all")["sessions"] if "probed" in item["cwd"]]
    assert made == [scene.facts["session"]], "what was refused has left nothing behind"


def test_rpc_17_keys_are_camel_case_and_kinds_are_snake_case(heard: Recording) -> None:
    camel, snake = re.compile(r"^[a-z][A-Za-z0-9]*$"), re.compile(r"^[a-z][a-z0-9_]*$")
    for frame in heard.said:
        assert all(camel.match(key) for key in _keys(frame))
        for kind in values(frame, "sessionUpdate", "stopReason", "kind", "outcome"):
            assert snake.match(str(kind))


def _keys(tree: Any) -> list[str]:
    """Keys of the protocol: what is free in form is left out."""
    if isinstance(tree, list):
        return [key for item in tree for key in _keys(item)]
    if not isinstance(tree, dict):
        return []
    free = ("_meta", "rawInput", "rawOutput", "data")
    own = {key: value for key, value in tree.items() if key not in free}
    return [*own, *(key for value in own.values() for key in _keys(value))]


@pytest.mark.parametrize("form", ["absent", "null", "empty"])
def test_rpc_18_and_lst_02_params_may_be_absent(heard: Recording, form: str) -> None:
    assert heard["probes"].result(f"list, params {form}")["sessions"]


def test_rpc_19_both_sides_may_use_one_id_at_once(heard: Recording) -> None:
    scene = heard["overlap"]
    assert "sessions" in scene.result("same id")
    assert scene.result("left edit")["stopReason"] == "end_turn"


def test_rpc_20_an_id_that_is_in_flight_is_answered_for_each_request(heard: Recording) -> None:
    found = [frame for frame in heard["probes"].answers if frame["id"] == 9]
    assert len(found) == 2
    assert {"result", "error"} >= {key for frame in found for key in frame.keys() - {"jsonrpc", "id"}}


def test_rpc_21_ext_02_and_ext_11_unknown_members_and_odd_meta_are_taken(heard: Recording) -> None:
    for name in ("new with bogus", "new with meta as text", "new with meta null"):
        assert heard["probes"].result(name)["sessionId"]


def test_ext_04_and_ext_05_meta_changes_nothing(heard: Recording) -> None:
    scene = heard["probes"]
    made = scene.result("new with hostile meta")["sessionId"]
    assert made != "x"
    later = {item["sessionId"]: item["cwd"] for item in heard["streams"].facts["1 MB"]["result"]["sessions"]}
    assert later[made] == later[scene.result("new with bogus")["sessionId"]] != "/etc"


def test_rpc_22_a_cancel_in_the_same_write_reaches_the_prompt_before_it(heard: Recording) -> None:
    assert heard["cancels"].result("cancelled at once")["stopReason"] == "cancelled"


def test_rpc_23_numbers_keep_their_bounds(heard: Recording) -> None:
    for frame in heard.said:
        for number in values(frame, "used", "size", "outputByteLimit", "line", "limit"):
            assert type(number) is int
            assert 0 <= number < 2**32
        assert all(0 <= version <= 65535 for version in values(frame, "protocolVersion"))


def test_rpc_24_fs_03_and_tool_16_paths_are_absolute(heard: Recording) -> None:
    found = []
    for frame in heard.said:
        own = copy.deepcopy(frame.get("params", frame.get("result", {})))
        for call in [own, own.get("update", {}), own.get("toolCall", {})]:
            call.pop("rawInput", None)  # the model's own words
        found += list(values(own, "path", "cwd"))
    assert found
    assert all(PurePath(path).is_absolute() for path in found)


def test_rpc_25_lines_count_from_one(heard: Recording) -> None:
    lines = [line for frame in heard.said for line in values(frame.get("params"), "line")]
    assert all(line >= 1 for line in lines)
    if heard.agent == "review":
        assert 1 in lines


def test_init_05_and_init_06_version_one_is_answered_with_one_and_the_capabilities(heard: Recording) -> None:
    result = heard["probes"].result("initialize")
    assert result["protocolVersion"] == 1
    assert result["agentCapabilities"]["sessionCapabilities"]


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_init_07_and_init_08_other_versions_are_answered_with_ours(heard: Recording, version: int) -> None:
    assert heard[f"version {version}"].result("initialize")["protocolVersion"] == 1


def test_init_10_and_init_19_it_says_who_it_is_and_what_it_can(heard: Recording) -> None:
    result = heard["probes"].result("initialize")
    assert result["agentInfo"]["name"] == f"dragoman-{heard.agent}"
    assert result["agentInfo"]["version"]
    can = result["agentCapabilities"]
    assert {"loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities"} <= can.keys()


def test_init_26_load_is_a_boolean_and_the_rest_are_objects(heard: Recording) -> None:
    can = heard["probes"].result("initialize")["agentCapabilities"]
    assert can["loadSession"] is True
    assert all(type(value) is dict for value in can["sessionCapabilities"].values())


@pytest.mark.parametrize("name", BAD_VERSIONS)
def test_init_16_a_version_that_is_none_is_refused(heard: Recording, name: str) -> None:
    assert heard["probes"].code(name) == -32602


def test_init_17_nothing_comes_before_initialize(heard: Recording) -> None:
    assert heard["probes"].code("too early") == -32600


def test_init_18_a_second_initialize_is_refused(heard: Recording) -> None:
    assert heard["probes"].code("initialize again") == -32600


def test_init_15_malformed_capabilities_do_not_fail_initialize(heard: Recording) -> None:
    for name in ("version 0", "version 2", "version 65535", "reads"):
        assert heard[name].result("initialize")["protocolVersion"] == 1


def test_err_01_each_trigger_has_its_code(heard: Recording) -> None:
    scene = heard["probes"]
    assert scene.code("too early") == -32600
    assert scene.code("request nope/nope") == -32601
    assert scene.code("new without cwd") == -32602
    assert scene.code("load of an unknown session") == -32002


def test_err_03_and_ses_20_an_unknown_session_is_named_in_the_error(heard: Recording) -> None:
    for what in ("load", "resume", "close", "prompt", "mode", "option"):
        error = heard["probes"].answer(f"{what} of an unknown session")["error"]
        assert error["code"] == -32002, what
        assert error["data"]["sessionId"] == NOBODY


def test_err_06_errors_repeat_no_secrets(heard: Recording) -> None:
    scene = heard["probes"]
    assert scene.code("new with a secret") == -32602
    assert SECRET.encode() not in b"".join(line.raw for line in scene.lines if line.way == "to_client")


def test_std_01_std_02_and_std_03_every_line_is_one_message_in_utf_8(heard: Recording) -> None:
    for scene in heard.all:
        for line in scene.lines:
            if line.way == "to_client":
                line.raw.decode("utf-8")
                assert line.raw.startswith(b'{"jsonrpc":"2.0"')
    assert heard["streams"].answer("dribbled")["id"] == "\U0001f409é"


def test_std_08_and_std_15_it_ends_with_its_input_also_in_the_middle_of_a_turn(heard: Recording) -> None:
    assert heard["streams"].facts["exit"] == 0
    assert heard["death"].facts["exit"] == 0
    assert heard["death"].facts["left"] == []
    assert heard["death"].facts["complaints"] == "", "a client that leaves is no failure"


def test_std_09_crlf_and_blank_lines_are_taken_and_a_mark_of_byte_order_is_no_json(heard: Recording) -> None:
    scene = heard["streams"]
    assert "sessions" in scene.result("CRLF")
    assert scene.facts["blank lines"] == []
    assert [frame["error"]["code"] for frame in scene.facts["BOM"]] == [-32700]


@pytest.mark.parametrize("size", [1, 10, 50])
def test_std_10_long_lines_are_read(heard: Recording, size: int) -> None:
    assert "sessions" in heard["streams"].facts[f"{size} MB"]["result"]


def test_std_11_writes_may_be_cut_and_joined_anywhere(heard: Recording) -> None:
    scene = heard["streams"]
    for name in ("dribbled", "first of two", "second of two"):
        assert "sessions" in scene.result(name)


def test_ext_06_nothing_private_is_called(heard: Recording) -> None:
    called = {frame["method"] for frame in heard.said if "method" in frame}
    assert called
    assert not [name for name in called if name.startswith("_")]
