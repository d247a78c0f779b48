"""`dragoman hub status`: what it asks, what it shows, how it ends."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from dragoman.errors import LocalMistake
from dragoman.text.cells import fit
from dragoman.text.sanitize import sanitize_line
from dragoman_app.cli import main
from dragoman_app.cli.hub_client import HubNotAnswered, find_hub, socket_address
from dragoman_app.cli.hub_status import _watch, ask_hub, show, show_agents
from dragoman_app.cli.parser import make_parser
from dragoman_hub.api.observability.processes import TreeUse
from dragoman_hub.api.observability.status import (
    Measured,
    SeenAgent,
    SeenConnection,
    SeenJournal,
    SeenSession,
    status_of,
)
from dragoman_hub.api.observability.usage import AgentUsage, Cost, Tokens, UsageTotals
from tests.hub.api.observability.fakes import ShownHub


def told(sessions: int = 2) -> dict[str, Any]:
    spent = UsageTotals()
    spent.saw("a-reviewer-with-a-long-name", "s0", AgentUsage(tokens=Tokens(total=12_345_678)))
    spent.saw("a-reviewer-with-a-long-name", "s0", AgentUsage(cost=Cost(1234.5, "USD")))
    hub = ShownHub(
        agents=[
            SeenAgent(
                name="a-reviewer-with-a-long-name", state="restarting", pid=4194304, sessions=100, restarts=12
            ),
            SeenAgent(name="code"),
        ],
        sessions=[
            SeenSession(
                session_id=f"{n}-0123456789abcdef",
                agent="code",
                state="waiting",
                asking=3,
                asked=1_000.0,
                queue=10,
                title="A title with \x1b[31m colours and 漢字" * 5,
            )
            for n in range(sessions)
        ],
        connections=[SeenConnection(token="owner" * 20, transport="websocket", lag=1_500_000, sessions=3)],
        journal=SeenJournal(address="/data/hub.db", size=123_456_789),
    )
    use = TreeUse(processes=12, rss=1_234_567_890, cpu=123_456.7, descriptors=99)
    measured = Measured({"a-reviewer-with-a-long-name": use, "": use}, spent)
    status = status_of(hub, measured, pid=7, clock=lambda: 8_700.0)
    result: dict[str, Any] = json.loads(msgspec.json.encode(status))
    return result


def test_the_tables_fit_into_eighty_columns_and_show_what_matters() -> None:
    text = show(told())
    assert max(sum(2 if ord(one) > 0x2E80 else 1 for one in line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    for shown in (
        "dragoman hub 1.2.3",
        "up 2h8m",
        "restarting",
        "12.3M",
        "1234 USD",
        "waiting",
        "1.2 GB",
        "1.5 MB",
    ):
        assert shown in text, shown
    assert "journal 123 MB" in text


def test_why_an_agent_does_not_run_stands_below_the_agents() -> None:
    error = "agent claude ended with status 3: no API key"
    shown = show_agents({"agents": [{"name": "claude", "state": "stopped", "lastError": error}]})
    assert shown.splitlines()[-1] == error


def test_many_sessions_are_counted() -> None:
    text = show(told(30))
    assert "… 30 in all: 30 waiting" in text
    assert len([line for line in text.splitlines() if "abc" in line or "-0123" in line]) == 20


def test_what_another_version_does_not_tell_is_left_empty() -> None:
    assert show({"version": "9", "agents": [{"name": "x"}, 7], "sessions": [{}], "totals": None})
    assert show({}).startswith("dragoman hub")
    assert show_agents({"agents": [{"name": "review", "state": "up"}]}).splitlines()[1].split() == [
        "review",
        "up",
    ]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 5, "abc  "),
        ("abc", -5, "  abc"),
        ("abcdef", 4, "abc…"),
        ("漢字漢字", 5, "漢字…"),
        ("a\nb", 3, "a␊b"),
    ],
)
def test_a_cell_is_as_wide_as_its_column(text: str, width: int, shown: str) -> None:
    assert fit(sanitize_line(text), width) == shown


# Where the hub is.


def test_the_hub_of_this_user_says_where_it_is(tmp_path: Path) -> None:
    place = tmp_path / "address"
    place.write_text(json.dumps({"url": "http://127.0.0.1:8765/", "pid": os.getpid()}))
    place.chmod(0o600)
    assert find_hub(place) == "ws://127.0.0.1:8765/acp"


@pytest.mark.parametrize(
    ("written", "mode", "why"),
    [
        (None, 0o600, "you have no running hub"),
        ("{", 0o600, "can't understand"),
        ('{"url": 7, "pid": 1}', 0o600, "can't understand"),
        ("[]", 0o600, "can't understand"),
        ('{"url": "ws://evil.example/acp", "pid": 1}', 0o666, "other people can write to it"),
        ('{"url": "ws://127.0.0.1:1/acp", "pid": 4194999}', 0o600, "no longer running"),
    ],
)
def test_an_address_that_cannot_be_believed_is_said(
    written: str | None, mode: int, why: str, tmp_path: Path
) -> None:
    place = tmp_path / "address"
    if written is not None:
        place.write_text(written)
        place.chmod(mode)
    with pytest.raises(HubNotAnswered, match=why) as raised:
        find_hub(place)
    assert raised.value.status == 9


def test_addresses_are_taken_as_they_are_written_down() -> None:
    assert socket_address("https://hub.example") == "wss://hub.example/acp"
    assert socket_address("ws://h:1/acp?agent=x") == "ws://h:1/acp?agent=x"
    for wrong in ("hub.example", "ftp://x/", "http://", "http://[::1/"):
        with pytest.raises(LocalMistake, match=r"not an address|not a hub address"):
            socket_address(wrong)


# Asking one.

STATUS = "_dragoman/hub/status"


@asynccontextmanager
async def hub(answers: dict[str, Any]) -> AsyncIterator[tuple[str, list[str]]]:
    """Answers what it is told to; the token is `right`."""
    asked: list[str] = []

    def admit(connection: ServerConnection, request: Request) -> Response | None:
        right = request.headers.get("authorization") == "Bearer right"
        return None if right else connection.respond(401, "")

    async def talk(connection: ServerConnection) -> None:
        async for message in connection:
            question = json.loads(message)
            asked.append(question["method"])
            answer = answers[question["method"]]
            if answer is None:
                await connection.close()
                return
            await connection.send(
                json.dumps({"jsonrpc": "2.0", "method": "_dragoman/hub/session", "params": {}})
            )
            await connection.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}))

    async with serve(talk, "127.0.0.1", 0, process_request=admit) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}/acp", asked


FINE = {"result": {"protocolVersion": 1}}
TOKEN = {"authorization": "Bearer right"}


async def test_a_hub_is_asked_for_its_status() -> None:
    async with hub({"initialize": FINE, STATUS: {"result": {"version": "1"}}}) as (url, asked):
        assert await ask_hub(url, TOKEN) == ({"version": "1"}, True)
    assert asked == ["initialize", STATUS]


async def test_who_may_only_observe_is_shown_the_agents() -> None:
    refusal = {"error": {"code": -32003, "message": "Forbidden", "data": {"scope": "admin"}}}
    agents = {"result": {"agents": [{"name": "review"}]}}
    async with hub({"initialize": FINE, STATUS: refusal, "_dragoman/hub/agents": agents}) as (url, _):
        assert await ask_hub(url, TOKEN) == ({"agents": [{"name": "review"}]}, False)


@pytest.mark.parametrize(
    ("answers", "token", "status", "why"),
    [
        ({}, "wrong", 1, "status 401"),
        ({"initialize": {"error": {"code": 1, "message": "not today"}}}, "right", 1, "not today"),
        ({"initialize": FINE, STATUS: None}, "right", 9, "ended the connection"),
        ({"initialize": FINE, STATUS: {"result": 7}}, "right", 9, "not an object"),
    ],
)
async def test_a_hub_that_does_not_answer_is_told_with_a_status(
    answers: dict[str, Any], token: str, status: int, why: str
) -> None:
    async with hub(answers) as (url, _):
        with pytest.raises(HubNotAnswered, match=why) as raised:
            await ask_hub(url, {"authorization": f"Bearer {token}"})
    assert raised.value.status == status


async def test_nobody_there_is_told_with_a_status() -> None:
    with pytest.raises(HubNotAnswered, match="cannot be reached") as raised:
        await ask_hub("ws://127.0.0.1:9/acp", TOKEN)
    assert raised.value.status == 9


async def test_json_is_what_the_hub_said(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    chosen = argparse.Namespace(json=True, watch=False, every=2.0)
    async with hub({"initialize": FINE, STATUS: {"result": told()}}) as (url, _):
        assert await _watch(chosen, url, TOKEN) == 0
    assert json.loads(capsysbinary.readouterr().out) == told()


# The command line.


def parsed(*words: str) -> argparse.Namespace:
    return make_parser().parse_args(["hub", *words])


def test_help_has_examples_and_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("status", "--help")
    shown = capsys.readouterr().out
    assert "examples:" in shown
    assert "exit status:" in shown


@pytest.mark.parametrize("words", [["--every", "0"], ["--every", "often"], ["a", "b"]])
def test_mistakes_are_told(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parsed("status", *words)
    assert stopped.value.code == 2


def test_without_a_token_nobody_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DRAGOMAN_TOKEN", raising=False)
    assert main(["hub", "status", "ws://127.0.0.1:9/acp"]) == 2
    assert "DRAGOMAN_TOKEN" in capsys.readouterr().err


def test_how_it_ends_is_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAGOMAN_TOKEN", "right")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["hub", "status"]) == 9
    assert "dragoman hub status: you have no running hub" in capsys.readouterr().err
    assert main(["hub", "status", "nowhere"]) == 2
