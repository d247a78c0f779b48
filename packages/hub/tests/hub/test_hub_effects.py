"""Effects of agents through a hub: each is decided by the policy, by what was permitted before, or by people.

The table holds every effect that an agent can have through something that is lent, who lends it, and what
becomes of it by each decision. Agents and clients of the stage talk to a real hub; files and commands are
real.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from dragoman import Agent, Turn
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.refusals import reason_of
from tests.hub.sessions.agents import OPTIONS
from tests.hub.sessions.stage import Talker, staged

FILES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
DENY_ALL = 'default = "deny"\n'
ALLOW_ALL = 'default = "allow"\n'
ASK_ALL = '[[rule]]\ndecision = "ask"\nname = "people decide"\n'


class Effect(NamedTuple):
    """One effect: the prompt that causes it, its method at a client, and whether it happened."""

    prompt: str
    method: str
    answer: dict[str, Any]
    """What a client that lends it answers."""
    happened: Callable[[Path, str], bool]
    by_default: str
    """What holds without a policy."""


EFFECTS = {
    "read": Effect(
        "read {folder}/.env", "fs/read_text_file", {"content": "S=1"}, lambda _, said: "S=1" in said, "allow"
    ),
    "write": Effect(
        "write {folder}/new.txt", "fs/write_text_file", {}, lambda at, _: (at / "new.txt").exists(), "ask"
    ),
    "command": Effect(
        "run touch made.txt",
        "terminal/create",
        {"terminalId": "t"},
        lambda at, _: (at / "made.txt").exists(),
        "ask",
    ),
    "policy file": Effect(
        "write {folder}/.dragoman/policy.toml",
        "fs/write_text_file",
        {},
        lambda at, _: (at / ".dragoman/policy.toml").exists(),
        "ask",
    ),
}

DECISIONS: dict[str, tuple[str, str, bool]] = {
    # rules, what a person says if one is asked, whether it is done
    "allow": (ALLOW_ALL, "allow", True),
    "ask, and yes": (ASK_ALL, "allow", True),
    "ask, and no": (ASK_ALL, "reject", False),
    "ask, and nobody": (ASK_ALL, "", False),
    "deny": (DENY_ALL, "allow", False),
}


def user() -> Agent:
    """An agent that uses what it is lent, and says what came of it."""
    agent = Agent("user", additional_directories=True)

    @agent.prompt
    async def use(turn: Turn) -> None:
        for line in turn.text.splitlines():
            word, _, rest = line.partition(" ")
            try:
                await turn.say(await DEEDS[word](turn, rest))
            except CallFailed as error:
                await turn.say(f"{error.code} {(error.data or {}).get('reason', '')} {error.message}")

    return agent


async def _read(turn: Turn, path: str) -> str:
    return await turn.read_text_file(path)


async def _write(turn: Turn, path: str) -> str:
    await turn.write_text_file(path, "text\n")
    return "written"


async def _run(turn: Turn, line: str) -> str:
    async with await turn.create_terminal(*line.split(), cwd=turn.session.cwd) as terminal:
        await terminal.wait()
    return "ran"


async def _announce(turn: Turn, line: str) -> str:
    """Announce a command, and ask for it by the id of the call alone."""
    async with turn.tool("Work", kind="execute", raw_input={"command": line}) as call:
        permission = await turn.ask(v1.ToolCallUpdate(tool_call_id=call.id), OPTIONS)
    return "yes" if permission else "no"


async def _permitted(turn: Turn, line: str) -> str:
    """Ask for a command, and then run it in the lent terminal."""
    async with turn.tool("Work", kind="execute", raw_input={"command": line}) as call:
        await call.ask(OPTIONS)
    return await _run(turn, line)


DEEDS = {"read": _read, "write": _write, "run": _run, "announce": _announce, "permitted": _permitted}


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.dragoman").mkdir(parents=True)
    (tmp_path / "project/.env").write_text("S=1")
    return tmp_path / "project"


class Witness:
    """A client that follows a turn: it answers what it is asked, and lends what it was told to lend."""

    def __init__(self, client: Talker, says: str = "") -> None:
        self.client = client
        self.says = says
        self.questions: list[dict[str, Any]] = []
        self.lent: list[str] = []

    async def follow(self, session: str, prompt: str, **answers: Any) -> str:
        """What the agent says in the end."""
        before = len(self.client.texts())
        number, place = self.client.prompt(session, prompt), len(self.client.heard)
        while True:
            message = await self.client.until(lambda one: "id" in one, after=place)
            place = self.client.heard.index(message, place) + 1
            if message.get("id") == number and "method" not in message:
                return " ".join(self.client.texts()[before:])
            if message.get("method") == "session/request_permission":
                self.questions.append(message["params"])
                if self.says:
                    self.client.allow(message, self.says)
            elif "method" in message:
                self.lent.append(message["method"])
                result = {"content": "S=1", "terminalId": "t", "exitCode": 0}
                self.client.say({"id": message["id"], "result": result})


def logged(audit: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit.read_text().splitlines()]


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("lender", ["hub", "client"])
async def test_an_effect_is_done_or_refused_whoever_lends(
    project: Path, tmp_path: Path, lender: str, name: str, decision: str
) -> None:
    effect, (rules, says, is_done) = EFFECTS[name], DECISIONS[decision]
    policy, audit = tmp_path / "policy.toml", tmp_path / "audit.jsonl"
    policy.write_text(rules)
    options: dict[str, Any] = {"policy": str(policy), "audit": str(audit), "expire": 0.0 if says else 0.05}
    async with staged({"user": user}, **options) as stage:
        client = await stage.client().begin(**(FILES if lender == "client" else {}))
        session = await client.new(str(project))
        witness = Witness(client, says)
        said = await witness.follow(session, effect.prompt.format(folder=project))
    happened = effect.method in witness.lent if lender == "client" else effect.happened(project, said)
    assert happened is is_done
    assert said.startswith("403 policy ") is not is_done
    is_asked = rules == ASK_ALL or (rules == ALLOW_ALL and name == "policy file")
    assert len(witness.questions) == is_asked
    *questions, line = logged(audit)
    assert [question["outcome"] for question in questions] == ["ask"] * is_asked
    assert (line["session"], line["agent"], line["outcome"]) == (
        session,
        "user",
        "allow" if is_done else "deny",
    )
    assert line["by"] == (("person" if says else "deadline") if is_asked else "policy")
    assert line.get("person", "") == ("owner" if line["by"] == "person" else "")


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("command", ["run", "chat"])
async def test_run_and_chat_decide_the_same(
    project: Path, tmp_path: Path, command: str, name: str, decision: str
) -> None:
    rules, says, is_done = DECISIONS[decision]
    policy = tmp_path / "policy.toml"
    policy.write_text(rules)
    asked: list[PermissionPrompt] = []

    class Person:
        async def ask(self, question: PermissionPrompt) -> str | None:
            asked.append(question)
            return says or None

    nobody = command == "run" and not says
    desk = PermissionService(
        lambda: load_policy(roots=[str(project)], file=str(policy)),
        asker=None if nobody else Person().ask,
        roots=[str(project)],
    )
    word, _, rest = EFFECTS[name].prompt.format(folder=project).partition(" ")
    run = (
        PlannedCommand(words=tuple(rest.split()), program="/bin/touch", cwd=str(project))
        if word == "run"
        else None
    )
    kinds: dict[str, Any] = {"read": "read", "write": "write", "run": "run"}
    access = Access(session_id="s", kind=kinds[word], path=rest, command=run)
    if is_done:
        await desk.guard(access)
    else:
        with pytest.raises(ErrorAnswer) as refused:
            await desk.guard(access)
        assert (refused.value.code, reason_of(refused.value)) == (403, "policy")
    is_asked = rules == ASK_ALL or (rules == ALLOW_ALL and name == "policy file")
    assert len(asked) == (is_asked and not nobody)


@pytest.mark.parametrize("name", EFFECTS)
async def test_without_a_policy_the_hub_asks_as_chat_does(project: Path, name: str) -> None:
    effect = EFFECTS[name]
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        witness = Witness(client, "reject")
        said = await witness.follow(await client.new(str(project)), effect.prompt.format(folder=project))
    assert len(witness.questions) == (effect.by_default == "ask")
    assert effect.happened(project, said) is (effect.by_default == "allow")


async def test_a_question_of_the_hub_says_who_wants_what_and_is_in_the_inbox(project: Path) -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client(events=True, cursors=True).begin()
        session = await client.new(str(project))
        prompt = client.prompt(session, f"run rm -rf {project}")
        asked = (await client.asked())["params"]
        call = asked["toolCall"]
        assert call["title"] == f"Run `rm -rf {project}` in the hub's terminal"
        assert call["rawInput"]["command"] == f"rm -rf {project}"
        assert [option["kind"] for option in asked["options"]] == [
            "allow_once",
            "allow_always",
            "reject_once",
        ]
        read(json.dumps(asked).encode(), v1.RequestPermissionRequest)
        (waiting,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        assert waiting["params"]["toolCall"]["title"] == call["title"]
        answer = {"outcome": {"outcome": "selected", "optionId": "reject"}}
        named = {"sessionId": session, "request": waiting["request"], "result": answer}
        assert (await client.call("_dragoman/hub/answer", named))["settled"]
        await client.answer(prompt)
    assert project.exists()


async def test_a_question_about_a_write_shows_what_the_file_holds_now(project: Path) -> None:
    (project / "old.txt").write_text("before\n")
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        prompt = client.prompt(await client.new(str(project)), f"write {project}/old.txt")
        asked = await client.asked()
        (change,) = asked["params"]["toolCall"]["content"]
        assert (change["oldText"], change["newText"]) == ("before\n", "text\n")
        client.allow(asked)
        await client.answer(prompt)


async def test_a_rule_that_asks_and_what_no_rule_names_goes_to_people(project: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    for rules in (ASK_ALL, '[[rule]]\ndecision = "deny"\ncommand = "git push"\n'):
        policy.write_text(rules)
        async with staged({"user": user}, policy=str(policy)) as stage:
            client = await stage.client().begin()
            witness = Witness(client, "allow")
            assert await witness.follow(await client.new(str(project)), "announce make") == "yes"
            assert len(witness.questions) == 1


async def test_a_question_is_judged_by_what_was_announced_of_its_call(project: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('default = "allow"\n[[rule]]\ndecision = "deny"\ncommand = "git push"\n')
    async with staged({"user": user}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        witness = Witness(client, "allow")
        assert await witness.follow(session, "announce git push") == "no"
        assert await witness.follow(session, "announce git status") == "yes"
        assert witness.questions == []


async def test_what_was_just_permitted_is_not_asked_again(project: Path) -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        witness = Witness(client, "allow")
        await witness.follow(session, "permitted touch a.txt")
        assert len(witness.questions) == 1
        await witness.follow(session, "run touch a.txt")  # that was for once
        assert len(witness.questions) == 2


async def test_an_answer_for_good_is_remembered(project: Path) -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        witness = Witness(client, "always")
        await witness.follow(session, "run touch a.txt")
        await witness.follow(session, "run touch a.txt")
        assert len(witness.questions) == 1


async def test_a_cancelled_turn_takes_the_question_of_the_hub_back(project: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    async with staged({"user": user}, audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        prompt = client.prompt(session, "run touch made.txt")
        asked = await client.asked()
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        await client.answer(prompt)
        client.allow(asked)  # too late
        assert (await client.call("_dragoman/hub/inbox"))["requests"] == []
    assert not (project / "made.txt").exists()
    assert [(line["outcome"], line["by"]) for line in logged(audit)] == [
        ("ask", "policy"),
        ("deny", "cancel"),
    ]


async def test_after_a_crash_what_nobody_had_permitted_is_asked_anew_and_done_once(project: Path) -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        client.prompt(session, "run touch made.txt")
        await client.asked()
        await stage.crash()
        await stage.start()
        back = await stage.client(events=True, cursors=True).begin()
        await back.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
        assert not (project / "made.txt").exists()
        back.allow(await back.asked())
        await back.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        assert back.texts()[-1] == "ran"
    assert (project / "made.txt").exists()


async def test_a_question_waits_no_longer_because_the_hub_was_started_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged({"user": user}, expire=1800.0) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        client.prompt(session, "announce make")
        await client.asked()
        await stage.crash()
        an_hour_later = SimpleNamespace(time=lambda: time.time() + 3600)
        monkeypatch.setattr("dragoman_hub.engine.live_session.time", an_hour_later)
        await stage.start()
        back = await stage.client(events=True, cursors=True).begin()
        await back.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
        await back.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        assert back.texts()[-1] == "no"


async def test_after_a_crash_what_may_have_been_done_is_not_done_again(project: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW_ALL)
    async with staged({"user": user}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        begun = asyncio.Event()

        async def halted(*_: object, **__: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        stage.hub.broker._lending.answer = halted  # type: ignore[method-assign]
        client.prompt(session, "run touch made.txt")
        await begun.wait()
        await stage.crash()
        await stage.start()
        back = await stage.client(events=True, cursors=True).begin()
        await back.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
        await back.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        assert "does not know whether it has done this" in back.texts()[-1]
    assert not (project / "made.txt").exists()


async def test_after_a_crash_people_are_asked_anew_about_what_a_client_lends(
    project: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ASK_ALL)
    async with staged({"user": user}, policy=str(policy)) as stage:
        client = await stage.client().begin(**FILES)
        session = await client.new(str(project))
        client.prompt(session, f"write {project}/new.txt")
        await client.asked()
        await stage.crash()
        await stage.start()
        back = await stage.client(events=True, cursors=True).begin()
        await back.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
        back.allow(await back.asked(), "reject")
        await back.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        assert back.texts()[-1].startswith("403 policy ")


async def test_a_policy_that_is_loaded_anew_holds_for_what_is_lent(project: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(DENY_ALL)
    async with staged({"user": user}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        witness = Witness(client)
        assert (await witness.follow(session, "run touch made.txt")).startswith("403 policy ")
        policy.write_text(ALLOW_ALL)
        assert (await witness.follow(session, "run touch made.txt")).startswith("403 policy ")
        assert stage.hub.broker.load_policy(str(policy)) == ""
        assert await witness.follow(session, "run touch made.txt") == "ran"


async def test_an_agent_cannot_use_the_ids_of_the_hub(project: Path) -> None:
    agent = Agent("forger")

    @agent.prompt
    async def forge(turn: Turn) -> None:
        await turn.say("nothing")

    async with staged({"forger": lambda: agent}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await client.answer(client.prompt(session, "go"))
        kept = stage.kept["forger"]
        params = {"sessionId": session, "toolCall": {"toolCallId": "t"}, "options": []}
        request = {"jsonrpc": "2.0", "id": "hub:1", "method": "session/request_permission", "params": params}
        written: asyncio.Queue[bytes] = asyncio.Queue()
        kept.write = lambda block, stream, last: written.put_nowait(block)  # type: ignore[method-assign]
        kept.feed(json.dumps(request).encode() + b"\n")
        answer = json.loads(await written.get())
        assert (answer["id"], answer["error"]["code"]) == ("hub:1", -32600)
        assert (await client.call("_dragoman/hub/inbox"))["requests"] == []
