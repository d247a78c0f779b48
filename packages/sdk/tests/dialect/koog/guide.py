"""The guide as a document, for those who have it beside the repository: frames, a wrong form, lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SEED = Path(__file__).parents[6] / "shared" / "seeds" / "003_1ad9b8e7ac88c374.txt"

_FENCE = re.compile(r"^( *)```json\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def frames_of(text: str) -> list[tuple[str, Any]]:
    """The frames in the order of the page, each with where it goes."""
    return [(_way(frame), frame) for frame in _blocks(text) if "jsonrpc" in frame]


def wrong_and_right(text: str) -> tuple[Any, Any]:
    """The params that the guide warns of, and those that it wants, with something in place of the dots."""
    wrong, right = (frame for frame in _blocks(text) if "jsonrpc" not in frame)
    return wrong, right


def listed(text: str, heading: str) -> set[str]:
    """The words of a list under a heading."""
    part = text.split(heading, 1)[1].strip().split("\n\n")
    lines = next(one for one in part if one.startswith("- `") or "\n- `" in one)
    return set(re.findall(r"(?m)^- `(\w+)` - ", lines))


def _blocks(text: str) -> list[Any]:
    found = []
    for _, block in _FENCE.findall(text):
        written = re.sub(r"(?m)//[^\n]*$", "", block)
        written = written.replace("{...}", '{"type": "text", "text": "x"}')
        written = written.replace(", ...}", ', "content": [{"type": "text", "text": "x"}]}')
        found.append(json.loads(written))
    return found


def _way(frame: Any) -> str:
    to_agent = ("initialize", "session/new", "session/prompt", "session/cancel")
    return "to_agent" if frame.get("method") in to_agent else "to_client"
