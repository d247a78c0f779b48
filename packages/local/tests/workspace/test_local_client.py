"""What one connection to an agent has of this machine, through the SDK's own client and agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.local_client import LocalClient
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import LocalDesk, LocalUser
from dragoman_local.workspace.settings import LocalRules, Place


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


class Person:
    """Says this, and remembers what was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.questions: list[PermissionPrompt] = []

    async def ask(self, question: PermissionPrompt) -> str | None:
        self.questions.append(question)
        return self.answer


def make_client(
    folder: Path, person: Person, *, place: Place = "here", wanted: Callable[[str | None], bool] = bool
) -> LocalClient:
    rules = LocalRules()
    local = LocalClient(lambda session_id: desk if wanted(session_id) else None, rules=rules, place=place)
    desk = LocalDesk(
        rules,
        door="test",
        agent="claude",
        roots=[str(folder)],
        user=LocalUser(permissions=person.ask),
        place=local.place,
        find_tool_call=local.calls.find_call,
        requester_of=local.requester_of,
    )
    return local


async def test_an_agent_reads_and_writes_what_its_person_permits(tmp_path: Path) -> None:
    agent = Agent("writer")
    (tmp_path / "a.txt").write_text("old")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.write_text_file(str(tmp_path / "a.txt"), "new")
        await turn.say(await turn.read_text_file(str(tmp_path / "a.txt")))

    person = Person("allow")
    local, client = make_client(tmp_path, person), Client("test")
    local.serve(client)
    async with local.workspace, connect(agent, client=client) as handle:
        with local.lending(cwd=str(tmp_path), info=handle.info) as lent:
            session = await handle.new_session(cwd=str(tmp_path))
            lent(session.id)
        assert (await session.prompt("Go")).text == "new"
    assert [question.act.kind for question in person.questions] == ["edit"], "reads are not asked"
    assert person.questions[0].texts[0].old_text == "old"


async def test_a_session_without_a_desk_is_permitted_nothing(tmp_path: Path) -> None:
    local = make_client(tmp_path, Person("allow"), wanted=lambda session_id: session_id == "known")
    with pytest.raises(ErrorAnswer):
        await local.guard(Access(kind="read", path=str(tmp_path / "a"), session_id="other"))
    call = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input={"command": "make"})
    options = [v1.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
    request = v1.RequestPermissionRequest(session_id="other", tool_call=call, options=options)
    assert isinstance((await local.permission(request)).outcome, v1.CancelledPermissionOutcome)
    form = v1.ElicitationFormMode(
        message="Name?", requested_schema=v1.ElicitationSchema(), session_id="other"
    )
    assert isinstance(await local.elicit(form), v1.ElicitationCancelAction)


async def test_what_an_agent_elsewhere_writes_is_not_compared_with_a_file_of_this_machine(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("a file of this machine")
    person = Person("allow")
    local = make_client(tmp_path, person, place="there")
    await local.guard(Access(kind="write", path=str(tmp_path / "a.txt"), text="new", session_id="s"))
    assert "a file of this machine" not in person.questions[0].text
    assert not person.questions[0].texts[0].old_text


@pytest.mark.parametrize("place", ["there", "nowhere"])
async def test_folders_that_are_elsewhere_are_not_opened_here(place: Place, tmp_path: Path) -> None:
    local = make_client(tmp_path, Person("allow"), place=place)
    local.lend("s", cwd=str(tmp_path / "missing"), info=None)
    with local.lending(cwd=str(tmp_path / "missing"), info=None) as lent:
        lent("t")
    with pytest.raises(ErrorAnswer):
        local.workspace.session("s")


async def test_a_rule_that_is_written_while_a_session_runs_counts_at_once(
    tmp_path: Path, own_places: Path
) -> None:
    person = Person("allow")
    local = make_client(tmp_path, person)
    access = Access(kind="write", path=str(tmp_path / "a.txt"), text="x", session_id="s")
    await local.guard(access)
    policy = own_places / "config/dragoman/policy.toml"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('[[rule]]\ndecision = "deny"\npath = "**/a.txt"\n')
    with pytest.raises(ErrorAnswer):
        await local.guard(access)
    assert len(person.questions) == 1


async def test_a_policy_that_breaks_while_a_session_runs_permits_nothing_and_says_why(
    tmp_path: Path, own_places: Path
) -> None:
    person = Person("allow")
    local = make_client(tmp_path, person)
    policy = own_places / "config/dragoman/policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text("[[rule]\n")
    with pytest.raises(ErrorAnswer):
        await local.guard(Access(kind="read", path=str(tmp_path / "a.txt"), session_id="s"))
    assert person.questions == []
    last = json.loads((own_places / "state/dragoman/audit.jsonl").read_text().splitlines()[-1])
    assert last["outcome"] == "deny"
    assert str(policy) in last["why"]
