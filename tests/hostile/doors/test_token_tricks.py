"""No token is good for more than it was made for, in whatever form its holder asks."""

from __future__ import annotations

import io
import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dragoman.testing.pace import patience
from tests.hostile.doors.agent_steps import question, read
from tests.hostile.doors.line_tricks import LINE_TRICKS, LineTrick
from tests.hostile.doors.stage import command_of, hub_of_puppets, make_folder, placed
from tests.hostile.doors.token_tricks import (
    ADMINISTERING,
    ALLOW,
    APPROVING,
    EITHER,
    FAST_TRICKS,
    METHOD_TRICKS,
    OBSERVE,
    PAIR_TRICKS,
    PROMPTING,
    SECRET_WORD,
    MethodTrick,
    PairTrick,
)
from tests.hostile.doors.tricks import Trick, must_not, parameters
from tests.hostile.doors.victim import Victim
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess

SCOPES = {
    "watcher": ["--scope", "observe"],
    "approver": ["--scope", "approve"],
    "prompter": ["--scope", "prompt"],
    "keeper": ["--scope", "admin"],
}


class Holders:
    """A hub, the owner's session, and a connection for each holder of a token."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub
        self.corner = make_folder(hub, "corner")
        make_folder(hub, "corner-evil")
        corner = ["--agent", "haven", "--root", str(self.corner)]
        self.tokens = {
            name: make_token(hub, name, *words) for name, words in {**SCOPES, "cornered": corner}.items()
        }
        self.visitors: dict[str, Visitor] = {}
        self.victims = 1
        (self.corner / "way-out").symlink_to(hub.work / f"{SECRET_WORD}-1")
        self.victim = Victim(hub, 1)
        self.before = self.victim.view()

    def pair(self, trick: PairTrick) -> str:
        """The token of a device; empty if it gets none."""
        with Visitor(self.hub.place, self.tokens[trick.token]) as giver:
            giver.introduce(agent="haven", lazy=True)
            code = giver.call("_dragoman/hub/pair", trick.params).get("result", {}).get("code", "")
        return exchange(self.hub, {"code": code, "device": "a phone", **trick.body}) if code else ""

    def pair_briefly(self, trick: PairTrick) -> str:
        """The token of a device whose giver ends in seconds. If that is too soon, the next giver lives twice
        as long.
        """
        for number in range(7):
            self.tokens[trick.token] = make_token(self.hub, f"brief-{number}", "--expires", f"{2 << number}s")
            with suppress(InvalidStatus, ConnectionClosed):
                if device := self.pair(trick):
                    return device
        raise AssertionError("no device was paired in time")

    def visitor(self, token: str) -> Visitor:
        """A client with this token that has heard nothing yet. Those of one token share a connection."""
        if token not in self.visitors:
            self.visitors[token] = Visitor(self.hub.place, self.tokens[token], person="away")
            self.visitors[token].introduce(agent="haven" if token == "cornered" else "v1")
        visitor = self.visitors[token]
        visitor.heard.clear()
        visitor.said.clear()
        return visitor

    def leave(self) -> None:
        for visitor in self.visitors.values():
            visitor.__exit__()
        self.victim.settle()

    def harm(self, visitor: Visitor, **more: object) -> tuple[list[str], dict[str, object]]:
        """What somebody did to the owner's session, or was told of it."""
        after = self.victim.view()
        changed = {name: after[name] for name in after if after[name] != self.before[name]}
        told = [one for one in visitor.heard if SECRET_WORD in without_echo(json.dumps(one), visitor)]
        if visitor.token in (self.tokens[name] for name in ("watcher", "prompter", "keeper")):
            told = []  # whoever may look may look
        seen: dict[str, object] = {"changed": changed, "told": told, **more}
        if changed:
            self.renew()
        return [name for name in seen if seen[name]], seen

    def renew(self) -> None:
        """Another victim in the place of one that was hurt."""
        self.victims += 1
        self.victim.leave()
        self.victim = Victim(self.hub, self.victims)
        self.before = self.victim.view()


def make_token(hub: HubProcess, *words: str) -> str:
    with redirect_stdout(io.StringIO()) as said:
        assert command_of(hub, "hub", "token", "add", *words, "--json") == 0
    return str(json.loads(said.getvalue())["token"])


@pytest.fixture(scope="module")
def holders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holders]:
    with hub_of_puppets(tmp_path_factory.mktemp("hub")) as hub:
        holders = Holders(hub)
        yield holders
        holders.leave()


def forms(method: str, params: str) -> list[str]:
    """Lines that a careless reader may take for this method."""
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in method)
    return [
        f'{{"jsonrpc": "2.0", "id": "request", "method": "{method}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "method": "{method}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "null", "id": null, "method": "{method}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "escaped", "method": "{escaped}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "upper", "method": "{method.upper()}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "blank", "method": "{method} ", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "last", "method": "$/ping", "method": "{method}", "params": {params}}}',
        f'{{"jsonrpc": "2.0", "id": "first", "method": "{method}", "method": "$/ping", "params": {params}}}',
    ]


@pytest.mark.parametrize("trick", parameters(METHOD_TRICKS))
def test_no_method_is_carried_out_for_whoever_lacks_the_right(holders: Holders, trick: MethodTrick) -> None:
    params = holders.victim.fill(json.dumps(trick.params))
    visitor = holders.visitor(trick.token)
    for line in forms(trick.method, params):
        visitor.send_text(line)
    visitor.hear_answers(["request", "escaped"])
    visitor.call("nothing/of/the/kind")
    results = [] if trick.is_answered else [one["id"] for one in visitor.heard if "result" in one]
    must_not(*holders.harm(visitor, results=results))


@pytest.mark.parametrize("trick", parameters(LINE_TRICKS))
def test_no_line_is_read_in_two_ways(holders: Holders, trick: LineTrick) -> None:
    agent = "haven" if trick.token == "cornered" else "v1"
    leak, who = holders.corner / "leak", holders.corner / "who"
    leak.unlink(missing_ok=True)
    who.write_text("haven\n")
    with Visitor(holders.hub.place, holders.tokens[trick.token], person="away", query=trick.query) as visitor:
        given = {} if trick.introduction is None else {"_meta": {}, **trick.introduction}
        introduced = visitor.introduce(agent=agent, **given)
        own = visitor.open(str(holders.corner)) if trick.token == "cornered" and not given else ""
        for line in trick.lines:
            visitor.send_text(holders.victim.fill(line, CORNER=str(holders.corner), OWN=own))
        visitor.call("nothing/of/the/kind")
        visitor.hear_answers(trick.answered)
        for session in [one["result"]["sessionId"] for one in visitor.heard if is_new_session(one)]:
            steps = read(f"{holders.victim.folder}/notes", mark="leak")
            visitor.prompt(session, placed(steps, holders.corner))
    assert "result" in introduced or given
    must_not(*holders.harm(visitor, leak=leak.exists(), elsewhere=who.read_text() != "haven\n"))


def test_a_corner_is_good_for_work(holders: Holders) -> None:
    mark = holders.corner / "honest"
    with Visitor(holders.hub.place, holders.tokens["cornered"]) as visitor:
        visitor.introduce(agent="haven")
        visitor.prompt(visitor.open(str(holders.corner)), [{"do": str(mark)}])
    assert mark.exists()


def without_echo(text: str, visitor: Visitor) -> str:
    """Whoever names a folder may hear its name again."""
    said = " ".join(visitor.said)
    for folder in re.findall(rf"/[^\s\"]*{SECRET_WORD}-\d+", text):
        text = text.replace(folder, "") if folder in said else text
    return text


@pytest.mark.parametrize("trick", parameters(PAIR_TRICKS))
def test_no_device_gets_more_than_its_giver_has(holders: Holders, trick: PairTrick) -> None:
    device = holders.pair_briefly(trick) if trick.outlives else holders.pair(trick)
    if trick.outlives:
        wait_until_refused(holders.hub, holders.tokens[trick.token])
    if not device or not is_let_in(holders.hub, device):
        return
    is_confined = trick.token == "cornered"
    with Visitor(holders.hub.place, device, person="away") as visitor:
        visitor.introduce(agent="haven" if is_confined else "v1")
        for method, params in {**APPROVING, **(OBSERVE if is_confined else {})}.items():
            visitor.call(method, json.loads(holders.victim.fill(json.dumps(params))))
    answers = [one for one in visitor.heard[1:] if "result" in one]
    results = [] if is_confined else answers
    must_not(*holders.harm(visitor, results=results, outlives=trick.outlives))
    assert visitor.heard


def exchange(hub: HubProcess, body: dict[str, Any]) -> str:
    """The token of a device for its code."""
    headers = {"content-type": "application/json"}
    asked = urllib.request.Request(f"http://{hub.place}/pair", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=patience(20)) as answer:
            return str(json.load(answer)["token"])
    except urllib.error.HTTPError as error:
        with error:
            return ""


def is_let_in(hub: HubProcess, token: str) -> bool:
    try:
        with Visitor(hub.place, token):
            return True
    except InvalidStatus:
        return False


def wait_until_refused(hub: HubProcess, token: str) -> None:
    ends = time.monotonic() + patience(30)
    while is_let_in(hub, token):
        assert time.monotonic() < ends
        time.sleep(0.2)


def test_a_device_of_the_owner_reads_the_session(holders: Holders) -> None:
    with Visitor(holders.hub.place, holders.hub.token) as giver:
        giver.introduce(agent="v1")
        code = giver.call("_dragoman/hub/pair", {"scopes": ["observe"]})["result"]["code"]
    with Visitor(holders.hub.place, exchange(holders.hub, {"code": code, "device": "x"})) as device:
        device.introduce(agent="v1")
        assert SECRET_WORD in json.dumps(
            device.call("_dragoman/hub/history", {"sessionId": holders.victim.session})
        )


DENY = """
[[rule]]
decision = "deny"
command = "git push"
"""

ROUNDS, TURNS = 12, 3


@pytest.mark.parametrize("trick", parameters(FAST_TRICKS))
def test_no_answer_comes_before_the_rules(holders: Holders, trick: Trick) -> None:
    folder = make_folder(holders.hub, trick.name, policy=DENY)
    call = {"toolCallId": "c", "title": "Push", "kind": "execute", "rawInput": {"command": "git push"}}
    asked = [step for number in range(ROUNDS) for step in question(call, number=f"q{number}")]
    ended = threading.Event()
    with Visitor(holders.hub.place, holders.hub.token, person="no") as owner:
        owner.introduce(agent="koog")  # the other one waits for an answer
        session = owner.open(str(folder))

        def answer_all() -> None:
            with Visitor(holders.hub.place, holders.tokens["approver"]) as hasty:
                hasty.introduce(agent="v1")
                while not ended.is_set():
                    for number in range(3, 3 + 3 * ROUNDS * TURNS):
                        params = {"sessionId": session, "request": str(number), "result": ALLOW}
                        hasty.send(
                            {
                                "jsonrpc": "2.0",
                                "id": number,
                                "method": "_dragoman/hub/answer",
                                "params": params,
                            }
                        )
                    hasty.call("nothing/of/the/kind")

        with ThreadPoolExecutor(1) as pool:
            hasty = pool.submit(answer_all)
            try:
                for _ in range(TURNS):
                    answer = owner.prompt(session, placed([*asked, {"do": "$CWD/honest"}], folder))
                    assert "result" in answer
                    if (folder / "done").exists():
                        break
            finally:
                ended.set()
            hasty.result()
    assert (folder / "honest").exists()
    must_not((folder / "done").exists())


def is_new_session(message: dict[str, Any]) -> bool:
    return message.get("id") == "new" and "sessionId" in message.get("result", {})


def test_the_owner_may_call_each_of_these_methods(holders: Holders) -> None:
    """So that none of them is refused above because there is no such method."""
    unknown = {
        "session/inject",
        "_session/steering",
        "providers/set",
        "providers/disable",
    }  # the agent has none
    with Visitor(holders.hub.place, holders.hub.token, person="away") as visitor:
        visitor.introduce(agent="v1")
        for table in (OBSERVE, EITHER, APPROVING, ADMINISTERING, dict(reversed(PROMPTING.items()))):
            for method, params in table.items():
                answer = visitor.call(method, json.loads(holders.victim.fill(json.dumps(params))))
                error = answer.get("error", {})
                code = error.get("code")
                assert code != -32003 or "scope" not in error["data"], answer
                assert code != -32601 or method in unknown, answer
    holders.renew()
