"""The older claude-code-acp gives line 0 where it means no line.

Lines are counted from 1: an editor that follows along would jump to the line before the first.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from dragoman.dialect.edge import NEVER, Plain
from dragoman.dialect.message import Message, as_list, as_object, update_of, with_params
from dragoman.dialect.quirks.quirk import Quirk


class LineZero(Quirk):
    """The location stays, its line goes."""

    title = "line-zero"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "line 0 of a location"
    done = "left out: lines are counted from 1"
    fix = "count lines from 1, and leave line out where there is none"
    PLAIN_FROM_PEER: ClassVar[Plain] = {
        "session/update": re.compile(rb'"line"\s*:\s*0'),
        "session/cancel": NEVER,
    }

    def told_by_peer(self, message: Message) -> Message:
        update = update_of(message)
        places = as_list(update.get("locations"))
        if not any(_is_nowhere(place) for place in places):
            return message
        self.repair()
        kept = [
            {name: value for name, value in place.items() if name != "line"} if _is_nowhere(place) else place
            for place in places
        ]
        return with_params(message, {**as_object(message.params), "update": {**update, "locations": kept}})


def _is_nowhere(place: Any) -> bool:
    return type(place) is dict and type(place.get("line")) is int and place["line"] == 0
