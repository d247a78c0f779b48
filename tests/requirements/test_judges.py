"""Everything that both agents said, judged by the two official SDKs: RPC, LEN-06, EXT-01, INIT-11.

Errors without an id answer nothing that could be named; they are checked in test_frames.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.judges import Sent, refused_by_python, refused_by_typescript, sent
from tests.interop.programs import needs_node
from tests.requirements.heard import Recording, Scene

pytestmark = pytest.mark.timeout(180)

NEWER = ("notice", "compaction_update", "compaction_summary_chunk")
"""Kinds of updates that the released Python SDK does not know yet; a client has to ask for them."""


def _journal(scene: Scene, path: Path) -> Path:
    """The scene in the form that the judges read. What was no frame on purpose is left out, and its refusal
    with it, which comes under its id or under null.
    """
    both = list(zip(scene.lines, scene.frames, strict=True))
    frames = [frame for line, frame in both if line.way == "to_agent" and isinstance(frame, dict)]
    refused = [None, *(frame.get("id", "") for frame in frames if frame.get("jsonrpc") != "2.0")]
    kept = [
        (line, frame)
        for line, frame in both
        if isinstance(frame, dict) and frame.get("jsonrpc") == "2.0"
        if line.way == "to_agent" or frame.get("id", "") not in refused
    ]
    records = [{"direction": line.way, "frame": line.raw.decode()} for line, _ in kept]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _all_sent(heard: Recording, folder: Path) -> list[Sent]:
    found: list[Sent] = []
    for number, scene in enumerate(heard.all):
        if scene is not heard.scenes["streams"]:  # long lines were not kept, so that answers have no question
            found += sent(_journal(scene, folder / str(number)), "to_client")
    return [item for item in found if item.definition is not None]


def test_init_11_len_06_and_cont_01_the_official_python_models_take_all(
    heard: Recording, tmp_path: Path
) -> None:
    everything = _all_sent(heard, tmp_path)
    assert len(everything) > 300
    known = [item for item in everything if _kind(item) not in NEWER]
    assert refused_by_python(known) == []


def _kind(item: Sent) -> str:
    update = item.value.get("update", {}) if item.method == "session/update" else {}
    return str(update.get("sessionUpdate"))


@needs_node
def test_ext_01_len_06_and_upd_01_the_official_typescript_validators_take_all_and_keep_all(
    heard: Recording, tmp_path: Path
) -> None:
    assert refused_by_typescript(_all_sent(heard, tmp_path)) == []
