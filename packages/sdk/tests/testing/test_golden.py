import json
from pathlib import Path

import pytest

from dragoman.testing import TranscriptFrame, assert_golden, normalise
from dragoman.testing.golden import UPDATE

UUID = "0f9d3c1e-1111-4222-8333-444455556666"


def passed(to: str, value: object) -> TranscriptFrame:
    return TranscriptFrame(to, json.dumps(value).encode())  # type: ignore[arg-type]


def frames(*, ids: tuple[object, object], session: str, time: str) -> list[TranscriptFrame]:
    return [
        passed("agent", {"id": ids[0], "method": "session/new", "params": {}}),
        passed("client", {"id": ids[0], "result": {"sessionId": session}}),
        passed("client", {"id": ids[1], "method": "fs/read_text_file", "params": {"sessionId": session}}),
        passed("agent", {"id": ids[1], "result": {"content": f"{session} at {time}"}}),
    ]


def test_what_differs_from_run_to_run_is_named_by_its_first_appearance() -> None:
    one = normalise(frames(ids=(1, 1), session=UUID, time="2025-01-02T03:04:05Z"))
    two = normalise(
        frames(ids=("x", 7), session=UUID.replace("1", "2"), time="2031-12-31T23:59:59.123+02:00")
    )
    assert one == two
    assert json.loads(one[1]) == {
        "to": "client",
        "frame": {"id": "<client-id-1>", "result": {"sessionId": "<session-1>"}},
    }
    assert json.loads(one[3])["frame"] == {
        "id": "<agent-id-1>",
        "result": {"content": "<session-1> at <time>"},
    }


def test_an_id_of_another_type_is_another_id() -> None:
    asked = passed("agent", {"id": 1, "method": "m"})
    right = normalise([asked, passed("client", {"id": 1, "result": {}})])
    assert normalise([asked, passed("client", {"id": "1", "result": {}})]) != right
    assert normalise([asked, passed("client", {"id": True, "result": {}})]) != right
    assert normalise([asked, passed("client", {"id": None, "result": {}})]) != right


def test_an_answer_is_named_after_who_asked() -> None:
    lines = normalise(
        [
            passed("agent", {"id": 1, "method": "a"}),
            passed("client", {"id": 1, "method": "b"}),
            passed("agent", {"id": 1, "result": "to the agent's"}),
        ]
    )
    assert [json.loads(line)["frame"]["id"] for line in lines] == [
        "<client-id-1>",
        "<agent-id-1>",
        "<agent-id-1>",
    ]


def test_other_texts_are_left_alone_unless_they_are_to_be_replaced() -> None:
    lines = normalise([b'{"path": "/tmp/abc/file"}', b"not JSON \xff"], replace={"/tmp/abc": "<tmp>"})
    assert [json.loads(line) for line in lines] == [
        {"frame": {"path": "<tmp>/file"}},
        {"text": "not JSON \\xff"},
    ]


def test_a_transcript_that_is_the_same_passes(tmp_path: Path) -> None:
    path = tmp_path / "area" / "story.ndjson"
    run = frames(ids=(1, 1), session="a", time="now")
    assert_golden(run, path, update=True)
    assert_golden(run, path)
    assert len(path.read_text().splitlines()) == 4


def test_a_difference_fails_and_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "story.ndjson"
    assert_golden([b'{"a": 1}', b'{"b": 2}'], path, update=True)
    with pytest.raises(AssertionError, match=r'(?s)-\{"frame": \{"b": 2\}\}.*\+\{"frame": \{"b": 3\}\}'):
        assert_golden([b'{"a": 1}', b'{"b": 3}'], path)
    with pytest.raises(AssertionError, match="is not what is in"):
        assert_golden([b'{"a": 1}'], path)


def test_a_missing_file_fails_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="--update-golden"):
        assert_golden([], tmp_path / "story.ndjson")


def test_an_update_can_be_asked_for_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(UPDATE, "1")
    assert_golden([b"{}"], tmp_path / "story.ndjson")
    monkeypatch.setenv(UPDATE, "0")
    assert_golden([b"{}"], tmp_path / "story.ndjson")
    with pytest.raises(AssertionError):
        assert_golden([b"[]"], tmp_path / "story.ndjson")
