"""The reference as a document, for those who have it beside the repository: its frames and its lists.

Its frames are written as JavaScript: bare names, remarks, and dots for what is left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SEED = Path(__file__).parents[6] / "shared" / "seeds" / "002_21cc1fca46481efd.txt"

_FENCE = re.compile(r"```(?:javascript|typescript)\n(.*?)```", re.DOTALL)


def frames_of(text: str) -> list[tuple[str, Any]]:
    """The frames in the order of the page, each with where it goes."""
    return [
        (_way(frame), frame)
        for block in _FENCE.findall(text)
        for frame in _objects(_as_json(block))
        if "jsonrpc" in frame
    ]


def listed(text: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, text))


def _way(frame: Any) -> str:
    return "to_client" if frame.get("method") == "session/request_permission" else "to_agent"


def _as_json(block: str) -> str:
    block = re.sub(r"(?m)//[^\n]*$", "", block)
    block = re.sub(r"\{ id, name, status, \.\.\. \}", '{ id: "t-1", name: "Tool", status: "pending" }', block)
    return re.sub(r"(?<=[{,\s])(\w+):", r'"\1":', block)


def _objects(text: str) -> list[Any]:
    """Every object that can be read, from the outside in."""
    found, position = [], 0
    reader = json.JSONDecoder()
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = reader.raw_decode(text, start)
        except ValueError:
            position = start + 1
            continue
        found.append(value)
    return found
