"""Agents that are another one in each life: real processes, so that deaths are real too."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from dragoman import Limits
from dragoman.sdk.supervision.events import SupervisionEvent
from dragoman.sdk.supervision.restarts import Restarts
from dragoman.testing import ScriptedAgent
from tests.forks import DRAGOMAN, forked

QUICK = Restarts(deaths=3, within=60, first_delay=0.01, longest_delay=0.05)

AT_ONCE = Limits(end_seconds=0.2)
"""For agents that will not end by themselves: nobody waits for what is known."""

CHOOSE = """
n=$(cat "$0/life" 2>/dev/null || echo 0)
echo $((n + 1)) > "$0/life"
[ -d "$0/$n" ] || n=last
shift "$([ "$n" = last ] && echo $(($# - 1)) || echo "$n")"
exec $DRAGOMAN agent script "$1"
"""


def script(folder: Path, text: str) -> list[str]:
    """A process that plays this script in every life."""
    return forked(ScriptedAgent(text).command(folder))


def lives(folder: Path, *scripts: str) -> list[str]:
    """A command that plays the first script in its first life, the second in its second, and the last from
    then on.
    """
    paths = []
    for number, text in enumerate(scripts):
        place = folder / str(number)
        place.mkdir()
        paths.append(script(place, text)[-1])
    shell = CHOOSE.replace("$DRAGOMAN", shlex.join(DRAGOMAN))
    return ["/bin/sh", "-c", shell, os.fspath(folder), *paths]


def program(folder: Path, text: str) -> list[str]:
    """A process that runs this Python."""
    path = folder / "agent.py"
    path.write_text(text, encoding="utf-8")
    return forked([sys.executable, str(path)])


class Heard(list[SupervisionEvent]):
    """A listener that remembers."""

    def __call__(self, event: SupervisionEvent) -> None:
        self.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self]

    def last(self, kind: str) -> SupervisionEvent:
        return next(event for event in reversed(self) if event.kind == kind)
