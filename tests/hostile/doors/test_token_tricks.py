"""No token is good for more than it was made for, in whatever form its holder asks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from dragoman.testing.pace import patience
from tests.hostile.doors.dialect_tricks import read
from tests.hostile.doors.stage import hub_of_puppets, make_folder, placed
from tests.hostile.doors.token_tricks import (
    ADMINISTERING,
    APPROVING,
    EITHER,
    LINE_TRICKS,
    METHOD_TRICKS,
    OBSERVE,
    PROMPTING,
    SECRET_WORD,
    LineTrick,
    MethodTrick,
)
from tests.hostile.doors.tricks import must_not, parameters
from tests.hostile.doors.victim import Victim
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess

SCOPES = {
    "watcher": ["--scope", "observe"],
    "approver": ["--scope", "approve"],
    "prompter": ["--scope", "prompt"],
}


class Holders:
    """A hub, the owner's session, and a connection for each holder of a token."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub
        self.corner = make_folder(hub, "corner")
        make_folder(hub, "corner-evil")
        corner = ["--agent", "haven", "--root", str(self.corner)]
        self.tokens = {
            name: json.loads(hub.command("hub", "token", "add", name, *words, "--json"))["token"]
            for name, words in {**SCOPES, "cornered": corner}.items()
        }
        for token in self.tokens.values():
            wait_for_token(hub, token)
        self.victims = 1
        (self.corner / "way-out").symlink_to(hub.work / f"{SECRET_WORD}-1")
        self.victim = Victim(hub, 1)
        self.before = self.victim.view()

    def harm(self, visitor: Visitor, **more: object) -> tuple[list[str], dict[str, object]]:
        """What somebody did to the owner's session, or was told of it."""
        after = self.victim.view()
        changed = {name: after[name] for name in after if after[name] != self.before[name]}
        told = [one for one in visitor.heard if SECRET_WORD in without_echo(json.dumps(one), visitor)]
        if visitor.token != self.tokens["cornered"] and not more.get("results"):
            told = []  # whoever may look may look
        seen: dict[str, object] = {"changed": changed, "told": told, **more}
        if changed:
            self.renew()
        return [name for name in seen if seen[name]], seen

    def work_in_the_corner(self) -> None:
        """What the token is for does work."""
        mark = self.corner / "honest"
        mark.unlink(missing_ok=True)
        with Visitor(self.hub.place, self.tokens["cornered"]) as visitor:
            visitor.introduce(agent="haven")
            visitor.prompt(visitor.open(str(self.corner)), [{"do": str(mark)}])
        assert mark.exists()

    def renew(self) -> None:
        """Another victim in the place of one that was hurt."""
        self.victims += 1
        self.victim.leave()
        self.victim = Victim(self.hub, self.victims)
        self.before = self.victim.view()


def wait_for_token(hub: HubProcess, token: str) -> None:
    """A hub notices a new token within a second."""
    ends = time.monotonic() + patience(10)
    while True:
        try:
            with Visitor(hub.place, token):
                return
        except InvalidStatus:
            assert time.monotonic() < ends
            time.sleep(0.05)


@pytest.fixture(scope="module")
def holders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holders]:
    with hub_of_puppets(tmp_path_factory.mktemp("hub")) as hub:
        holders = Holders(hub)
        yield holders
        holders.victim.settle()


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
    with Visitor(holders.hub.place, holders.tokens[trick.token], person="away") as visitor:
        visitor.introduce(agent="haven" if trick.token == "cornered" else "v1")
        for line in forms(trick.method, params):
            visitor.send_text(line)
        visitor.hear_answers(["request", "escaped"])
    results = [] if trick.is_answered else [one["id"] for one in visitor.heard[1:] if "result" in one]
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
    if trick.token == "cornered":
        holders.work_in_the_corner()


def without_echo(text: str, visitor: Visitor) -> str:
    """Whoever names a folder may hear its name again."""
    said = " ".join(visitor.said)
    for folder in re.findall(rf"/[^\s\"]*{SECRET_WORD}-\d+", text):
        text = text.replace(folder, "") if folder in said else text
    return text


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
