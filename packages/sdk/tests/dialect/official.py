"""Frames of v1 as the official SDKs see them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.interop.judges import Sent, refused_by_python, refused_by_typescript, sent
from tests.interop.programs import needs_node

Frame = tuple[str, Any]
"""Where it goes, `to_agent` or `to_client`, and what it is."""


def values(frames: Iterable[Frame], folder: Path) -> list[Sent]:
    """What the frames of a conversation carry, each with the name of its definition."""
    journal = folder / "frames.ndjson"
    lines = [json.dumps({"direction": way, "frame": json.dumps(frame)}) for way, frame in frames]
    journal.write_text("\n".join(lines), "utf-8")
    found = [*sent(journal, "to_agent"), *sent(journal, "to_client")]
    return [item for item in found if item.definition]


def refused(frames: Iterable[Frame], folder: Path, *, typescript: bool = True) -> list[Any]:
    """What either SDK would not take; TypeScript is asked where it is installed."""
    carried = values(frames, folder)
    found: list[Any] = [*refused_by_python(carried)]
    if typescript and not needs_node.args[0]:
        found += refused_by_typescript(carried)
    return found
