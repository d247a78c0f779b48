"""What a client offered on the connection that a frame is part of: some recordings hold several, one after
another.
"""

from __future__ import annotations

from typing import Any

from dragoman.check.lives import remembered
from dragoman.check.recording import Frame
from dragoman.check.replies import restarts
from dragoman.check.story import Story


def offered(story: Story, frame: Frame, *path: str) -> Any:
    """A capability of the client, None if it did not name it."""
    begins = remembered(story, "restarts", lambda: restarts(story))
    later = [number for number in begins if number < frame.number]
    if not later:
        return story.client_can(*path)
    params = story.frames[later[-1] - 1].params
    found = params.get("clientCapabilities", params.get("capabilities"))
    for name in path:
        found = found.get(name) if type(found) is dict else None
    return found
