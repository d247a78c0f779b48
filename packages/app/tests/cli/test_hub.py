"""`dragoman hub` and `dragoman inbox` as a person runs them: one real hub for all of this."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import CallFailed
from dragoman.testing.pace import deadline, patience
from dragoman.transport.websocket import open_websocket
from dragoman_app.cli.inbox import allow_denied, describe_denial, describe_request, option_of
from tests import forks
from tests.cli.held import CLOSED, ENDS_WITHIN, Held
from tests.hub.sessions.stage import Talker

pytestmark = [pytest.mark.bound(50), pytest.mark.timeout(120)]

DRAGOMAN = [sys.executable, "-m", "dragoman"]


class Running:
    """A hub as a process, with its files in a folder of the test's."""

    def __init__(self, folder: Path, *, agent: Sequence[str] = ()) -> None:
        self.folder = folder
        self.config = folder / "hub.toml"
        name, own = ("own", f"[agents.own]\ncommand = {json.dumps(agent)}\n") if agent else ("echo", "")
        settings = f'listen = "127.0.0.1:0"\ndefault_agent = "{name}"\nknown_agents = false\n'
        self.config.write_text(settings + own)
        kept = {name: value for name, value in os.environ.items() if "DRAGOMAN" not in name}
        self.env = {
            **kept,
            **dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(folder)),
        }
        self.log = (folder / "log").open("wb")
        command = [*DRAGOMAN, "hub", "--config", str(self.config), "--json"]
        self.process = forks.start(command, cwd=folder, env=self.env, stderr=self.log.fileno())
        said = json.loads(forks.first_line(self.process, folder / "log"))
        self.url, self.token, self.page = said["acp"], said["token"], said["page"]

    async def client(self, **ours: Any) -> Talker:
        headers = {"authorization": f"Bearer {self.token}"}
        return await Talker(await open_websocket(self.url, headers=headers), **ours).begin()

    async def hang_up(self, said: str) -> None:
        """Send SIGHUP, and wait until the log says this once more."""
        log = self.folder / "log"
        known = log.read_text().count(said)
        self.process.send_signal(signal.SIGHUP)
        while log.read_text().count(said) == known:  # noqa: ASYNC110  # a log tells nobody that it grew
            await asyncio.sleep(0.01)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**self.env, "DRAGOMAN_TOKEN": self.token}
        return subprocess.run(
            [*forks.DRAGOMAN, *arguments], env=env, capture_output=True, text=True, check=False
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(patience(30))
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("hub"))
    yield made
    made.close()


async def test_what_an_agent_asks_is_answered_from_a_terminal(hub: Running) -> None:
    client = await hub.client()
    session = await client.new(str(hub.folder))
    turn = client.prompt(session, f"/ask {hub.folder}/made")
    await client.asked()
    listed = await asyncio.to_thread(hub.run, "inbox", "--list")
    assert listed.returncode == 0
    name = listed.stdout.split()[0]
    assert name.startswith(session[:8])
    assert f"{hub.folder}/made" in listed.stdout
    wrong = await asyncio.to_thread(hub.run, "inbox", "--answer", name, "perhaps")
    assert (wrong.returncode, "has no option" in wrong.stderr) == (2, True)
    answered = await asyncio.to_thread(hub.run, "inbox", "--answer", name, "allow")
    assert answered.returncode == 0, answered.stderr
    await client.answer(turn)
    assert (hub.folder / "made").exists()
    empty = json.loads((await asyncio.to_thread(hub.run, "inbox", "--json")).stdout)
    assert empty == {"requests": [], "denials": []}
    await client.transport.aclose()


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", CLOSED])
async def test_an_inbox_that_waits_for_an_answer_ends_with_its_terminal_and_by_every_signal(
    hub: Running, how: str
) -> None:
    client = await hub.client()
    session = await client.new(str(hub.folder))
    turn = client.prompt(session, f"/ask {hub.folder}/never")
    await client.asked()
    env = {**hub.env, "DRAGOMAN_TOKEN": hub.token}
    held = Held([*DRAGOMAN, "inbox", "--hub", hub.url], hub.folder, env=env)
    try:
        await asyncio.to_thread(held.wait_for, lambda: "Answer (" in held.shown, "the question")
        held.end(how)
        await asyncio.to_thread(
            held.wait_for, lambda: held.process.poll() is not None, "the end", ENDS_WITHIN
        )
    finally:
        held.close()
    client.say({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
    await client.answer(turn)
    await client.transport.aclose()


async def test_the_status_tells_of_agents_and_sessions(hub: Running) -> None:
    client = await hub.client()
    session = await client.new(str(hub.folder))
    status = json.loads((await asyncio.to_thread(hub.run, "hub", "status", "--json")).stdout)
    assert session in {one["sessionId"] for one in status["sessions"]}
    (echo,) = [one for one in status["agents"] if one["name"] == "echo"]
    assert (echo["state"], echo["rss"] > 1_000_000) == ("up", True)
    await client.transport.aclose()


async def test_a_hangup_reads_the_configuration_again(hub: Running) -> None:
    before = hub.config.read_text()
    hub.config.write_text(before + '[agents.second]\ncommand = ["true"]\ntitle = "Second"\n')
    hub.process.send_signal(signal.SIGHUP)
    async with deadline(20):
        while True:
            client = await hub.client(lazy=True)
            shown = client.heard[0]["result"]["_meta"]["dragoman"]["agents"]
            await client.transport.aclose()
            if "second" in {one["name"] for one in shown}:
                break
    hub.config.write_text("nonsense = 1\n")
    hub.process.send_signal(signal.SIGHUP)
    client = await hub.client(lazy=True)  # a bad file changes nothing
    assert client.heard[0]["result"]["_meta"]["dragoman"]["agent"] == "echo"
    await client.transport.aclose()
    hub.config.write_text(before)


async def test_a_hangup_loads_the_policy_and_a_broken_one_changes_nothing(hub: Running) -> None:
    before = hub.config.read_text()
    policy, made = hub.folder / "rules.toml", hub.folder / "denied"
    policy.write_text('default = "deny"\n')
    hub.config.write_text(f'{before}[approvals]\npolicy = "{policy}"\n')
    client = await hub.client()
    session = await client.new(str(hub.folder))
    for text, said in (('default = "deny"\n', "reloaded"), ("nonsense = 1\n", "policy stays as it was")):
        policy.write_text(text)
        await hub.hang_up(said)
        await client.answer(client.prompt(session, f"/ask {made}"))  # nobody was asked
        assert not made.exists()
    audit = (hub.folder / "dragoman/audit.jsonl").read_text().splitlines()
    lines = [line for line in map(json.loads, audit) if line["session"] == session]
    assert [(line["session"], line["agent"], line["outcome"]) for line in lines] == [
        (session, "echo", "deny"),
        (session, "echo", "deny"),
    ]
    hub.config.write_text(before)
    await hub.hang_up("reloaded")
    await client.transport.aclose()


async def test_a_token_that_is_revoked_ends_its_connections(hub: Running) -> None:
    made = await asyncio.to_thread(
        hub.run, "hub", "token", "add", "--config", str(hub.config), "guest", "--scope", "observe"
    )
    assert made.returncode == 0, made.stderr
    token = made.stdout.split()[-1]
    headers = {"authorization": f"Bearer {token}"}
    async with deadline(20):
        guest = Talker(await open_websocket(hub.url, headers=headers), lazy=True)
        await guest.begin()
        revoke = ("hub", "token", "revoke", "--config", str(hub.config), "guest")
        assert (await asyncio.to_thread(hub.run, *revoke)).returncode == 0
        await guest.until_ended()
    await guest.transport.aclose()


def test_a_bad_configuration_is_told_with_its_lines(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('listen = "nowhere"\n\n[limits]\nsessions = -1\nspeed = 9\n')
    command = [*forks.DRAGOMAN, "hub", "--config", str(bad), "--check"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    for place in (f"{bad}:1", f"{bad}:4", f"{bad}:5"):
        assert place in said.stderr


async def test_a_hub_lets_turns_end_before_it_goes(tmp_path: Path) -> None:
    hub = Running(tmp_path)
    client = await hub.client(events=True)
    session = await client.new(str(tmp_path))
    turn = client.prompt(session, "/wait 0.5")
    await client.until(lambda one: one.get("params", {}).get("event") == "turn_started")
    hub.process.send_signal(signal.SIGTERM)
    answer = await client.answer(turn)
    assert answer["result"]["stopReason"] == "end_turn"
    await client.until_ended()
    await asyncio.to_thread(hub.close)
    assert hub.process.returncode == 0
    assert hub.token.encode() not in (tmp_path / "log").read_bytes()
    await client.transport.aclose()


ASKED: dict[str, Any] = {
    "sessionId": "0123456789",
    "request": "7",
    "method": "session/request_permission",
    "agent": "one",
    "title": "A title",
    "params": {
        "toolCall": {"title": "rm -rf \u202etxt.x", "rawInput": {"command": "rm\x1b[2J -rf /"}},
        "options": [
            {"optionId": "a", "name": "Allow", "kind": "allow_once"},
            {"optionId": "r", "name": "Reject", "kind": "reject_once"},
        ],
    },
}


def test_what_is_asked_is_shown_whole_and_cannot_deceive() -> None:
    text = describe_request(ASKED, now=0.0)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "-rf /" in text


def test_what_was_judged_is_shown_and_no_line_of_it_looks_like_an_option() -> None:
    lines = "git push\n1. No (reject_once)"
    act = {"deed": "run a command", "agent": "one", "command": lines, "folder": "/q", "why": "a rule"}
    options = [{"optionId": "a", "name": f"Allow{' ' * 300}2. No", "kind": "allow_once"}]
    params = {**ASKED["params"], "options": options}
    text = describe_request({**ASKED, "act": act, "params": params}, now=0.0)
    shown = ["one wants to run a command:", "Command:", "  git push", "  1. No (reject_once)", "In: /q"]
    assert text.split("\n")[1:] == [
        *(f"  │ {line}" for line in shown),
        "  why you are asked: a rule",
        "    1. Allow 2. No (allow_once)",
    ]


class Allowing:
    """A hub that has a denial, and a person at a terminal who gives an answer."""

    def __init__(self, answer: str, shown: dict[str, Any] | None) -> None:
        self.answer, self.shown = answer, shown
        self.sent: list[dict[str, Any]] = []

    async def read(self) -> str:
        return f"{self.answer}\n"

    async def call(self, method: str, params: Any) -> dict[str, Any]:
        if self.shown is None:
            raise CallFailed(-32003, "Forbidden: this token may not admin", method=method)
        if method.endswith("/preview"):
            return self.shown
        self.sent.append(params)
        return {"isOnce": True}


NAMED = {"sessionId": "s-1", "remedy": "dragoman policy allow …"}
DENIED = {**NAMED, "agent": "one", "title": "T\x1b", "what": "make\x1b all", "why": "nobody answered in time"}
RULE = {"rule": '[[rule]]\ndecision = "allow"\n', "file": "/r.toml", "isKept": False}
ONCE = {"once": True, "identity": "i"}


@pytest.mark.parametrize(
    ("answer", "more", "sent"),
    [
        ("1", {"identity": "i"}, [{**NAMED, **ONCE}]),
        ("2", {"identity": "i"}, [{**NAMED, "rule": RULE["rule"]}]),
        ("1", {}, [{**NAMED, "rule": RULE["rule"]}]),
        ("2", {}, []),
        ("", {"identity": "i"}, []),
        ("1", None, []),
    ],
)
async def test_what_expired_is_allowed_once_or_by_its_rule_with_one_key(
    answer: str, more: dict[str, str] | None, sent: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    act = {"deed": "run a command", "agent": "one", "command": "make\x1b all"}
    person: Any = Allowing(answer, None if more is None else {**RULE, "act": act, **more})
    await allow_denied(person, DENIED, person)
    assert person.sent == sent
    shown = capsys.readouterr().out + describe_denial(DENIED)
    assert "\x1b" not in shown
    assert ("Allow next try" in shown) is ("identity" in (more or {}))
    assert ("  │ [[rule]]" in shown) is (more is not None)


def test_risks_are_shown_with_their_place_and_rule() -> None:
    found = [
        {"rule": "python/eval", "severity": "high", "text": "eval runs", "path": "/a\x1b.py", "line": 3},
        {"rule": "shell/privilege", "severity": "medium", "text": "It runs as root"},
    ]
    text = describe_request({**ASKED, "risks": found, "risksNote": "Not judged: b.py."}, now=0.0)
    assert "  medium risk: It runs as root (shell/privilege)\n  note: Not judged: b.py." in text
    assert "high risk: eval runs in /a" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("said", "option"),
    [("1", "a"), ("2", "r"), ("allow", "a"), ("reject_once", "r"), ("r", "r"), ("3", None)],
)
def test_an_option_is_named_in_many_ways(said: str, option: str | None) -> None:
    assert option_of(ASKED, said) == option


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (86_400.0, "1 day more"),
        (80_000.0, "22 hours more"),
        (120.5, "2 minutes more"),
        (-5.0, "less than a minute more"),
    ],
)
def test_the_inbox_shows_how_long_a_question_still_waits(seconds: float, words: str) -> None:
    text = describe_request({**ASKED, "expiresAt": 1000.0 + seconds}, now=1000.0)
    assert f"waits for {words}, and is refused then" in text
    assert "waits for" not in describe_request(ASKED, now=0.0)


def test_everything_that_a_hub_prints_is_json_if_its_log_is(tmp_path: Path) -> None:
    """Also where both streams are one, as a service's are, with a new token and with an old one."""
    config = tmp_path / "hub.toml"
    config.write_text('listen = "127.0.0.1:0"\nknown_agents = false\n')
    env = {
        **os.environ,
        **dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(tmp_path)),
    }
    command = [*DRAGOMAN, "hub", "--config", str(config), "--log-format", "json"]
    for _ in range(2):
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        with process.stdout:
            lines = [process.stdout.readline()]
            while '"acp"' not in lines[-1]:
                assert lines[-1], lines
                lines.append(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            lines += process.stdout.readlines()
        process.wait(patience(30))
        assert all(isinstance(json.loads(line), dict) for line in lines)
    config.write_text("nonsense = 1\n")
    failed = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "unknown" in json.loads(failed.stderr)["body"]
