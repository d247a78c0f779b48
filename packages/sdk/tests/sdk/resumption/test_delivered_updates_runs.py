import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.sdk.resumption.delivered_updates import remove_marks
from dragoman.sdk.resumption.resumption import Resumption
from tests.every import every
from tests.sdk.resumption.model import frame
from tests.sdk.resumption.test_resumption_scenes import introduced


def update(session: str, cursor: str, text: str = "x", **meta: Any) -> bytes:
    """As a hub writes it: its mark first."""
    params = {
        "_meta": {"dragoman": {"cursor": cursor}, **meta},
        "sessionId": session,
        "update": {"text": text},
    }
    return frame({"method": "session/update", "params": params})


def told(core: Resumption) -> bytes:
    heard, core.to_editor = core.to_editor, []
    return b"".join(heard)


TEXTS = st.sampled_from(["", "é", '"_meta":{"dragoman":{"cursor":"7"}},', "\n", update("s", "9").decode()])
UPDATES = st.builds(
    lambda session, cursor, text, other: update(session, str(cursor), text, **({"x": 1} if other else {})),
    st.sampled_from(["s", "t", "ü"]),
    st.integers(1, 9),
    TEXTS,
    st.sampled_from([False, False, False, True]),
)
OTHERS = st.sampled_from([frame({"method": "session/update", "params": {"sessionId": "s"}}), b"nonsense\n"])


@given(st.lists(UPDATES | OTHERS, min_size=1, max_size=6), st.booleans())
def test_many_at_once_are_told_as_one_by_one(frames: list[bytes], whole: bool) -> None:
    block = b"".join(frames) if whole else b"".join(frames)[:-1]
    at_once, one_by_one = introduced(), introduced()
    at_once.hear_block(block)
    for one in frames:
        one_by_one.hear(one)
    assert told(at_once).splitlines() == told(one_by_one).splitlines()
    for session in ("s", "t", "ü"):
        assert at_once.cursor(session) == one_by_one.cursor(session)


def test_a_block_of_updates_is_read_as_one() -> None:
    found = remove_marks(update("s", "1") + update("t", "2.1") + update("s", "3"))
    assert found is not None
    lines = [json.loads(line) for line in found[0].splitlines()]
    assert [line["params"] for line in lines] == [
        {"sessionId": session, "update": {"text": "x"}} for session in ("s", "t", "s")
    ]
    assert found[1] == {"s": "3", "t": "2.1"}


@pytest.mark.parametrize("cursor", ["2", "2.1"])
def test_a_block_of_one_session_is_read_as_one(cursor: str) -> None:
    nested = update("t", "7").decode()
    found = remove_marks(update("s", "1", nested) + update("s", cursor, "y"))
    assert found is not None
    lines = [json.loads(line)["params"] for line in found[0].splitlines()]
    assert lines == [{"sessionId": "s", "update": {"text": text}} for text in (nested, "y")]
    assert found[1] == {"s": cursor}


@every(
    "block",
    [
        b"",
        b"\n",
        frame({"id": 1, "result": {}}),
        update("s", "1") + frame({"id": 1, "result": {}}),
        update("s", "1") + b"\n",
        update("s", "1", other=1),
        update("s", "1") + update("s", ""),
        update("s", "1") + update("s", "x"),
        update("s", "1") + update("s", "1.2.3"),
        update('s"', "1"),
        frame({"method": "session/update", "params": {"x": json.loads(update("s", "1"))}}),
    ],
)
def test_everything_else_is_not(block: bytes) -> None:
    assert remove_marks(block) is None


def test_what_the_editor_has_had_is_skipped_one_by_one() -> None:
    core = introduced()
    core.say(frame({"id": 1, "method": "session/load", "params": {"sessionId": "s", "cwd": "/"}}))
    core.hear_block(update("s", "1") + update("s", "2"))
    assert told(core).count(b"\n") == 2
    core.on_connection_lost()
    core.on_open()
    core.hear_block(frame({"id": 0, "result": {"_meta": {"dragoman": {"hub": "0"}}}}))
    core.hear_block(update("s", "1") + update("s", "2"))
    assert told(core) == b""
    core.hear_block(update("s", "3"))
    assert told(core).count(b"\n") == 1
