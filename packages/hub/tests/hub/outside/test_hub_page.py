"""The page about the hub: its commands exist, and its numbers are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from dragoman.transport import http_outlet
from dragoman_app.cli.parser import make_parser
from dragoman_hub import runner
from dragoman_hub.agents import end as agent_end
from dragoman_hub.agents import pool, process
from dragoman_hub.agents.host import agent_host
from dragoman_hub.clients import client as client_side
from dragoman_hub.cluster import client_router
from dragoman_hub.engine import bounds, live_session, log
from dragoman_hub.engine.bounds import MIB
from dragoman_hub.lending import shared_look, turn_changes
from dragoman_hub.nats import store
from dragoman_hub.settings import HubSettings
from dragoman_local.journal import brief, writer

PAGE = (Path(__file__).parents[5] / "docs" / "hub.md").read_text(encoding="utf-8")


def test_every_command_on_the_page_is_one() -> None:
    found = re.findall(r"^(?:\$ )?dragoman (hub .*|hub|inbox.*|connect .*)$", PAGE, re.MULTILINE)
    commands = [one for one in found if "·" not in one]
    assert len(commands) >= 8
    for command in commands:
        chosen = make_parser().parse_args(shlex.split(command))
        assert chosen.command_row.run, command


def test_the_limits_on_the_page_are_the_defaults() -> None:
    limits = HubSettings().limits
    assert (limits.message, limits.connections, limits.sessions) == (16 << 20, 256, 10_000)
    assert (limits.unread, limits.prompts_queued) == (8 << 20, 32)
    assert (str(limits.prompt_rate), str(limits.connect_rate)) == ("60/min", "120/min")
    assert http_outlet.PATIENCE == 60.0
    assert (brief.BRIEF_BYTES, turn_changes.LOOK_SECONDS) == (48_000, 3.0)
    assert (shared_look.FIRST_PAUSE, shared_look.LONGEST_PAUSE) == (30.0, 3600.0)
    assert live_session.CLOSE_SECONDS == 5.0
    assert (turn_changes.KEPT_SECONDS, pool.INITIALIZE_SECONDS, agent_end.LINES) == (1800.0, 300.0, 20)


def test_the_bounds_on_the_page_are_those_of_the_code() -> None:
    def row(begins: str) -> list[str]:
        """What the row says is bounded, in bytes: session, agent, all."""
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| {begins}"))
        return [cell.strip() for cell in line.split("|")[2:5]]

    def mib(size: int) -> str:
        return f"{size // MIB} MiB"

    for begins, limits in (
        ("messages of an agent, for the journal", bounds.UNSTORED),
        ("files, terminal output", bounds.ANSWERS),
        ("requests of an agent that the hub carries out", bounds.LENT),
        ("requests of an agent without an answer", bounds.REQUESTS),
    ):
        assert row(begins) == [mib(limits.session), mib(limits.agent), mib(limits.all)], begins
    prompts = bounds.PROMPTS
    assert row("prompts in") == [f"{mib(prompts.session)}, 32 prompts", mib(prompts.agent), mib(prompts.all)]
    one, everybody = map(mib, bounds.CLIENT)
    asked = f"{one} of one client, {client_side.AT_ONCE} requests"
    assert row("requests of a client") == [asked, "–", everybody]
    assert row("refusals") == ["–", mib(process.REFUSED_BYTES), "–"]
    assert row("messages about a session before") == [
        "–",
        f"{mib(process.EARLY_BYTES)}, {process.EARLY:,} messages",
        "–",
    ]
    assert row("one append") == [
        f"{mib(log.AT_ONCE_BYTES)}, {log.AT_ONCE:,} entries",
        "–",
        f"{mib(writer.QUEUED_BYTES)} of all sessions",
    ]
    assert row("in the agent host of an agent")[1] == f"{mib(agent_host.ATTACHED)} with a hub, 64 MiB without"
    assert row("between nodes: requests") == [
        f"{one} of one client; {mib(client_router.HELD_BYTES)}",
        "–",
        everybody,
    ]
    assert row("between nodes: messages")[2] == mib(store.QUEUED_BYTES)
    assert row("messages of a session that a client has not read")[0] == f"{mib(runner.AHEAD)} of one client"
