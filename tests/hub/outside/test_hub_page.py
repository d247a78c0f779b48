"""The page about the hub: its commands exist, and its numbers are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from dragoman.cli.parser import make_parser
from dragoman.hub import agent_end, extras, log, pool, turn_changes
from dragoman.hub.settings import HubSettings
from dragoman.transport import http_outlet

PAGE = (Path(__file__).parents[3] / "docs" / "hub.md").read_text(encoding="utf-8")


def test_every_command_on_the_page_is_one() -> None:
    found = re.findall(r"^(?:\$ )?dragoman (hub .*|hub|inbox.*|connect .*)$", PAGE, re.MULTILINE)
    commands = [one for one in found if "·" not in one]
    assert len(commands) >= 8
    for command in commands:
        chosen = make_parser().parse_args(shlex.split(command))
        assert callable(chosen.run), command


def test_the_limits_on_the_page_are_the_defaults() -> None:
    limits = HubSettings().limits
    assert (limits.message, limits.connections, limits.sessions) == (16 << 20, 256, 10_000)
    assert (limits.unread, limits.prompts_queued) == (8 << 20, 32)
    assert (str(limits.prompt_rate), str(limits.connect_rate)) == ("60/min", "120/min")
    assert (log.WAITING_BYTES, http_outlet.PATIENCE) == (4 << 20, 60.0)
    assert (extras.REMINDER, turn_changes.LOOK_SECONDS) == (24_000, 3.0)
    assert (turn_changes.FIRST_PAUSE, turn_changes.LONGEST_PAUSE) == (30.0, 3600.0)
    assert (turn_changes.KEPT_SECONDS, pool.INITIALIZE_SECONDS, agent_end.LINES) == (1800.0, 300.0, 20)
