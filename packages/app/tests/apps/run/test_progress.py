"""The line of progress says what the agent does, and leaves nothing behind on the screen."""

from __future__ import annotations

import fcntl
import re
import struct
import sys
import termios
from pathlib import Path

import msgspec
import pytest

from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent
from dragoman_app.apps.run.progress import ERASE, QUIET, SPINNER, ProgressLine
from dragoman_app.apps.terminals import Paint
from tests.apps.run.run_process import scripted

if sys.platform == "win32":
    pytest.skip("terminals as POSIX has them", allow_module_level=True)

from tests.apps.run.teletype import CTRL_C, in_terminal

TIME = "2026-01-01T00:00:00Z"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def tool(ident: str, title: str, status: str) -> AnyEvent:
    return events.ToolEvent(time=TIME, id=ident, title=title, kind="execute", status=status)


def plan(*statuses: str) -> AnyEvent:
    entries = [{"content": "x", "status": status, "priority": "low"} for status in statuses]
    return events.PlanEvent(time=TIME, entries=msgspec.Raw(msgspec.json.encode(entries)))


def usage(cost: float) -> AnyEvent:
    amount = msgspec.Raw(msgspec.json.encode({"amount": cost, "currency": "USD"}))
    return events.UsageEvent(time=TIME, used=1, size=2, cost=amount)


def line_after(*happened: AnyEvent, seconds: float = 0.0) -> str:
    clock = Clock()
    line = ProgressLine(Paint(colours=False), now=clock)
    for event in happened:
        line.on_event(event)
    clock.now += seconds
    return line.text()


def test_it_names_what_runs_how_far_the_plan_is_the_time_and_the_cost() -> None:
    said = line_after(
        plan("completed", "in_progress", "pending"),
        usage(0.314),
        tool("a", "Read parser.py", "completed"),
        tool("b", "Run the tests", "in_progress"),
        seconds=12,
    )
    assert said == "Run the tests · step 2 of 3 · 12 s · 0.31 USD"


def test_of_several_calls_the_last_is_named_and_the_others_are_counted() -> None:
    said = line_after(tool("a", "One", "pending"), tool("b", "Two", "in_progress"), seconds=125)
    assert said == "Two · +1 more · 2:05 min"


def test_a_title_cannot_command_the_terminal() -> None:
    assert "\x1b" not in line_after(tool("a", "\x1b[2J\nevil", "in_progress"))


def test_it_waits_for_a_pause_and_is_erased_before_anything_else() -> None:
    clock = Clock()
    line = ProgressLine(Paint(colours=False), now=clock)
    assert line.draw(80) == b""
    clock.now += QUIET
    drawn = line.draw(80)
    assert drawn.startswith(ERASE)
    assert "starting the agent" in drawn.decode()
    assert line.on_output() == ERASE
    assert line.on_output() == b""
    assert line.draw(80) == b"", "text flows"


def test_it_is_cut_to_the_width_of_the_terminal_and_gone_on_a_narrow_one() -> None:
    clock = Clock()
    line = ProgressLine(Paint(colours=False), now=clock)
    line.on_event(tool("a", "字" * 100, "in_progress"))
    clock.now += QUIET
    shown = line.draw(40).removeprefix(ERASE).decode()
    assert sum(2 if character == "字" else 1 for character in shown) < 40
    assert line.draw(10) == ERASE


def test_a_terminal_shows_it_while_a_tool_runs_and_not_at_the_end(tmp_path: Path) -> None:
    script = 'agent busy\non prompt\n  tool "Run the tests" id=t\n    until cancelled\n  say stopped\n'
    with in_terminal("--agent", scripted(tmp_path, script), "x", folder=tmp_path) as person:
        fcntl.ioctl(person.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        person.read_until("\x1b[2mRun the tests · ")
        person.type(CTRL_C)
        assert person.wait() == 130
    left = re.sub(r"[^\n]*\r\x1b\[2K", "", person.shown)
    assert not set(SPINNER) & set(left)
    assert "Run the tests" in left
    assert "stopped" in left
