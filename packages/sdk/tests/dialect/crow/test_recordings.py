"""What real agents said, told to a crow client and understood again: nothing of it is lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.dialect.crow.frames import Frame
from tests.dialect.crow.stage import crow_agent, crow_client, judged
from tests.interop.judges import refused_by_python
from tests.interop.recordings import ELSEWHERE, conversations

RECORDINGS = sorted((ELSEWHERE / "agents-v1").glob("*.ndjson"))


def carried(path: Path) -> list[tuple[Frame, Frame]]:
    """Each update and each question of a recording, and what becomes of it on the way through crow."""
    pairs = []
    for conversation in conversations(path):
        client, agent = crow_client(), crow_agent()
        for frame in conversation.frames:
            said = msgspec.json.decode(frame.raw) if frame.to == "client" and not frame.verbatim else {}
            if said.get("method") in ("session/update", "session/request_permission"):
                ((_, crow),) = client.take(said)
                ((_, again),) = agent.hear(crow)
                pairs.append((said, again))
        assert client.lost == agent.lost == []
    return pairs


@pytest.mark.skipif(not RECORDINGS, reason="needs the recordings of real agents beside the repository")
def test_what_real_agents_said_comes_back_from_crow() -> None:
    pairs = [pair for path in RECORDINGS for pair in carried(path)]
    assert len(pairs) > 1_000
    assert refused_by_python([judged(again) for _, again in pairs]) == []
    for said, again in pairs:
        assert again["method"] == said["method"]
        if said["method"] == "session/update":
            assert plain(again["params"]["update"]) == plain(said["params"]["update"])


def plain(update: Frame) -> Frame:
    """Without what may differ: nulls, a kind by default, the name that crow makes of a title, originals."""
    fields = {name: value for name, value in update.items() if value is not None and name != "name"}
    if fields["sessionUpdate"] == "tool_call" and fields.get("kind") == "other":
        del fields["kind"]
    fields.pop("_meta", None)
    return fields
