"""The hub's policy: its decisions are written down, and it changes when the hub is told to read it again."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.testing.pace import deadline, patience
from dragoman_hub.clients import hub_methods
from dragoman_hub.judge.hub_judge import PERMISSION
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.policy_files import NOT_KEPT, RememberedRules
from dragoman_local.workspace.policy.policy_parser import PolicyError
from tests.hub.sessions.agents import OPTIONS, obedient
from tests.hub.sessions.stage import Stage, Talker, staged

DENY = '[[rule]]\ndecision = "deny"\nname = "nothing is deleted"\nkind = "delete"\n'
ALLOW = '[[rule]]\ndecision = "allow"\nkind = "delete"\n'


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def answered(client: Talker, session: str) -> str:
    """What the agent says to the answer that it gets, if it gets one without a person."""
    before = len(client.texts(session=session))
    await client.answer(client.prompt(session, "ask"))
    return client.texts(session=session)[before:][0]


async def test_every_decision_of_the_policy_is_in_the_audit_log(tmp_path: Path) -> None:
    policy, audit = tmp_path / "policy.toml", tmp_path / "state/audit.jsonl"
    policy.write_text(DENY)
    async with staged({"one": obedient}, policy=str(policy), audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        assert await answered(client, session) == "no"
    (line,) = [json.loads(one) for one in audit.read_text().splitlines()]
    assert (line["session"], line["agent"], line["outcome"], line["by"]) == (session, "one", "deny", "policy")
    assert "nothing is deleted" in line["rule"]


async def test_a_hub_that_can_start_no_thread_ends_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged({"one": obedient}, audit=str(tmp_path / "audit.jsonl")) as stage:
        judge = stage.hub.broker.judge

        async def no_thread(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "to_thread", no_thread)
            await judge.aclose()
    assert "some decisions may have no line" in caplog.text


async def test_nothing_is_permitted_that_cannot_be_written_down(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW)
    (tmp_path / "file").touch()
    async with staged({"one": obedient}, policy=str(policy), audit=str(tmp_path / "file/audit")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        assert await answered(client, session) == "no"
        stage.hub.broker.load_policy("")
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())  # a person permits it, and nobody could know that later
        await client.answer(asked)
        assert client.texts()[-1] == "no"


async def test_a_policy_is_loaded_when_the_hub_is_told_to_and_a_broken_one_changes_nothing(
    tmp_path: Path,
) -> None:
    policy, other = tmp_path / "policy.toml", tmp_path / "other.toml"
    policy.write_text(DENY)
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        policy.write_text("nonsense = 1\n")
        assert await answered(client, session) == "no"
        why = stage.hub.broker.load_policy(str(policy))
        assert why.startswith(f"the policy stays as it was: {policy}:1: ")
        assert "\n" not in why
        assert await answered(client, session) == "no"
        other.write_text(ALLOW)
        assert stage.hub.broker.load_policy(str(other)) == ""
        assert await answered(client, session) == "yes"
        assert stage.hub.broker.load_policy("") == ""
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())
        assert (await client.answer(asked))["result"]["stopReason"] == "end_turn"


async def test_a_hub_does_not_start_with_a_policy_that_cannot_be_used(tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": str(tmp_path / "none.toml")}
    with pytest.raises(PolicyError, match="there is no such file"):
        async with staged({"one": obedient}, **options):
            pass


async def test_a_project_whose_policy_is_broken_leaves_the_question_to_people(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW)
    (tmp_path / "project/.dragoman").mkdir(parents=True)
    (tmp_path / "project/.dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "project"))
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())
        assert (await client.answer(asked))["result"]["stopReason"] == "end_turn"


async def test_writes_to_a_pipe_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    """To show what a file holds before a write, it is opened; to open a pipe would take a thread for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other.txt").write_text("there")
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client().begin()
        session = ""
        for _ in range((os.cpu_count() or 1) + 5):  # as many as asyncio has threads
            session = await client.new(str(tmp_path))
            client.prompt(session, f"write {tmp_path}/pipe words")
            await client.asked(after=len(client.heard))
        assert (await client.call("_dragoman/hub/files", {"sessionId": session}))["files"] == [
            "pipe",
            "other.txt",
        ]


async def test_a_folder_on_a_disk_that_hangs_holds_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    (near / "notes.txt").write_text("there")
    is_back = threading.Event()
    find = hub_methods.find_files

    def find_or_hang(folder: str, *rest: Any) -> list[str]:
        if folder == str(far):
            is_back.wait()
        return find(folder, *rest)

    monkeypatch.setattr(hub_methods, "find_files", find_or_hang)
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client().begin()
        sessions = [await client.new(str(folder)) for folder in (far, far, near)]
        try:
            for n in range(40):
                client.ask("_dragoman/hub/files", {"sessionId": sessions[n % 2]})
            async with deadline(10):
                files = (await client.call("_dragoman/hub/files", {"sessionId": sessions[2]}))["files"]
            assert files == ["notes.txt"]
        finally:
            is_back.set()


async def test_a_project_whose_policy_is_broken_keeps_what_the_hub_denies(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(DENY)
    (tmp_path / "project/.dragoman").mkdir(parents=True)
    (tmp_path / "project/.dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "project"))
        assert await answered(client, session) == "no"


async def test_a_project_whose_policy_is_broken_asks_about_files_of_clients_too(tmp_path: Path) -> None:
    """What no rule names is left to a client, but nobody knows what the rules of a broken file name."""
    (tmp_path / ".dragoman").mkdir()
    (tmp_path / ".dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, files="client") as stage:
        client = await stage.client().begin(fs={"readTextFile": True, "writeTextFile": True})
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, f"write {tmp_path}/notes.txt words")
        client.allow(await client.asked(), "reject")
        await client.answer(prompt)
        assert not [message for message in client.heard if message.get("method") == "fs/write_text_file"]


async def test_a_question_of_the_hub_names_the_files_that_it_is_about(tmp_path: Path) -> None:
    """Editors open what `locations` names, so that a person sees what the question is about."""
    file = tmp_path / "notes.txt"
    file.write_text("old")
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        client.prompt(session, f"write {file} words")
        call = (await client.asked())["params"]["toolCall"]
        assert call["locations"] == [{"path": str(file)}]
        assert call["content"] == [{"type": "diff", "path": str(file), "oldText": "old", "newText": "words"}]


ALWAYS = [*OPTIONS, v1.PermissionOption(option_id="always", name="Always", kind="allow_always")]


def announcing() -> Agent:
    """Each prompt is what it announces of a call, and what it then asks about it."""
    agent = Agent("announcing")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        said = json.loads(turn.text)
        for update in said["announced"]:
            await turn.update(read(json.dumps({"toolCallId": "c", **update}).encode(), v1.ToolCall))
        call = read(json.dumps({"toolCallId": "c", **said["asked"]}).encode(), v1.ToolCallUpdate)
        await turn.ask(call, ALWAYS)

    return agent


async def test_a_question_is_withdrawn_when_its_call_becomes_another(tmp_path: Path) -> None:
    steps: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def changing() -> Agent:
        agent = Agent("changing")

        @agent.prompt
        async def ask(turn: Turn) -> None:
            call = v1.ToolCallUpdate(tool_call_id="c", kind="execute", raw_input={"command": "touch good"})
            question = asyncio.ensure_future(turn.ask(call, ALWAYS))
            while not question.done():
                step = asyncio.ensure_future(steps.get())
                await asyncio.wait([question, step], return_when="FIRST_COMPLETED")
                if step.done():
                    fields = {"toolCallId": "c", **step.result()}
                    await turn.update(read(json.dumps(fields).encode(), v1.ToolCallProgress))
                step.cancel()
            await turn.say(f"answered {(await question)!r}")

        return agent

    async with staged({"one": changing}, audit=str(tmp_path / "audit")) as stage:
        client = await stage.client(events=True).begin()
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, "go")
        await client.asked()
        steps.put_nowait({"status": "pending", "title": "Wait", "rawInput": {"command": "touch good"}})
        await client.until(lambda one: '"Wait"' in json.dumps(one))
        (entry,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        assert entry["act"]["command"] == "touch good"
        steps.put_nowait({"rawInput": {"command": "touch evil"}})
        await client.answer(prompt)
        assert (await client.call("_dragoman/hub/inbox"))["requests"] == []
        assert "reject" in client.texts(session=session)[-1]
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [(line["outcome"], line["by"]) for line in lines] == [("ask", "policy"), ("deny", "cancel")]


async def test_a_question_that_nobody_answers_ends_an_earlier_yes_for_the_same(tmp_path: Path) -> None:
    """The agent hears a no, and a no to an act ends what was permitted for it."""
    path = tmp_path / "new.txt"

    def asking_twice() -> Agent:
        agent = Agent("asking-twice")

        @agent.prompt
        async def ask(turn: Turn) -> None:
            diffs = [v1.Diff(path=str(path), new_text="x")]
            for number in (1, 2):
                call = v1.ToolCallUpdate(tool_call_id=f"c{number}", kind="edit", content=list(diffs))
                await turn.say(f"{number}: {await turn.ask(call, ALWAYS)!r}")
            await turn.write_text_file(str(path), "x")

        return agent

    async with staged({"one": asking_twice}, files="hub") as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, "go")
        first = await client.asked()
        stage.hub.options = replace(stage.hub.options, expire=0.05)
        client.allow(first)
        await client.until(lambda one: "2: " in json.dumps(one))
        stage.hub.options = replace(stage.hub.options, expire=0.0)
        asked = await client.until(lambda one: "id" in one and '"hub-' in json.dumps(one))
        assert asked["params"]["toolCall"]["rawInput"] == {"path": str(path)}
        assert not path.exists()
        client.allow(asked, "allow")
        await client.answer(prompt)
        assert path.read_text() == "x"


async def question_about(stage: Stage, folder: Path, *announced: Any, **asked: Any) -> dict[str, Any]:
    """What the inbox and a plain client are shown of a call: the entry, and the request as `plain`."""
    watcher = await stage.client(cursors=True, events=True).begin()
    await watcher.call("_dragoman/hub/watch", {"on": True})
    session = await watcher.new(str(folder))
    watcher.prompt(session, json.dumps({"announced": announced, "asked": asked}))
    ours = (await watcher.asked())["params"]["_meta"]["dragoman"]
    told = await watcher.until(lambda one: one.get("method") == "_dragoman/hub/asked")
    plain = await stage.client().begin()
    await plain.call("_dragoman/hub/attach", {"sessionId": session})
    request = await plain.asked()
    (event,) = watcher.events("asked")
    (entry,) = (await watcher.call("_dragoman/hub/inbox"))["requests"]
    assert entry["act"] == told["params"]["request"]["act"] == ours["act"] == event["act"]
    assert entry["params"]["toolCall"] == request["params"]["toolCall"] == event["params"]["toolCall"]
    assert "_meta" not in request["params"]
    plain.allow(request)
    return dict(entry)


async def test_people_are_shown_what_was_announced_and_judged(tmp_path: Path) -> None:
    announced = {
        "title": "Fix it",
        "kind": "edit",
        "locations": [{"path": f"{tmp_path}/a"}],
        "content": [{"type": "diff", "path": f"{tmp_path}/a", "oldText": "x", "newText": "y"}],
        "rawInput": {"command": "git push", "cwd": "/etc", "env": {"A": "b"}, "where": "b.txt"},
    }
    async with staged({"one": announcing}) as stage:
        entry = await question_about(stage, tmp_path, announced, title="All is well")
    act, call = entry["act"], entry["params"]["toolCall"]
    assert (act["agent"], act["title"]) == ("one", "All is well")
    assert act["deed"] == "change a file and run a command"
    assert (act["command"], act["folder"], act["isFolderOutside"]) == ("git push", "/etc", True)
    assert (act["variables"], act["input"]) == (["A=b"], [{"name": "where", "text": "b.txt"}])
    assert "unknownTexts" not in act  # a text under a name is shown with it, once
    assert act["places"] == [{"path": f"{tmp_path}/a"}]
    assert act["changes"] == [{"path": f"{tmp_path}/a", "old": "x", "new": "y"}]
    assert "its input says more than the command: b.txt" in act["doubts"]
    assert act["why"]
    assert act["always"] == NOT_KEPT
    # Any editor shows the whole act, though it knows nothing of the hub.
    assert {name: call[name] for name in ("kind", "locations", "content", "rawInput")} == {
        name: announced[name] for name in ("kind", "locations", "content", "rawInput")
    }
    assert call["title"] == "All is well"


async def test_a_request_that_says_all_itself_goes_on_as_it_is(tmp_path: Path) -> None:
    async with staged({"one": announcing}) as stage:
        raw = {"command": "make test", "_own": {"x": [1]}}
        entry = await question_about(stage, tmp_path, kind="execute", title="Test", rawInput=raw)
    assert entry["params"]["toolCall"]["rawInput"] == raw
    assert entry["act"]["always"] == f"Always covers `make test` in {tmp_path}, for one."
    assert entry["act"]["input"] == [{"name": "_own", "text": '{\n  "x": [\n    1\n  ]\n}'}]


async def test_a_question_of_the_hub_is_shown_by_what_was_judged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client(cursors=True).begin()
        session = await client.new(str(tmp_path))
        client.prompt(session, f"write {tmp_path}/a.txt after")
        act = (await client.asked())["params"]["_meta"]["dragoman"]["act"]
        assert act["changes"] == [{"path": f"{tmp_path}/a.txt", "old": "before", "new": "after"}]
        assert act["always"] == f"Always covers changes of a.txt, in {tmp_path}, for one."
        (entry,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        assert entry["act"] == act


async def test_always_is_kept_for_what_it_said_and_nothing_more(tmp_path: Path) -> None:
    async with staged({"one": announcing}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))

        async def is_asked(**raw: Any) -> bool:
            words = json.dumps({"announced": [], "asked": {"kind": "execute", "rawInput": raw}})
            before, prompt = len(client.heard), client.prompt(session, words)
            done = await client.until(
                lambda one: one.get("id") == prompt or one.get("method") == PERMISSION, after=before
            )
            if "method" in done:
                client.allow(done, "always" if raw == {"command": "make a"} else "allow")
                await client.answer(prompt)
            return "method" in done

        assert await is_asked(command="make a")
        assert not await is_asked(command="make a")
        for other in (
            {"command": "make a b"},
            {"command": "make a && make b"},
            {"command": "make a", "cwd": f"{tmp_path}/sub"},
            {"command": "make a", "env": {"X": "1"}},
        ):
            assert await is_asked(**other), other
    rules = (tmp_path / "config/dragoman/remembered.toml").read_text()
    assert rules.count("[[rule]]") == 1


async def test_where_an_agent_has_no_always_the_hub_offers_one_and_the_agent_hears_a_yes(
    tmp_path: Path,
) -> None:
    def modest() -> Agent:
        agent = Agent("modest")

        @agent.prompt
        async def ask(turn: Turn) -> None:
            call = v1.ToolCallUpdate(tool_call_id="c", kind="execute", raw_input={"command": "make a"})
            await turn.say(str(await turn.ask(call, OPTIONS)))

        return agent

    async with staged({"one": modest}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        first = client.prompt(session, "go")
        question = await client.asked()
        assert [each["kind"] for each in question["params"]["options"]] == [
            *(option.kind for option in OPTIONS),
            "allow_always",
        ]
        (entry,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        assert entry["params"]["options"] == question["params"]["options"]
        assert entry["act"]["always"] == f"Always covers `make a` in {tmp_path}, for one."
        client.allow(question, question["params"]["options"][-1]["optionId"])
        await client.answer(first)
        await client.answer(client.prompt(session, "again"))
        assert len(set(client.texts())) == 1
        assert "allow" in client.texts()[0]
    assert (tmp_path / "config/dragoman/remembered.toml").read_text().count("[[rule]]") == 1


class SlowRules:
    """Keeps a rule when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_asked, self.is_open = threading.Event(), threading.Event()
        remember = RememberedRules.remember

        def remember_late(rules: RememberedRules, act: Act, *args: Any, **more: Any) -> str | None:
            self.is_asked.set()
            self.is_open.wait(patience(5))
            return remember(rules, act, *args, **more)

        monkeypatch.setattr(RememberedRules, "remember", remember_late)

    async def wait_until_asked(self) -> None:
        assert await asyncio.to_thread(self.is_asked.wait, patience(5))


MAKE = json.dumps({"announced": [], "asked": {"kind": "execute", "rawInput": {"command": "make"}}})


@pytest.mark.parametrize(
    ("agent", "words"), [(announcing, MAKE), (obedient, "write $CWD/a.txt after")], ids=["asked", "lent"]
)
async def test_a_rule_is_kept_before_anybody_hears_that_it_was_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Callable[[], Agent], words: str
) -> None:
    rules, file = SlowRules(monkeypatch), tmp_path / "config/dragoman/remembered.toml"
    async with staged({"one": agent}, files="hub") as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, words.replace("$CWD", str(tmp_path)))
        client.allow(await client.asked(), "always")
        await rules.wait_until_asked()
        (entry,) = (await client.call("_dragoman/hub/inbox"))["requests"]
        assert entry["sessionId"] == session  # a kill now leaves the question open
        assert client.texts() == []
        rules.is_open.set()
        await client.answer(prompt)
    assert file.read_text().count("[[rule]]") == 1


async def test_no_rule_stays_of_an_answer_that_came_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, file = SlowRules(monkeypatch), tmp_path / "config/dragoman/remembered.toml"
    async with staged({"one": announcing}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, MAKE)
        client.allow(await client.asked(), "always")
        await rules.wait_until_asked()
        client.say({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        await client.answer(prompt)
        rules.is_open.set()
    assert "[[rule]]" not in file.read_text()
