"""How an agent ended reaches every face: error answers, the status, lists of agents and the log."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.transport.memory import memory_pair
from dragoman.wire import ErrorObject
from dragoman_hub.agents.end import AgentEnd, AgentSecrets, StderrLines, headline_of
from dragoman_hub.agents.specs import specs_of
from dragoman_hub.api.observability.hub_meters import HubMeters
from dragoman_hub.api.observability.hub_snapshot import HubSnapshot
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_hub.settings import AgentSettings
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.stage import Talker

NO_KEY = "import sys; print('no API key', file=sys.stderr); sys.exit(3)"
KILLED = "import os, sys; print('out of memory', file=sys.stderr, flush=True); os.kill(os.getpid(), 9)"
LOUD = (
    "import sys; print('\\x1b[31mkey sekret-value-1 is bad, token=abc123\\x1b[0m', file=sys.stderr);"
    "sys.exit(1)"
)
SILENT = "import sys; sys.exit(4)"

# dialect, command, what the message says, status and signal in the details
DEATHS: dict[str, tuple[str, tuple[str, ...], str, int | None, str | None]] = {
    "direct": ("v1", (sys.executable, "-c", NO_KEY), "agent {} ended with status 3: no API key", 3, None),
    "interpreted": (
        "auto",
        (sys.executable, "-c", NO_KEY),
        "agent {} ended with status 3: no API key",
        3,
        None,
    ),
    "silent": ("v1", (sys.executable, "-c", SILENT), "agent {} ended with status 4", 4, None),
    "killed": (
        "v1",
        (sys.executable, "-c", KILLED),
        "agent {} ended with signal SIGKILL: out of memory",
        None,
        "SIGKILL",
    ),
    "killed-interpreted": (
        "auto",
        (sys.executable, "-c", KILLED),
        "agent {} ended with status 137 (SIGKILL): out of memory",
        137,
        "SIGKILL",
    ),
    "missing": (
        "v1",
        ("no-such-agent",),
        "agent {}: cannot start 'no-such-agent': no such program",
        None,
        None,
    ),
    "missing-interpreted": (
        "auto",
        ("no-such-agent",),
        "agent {}: cannot start 'no-such-agent': no such program",
        127,
        None,
    ),
    "loud": (
        "v1",
        (sys.executable, "-c", LOUD),
        "agent {} ended with status 1: key [redacted] is bad, token=[redacted]",
        1,
        None,
    ),
}


@pytest.mark.bound(30)  # eight processes, four of them behind an interpreter of their own
async def test_status_and_last_words_of_an_agent_reach_every_face(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = {"SOME_API_KEY": "sekret-value-1"}
    agents = {
        name: AgentSettings(command=command, dialect=dialect, env=env)
        for name, (dialect, command, *_) in DEATHS.items()
    }
    caplog.set_level(logging.WARNING)
    async with Hub(
        MemoryJournal(), specs_of(agents, tmp_path), options=HubOptions(default_agent="direct")
    ) as hub:
        answers = {name: await _refusal(hub, name) for name in DEATHS}
        seen = HubSnapshot(hub, url="", journal="", meters=HubMeters())
        status = {agent.name: agent.last_error for agent in seen.seen_agents()}
        listed = {one["name"]: one["lastError"] for one in hub.views._agents()}
    for name, (_, _, message, exit_status, signal) in DEATHS.items():
        message = message.format(name)
        error = answers[name]
        assert error["message"].startswith(f"Internal error: {message}")
        assert (error["data"]["exitStatus"], error["data"]["signal"]) == (exit_status, signal)
        assert status[name].startswith(message)
        assert listed[name].startswith(message)
        assert message in caplog.text
        assert "sekret" not in str(error) + caplog.text
        assert "\x1b" not in error["data"]["stderr"]


async def _refusal(hub: Hub, agent: str) -> dict[str, Any]:
    here, there = memory_pair()
    client = Talker(here)
    hub.accept(there, Grant("owner"), agent=agent)
    return await client.refusal("initialize", {"protocolVersion": 1})


async def test_a_turn_that_its_agent_cuts_short_says_how_the_agent_ended(tmp_path: Path) -> None:
    agents = {"mortal": AgentSettings(command=(sys.executable, "-c", MORTAL), dialect="v1")}
    async with Hub(
        MemoryJournal(), specs_of(agents, tmp_path), options=HubOptions(default_agent="mortal")
    ) as hub:
        here, there = memory_pair()
        client = Talker(here)
        hub.accept(there, Grant("owner"))
        await client.begin()
        session = await client.new(str(tmp_path))
        error = (await client.answer(client.prompt(session, "go")))["error"]
    assert error["message"] == "the turn was cut short: agent mortal ended with status 5: quota is used up"
    assert error["data"]["exitStatus"] == 5
    assert error["data"]["stderr"] == "quota is used up"


MORTAL = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "session/prompt":
        print("quota is used up", file=sys.stderr)
        sys.exit(5)
    result = {"protocolVersion": 1, "sessionId": "s"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def test_an_agent_that_keeps_dying_is_refused_with_its_last_words(tmp_path: Path) -> None:
    agents = {"mortal": AgentSettings(command=(sys.executable, "-c", NO_KEY), dialect="v1", restarts=0)}
    async with Hub(
        MemoryJournal(), specs_of(agents, tmp_path), options=HubOptions(default_agent="mortal")
    ) as hub:
        await _refusal(hub, "mortal")
        again = await _refusal(hub, "mortal")
    assert "agent mortal ended with status 3: no API key (1 times in a row" in again["message"]


def test_the_headline_is_the_agents_last_word_and_not_our_own() -> None:
    node = ["/app/index.js:3", "    throw new Error('x')", "    ^", "", "Error: no key", "    at main (x:1)"]
    assert headline_of([*node, "", "Node.js v20.11.0"]) == "Error: no key"
    assert headline_of(["no key", "dragoman translate: lost: crow: a thing"]) == "no key"
    assert headline_of(["dragoman translate: cannot start 'x': gone"]) == "cannot start 'x': gone"
    assert headline_of(["", "  "]) == ""
    assert len(headline_of(["x" * 5000])) == 200


def test_kept_words_are_bounded_and_cover_secrets_before_they_are_cut() -> None:
    kept = StderrLines(AgentSecrets(["hunter2hunter2"]))
    for number in range(100):
        kept.add(b"%d " % number + b"x" * 492 + b"hunter2hunter2" * 3)
    lines = kept.lines()
    assert len(lines) == 20
    assert all(len(line) <= 500 and "hunter" not in line for line in lines)


def test_values_that_an_agent_was_given_are_covered_in_its_errors() -> None:
    secrets = AgentSecrets(['hunter"2"hunter', "short"])
    error = ErrorObject(-32000, 'no hunter"2"hunter', {"deep": ['hunter"2"hunter', "short"]})
    assert secrets.cover_error(error) == ErrorObject(
        -32000, "no [redacted]", {"deep": ["[redacted]", "short"]}
    )
    plain = ErrorObject(-32000, "Invalid token: expired")
    assert secrets.cover_error(plain) == plain


def test_an_end_without_a_status_says_what_is_known() -> None:
    assert (
        AgentEnd(agent="a", reason="it closed the connection").message
        == "agent a ended: it closed the connection"
    )
    over = AgentEnd(agent="a", exit_status=-9, reason="x ended with signal SIGKILL; its lease had run out")
    assert over.message == "agent a ended with signal SIGKILL: its lease had run out"
    assert AgentEnd(agent="a", exit_status=200).message == "agent a ended with status 200"
