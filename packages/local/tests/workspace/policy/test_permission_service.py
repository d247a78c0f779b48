import asyncio
import json
import threading
from collections.abc import AsyncIterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Agent, Client, Turn
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.testing import talking_to
from dragoman.testing.pace import patience
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, audit_entry
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService, ReportedAuditLog
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import NOT_KEPT, RememberedRules
from dragoman_local.workspace.refusals import reason_of
from tests.workspace.policy.makers import OFFERED, ROOT, option, policy

CODE_VARIABLE_SAMPLES = """
    LD_PRELOAD LD_LIBRARY_PATH NODE_OPTIONS PYTHONPATH PYTHONSTARTUP GIT_SSH_COMMAND GIT_CONFIG_COUNT
    GIT_CONFIG_GLOBAL GIT_EXEC_PATH PERL5OPT RUBYOPT BASH_ENV ENV PATH EDITOR PAGER MAKEFLAGS
    JAVA_TOOL_OPTIONS
    CARGO_BUILD_RUSTC_WRAPPER GOFLAGS npm_config_script_shell PIP_INDEX_URL
""".split()  # noqa: SIM905 - a list of thirty short names reads better as words

RULES = """
[[rule]]
decision = "allow"
command = "git status"
[[rule]]
decision = "deny"
command = "git push"
"""


class Person:
    """Chooses what it was told to choose, and keeps what it was asked."""

    def __init__(self, *choices: str | None) -> None:
        self.choices = list(choices)
        self.asked: list[PermissionPrompt] = []

    async def ask(self, asked: PermissionPrompt) -> str | None:
        self.asked.append(asked)
        return self.choices.pop(0)


class Desk:
    """A desk with a real log and a real file of answers."""

    def __init__(self, folder: Path, rules: str = RULES, *, asker: Any = None, **more: Any) -> None:
        self.log = folder / "audit.jsonl"
        self.kept = RememberedRules(str(folder / "remembered.toml"))
        written = policy(rules, approve=more.pop("approve", None))
        self.desk = PermissionService(
            lambda: replace(written, remembered_rules=self.kept.rules()),
            asker=None if asker is None else asker.ask,
            audit=AuditLog(str(self.log)),
            remembered_rules=self.kept,
            agent="claude",
            roots=[ROOT],
            **more,
        )

    async def chosen(self, options: Any = OFFERED, **call: Any) -> str | None:
        tool_call = v1.ToolCallUpdate(tool_call_id="t", **call)
        request = v1.RequestPermissionRequest(session_id="s", tool_call=tool_call, options=list(options))
        outcome = (await self.desk.permission(request)).outcome
        return outcome.option_id if isinstance(outcome, v1.SelectedPermissionOutcome) else None

    async def run(self, line: str, options: Any = OFFERED) -> str | None:
        return await self.chosen(options, kind="execute", title=line, raw_input={"command": line})

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


class Nobody:
    async def ask(self, prompt: PermissionPrompt) -> str | None:
        return None


async def test_rules_choose_the_option_and_the_log_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert await desk.run("git status") == "once"
    assert await desk.run("git push") == "no"
    assert [(e["command"], e["outcome"], e["by"], e["option"]) for e in desk.logged()] == [
        ("git status", "allow", "policy", "once"),
        ("git push", "deny", "policy", "no"),
    ]


@pytest.mark.parametrize("line", ["", "  ", "''", ";"])
async def test_a_command_without_a_program_is_asked_like_any_that_cannot_be_read(
    line: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, asker=Person("no"))
    assert await desk.run(line) == "no"
    assert [entry["by"] for entry in desk.logged()] == ["person"]


async def test_a_person_is_asked_what_no_rule_decides_and_sees_all_of_it(tmp_path: Path) -> None:
    person = Person("once", "no", None, "always")
    desk = Desk(tmp_path, asker=person)
    line = "make " + "x" * 5000
    assert await desk.run(line) == "once"
    assert await desk.run("make 2") == "no"
    assert await desk.run("make 3") is None
    assert await desk.run("make 4") == "always"
    assert line in person.asked[0].text
    assert [entry["outcome"] for entry in desk.logged()] == ["allow", "deny", "deny", "allow"]
    assert {entry["by"] for entry in desk.logged()} == {"person"}


async def test_nobody_is_asked_where_nobody_is(tmp_path: Path) -> None:
    assert await Desk(tmp_path).run("make") == "no"
    assert await Desk(tmp_path, asker=Nobody()).run("make") is None


@pytest.mark.parametrize(
    "options",
    [
        [],
        [option("a", "allow", "Allow")],
        [option("a", "_allow_once", "Allow")],
        [option("a", "allow_always")],
        [option("a", "allow_once"), option("a", "allow_once")],
    ],
)
async def test_nothing_is_chosen_where_nothing_says_allow_once(options: Any, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert await desk.run("git status", options) is None
    assert desk.logged()[0]["outcome"] == "deny"


async def test_a_person_is_never_offered_what_cannot_be_chosen(tmp_path: Path) -> None:
    person = Person("x")
    desk = Desk(tmp_path, asker=person)
    offered = [option("x", "weird", "Allow"), option("y", "allow_once")]
    assert await desk.run("make", offered) is None
    assert "x" not in [each.option_id for each in person.asked[0].options]
    assert desk.logged()[0]["outcome"] == "deny"


async def test_an_answer_for_good_is_kept_and_not_asked_again(tmp_path: Path) -> None:
    person = Person("always", "never")
    desk = Desk(tmp_path, asker=person)
    assert await desk.run("make test") == "always"
    assert await desk.run("make test") == "once"
    assert await desk.run("make clean") == "never"
    assert await desk.run("make clean") == "no"
    assert len(person.asked) == 2
    assert [rule.decision for rule in desk.kept.rules()] == ["allow", "deny"]


async def test_where_an_agent_has_no_always_we_have_one(tmp_path: Path) -> None:
    offered = [option("dragoman:always", "reject_once"), option("yes", "allow_once")]
    person = Person("dragoman:always+", "yes")
    desk = Desk(tmp_path, asker=person)
    assert await desk.run("make test", offered) == "yes"
    assert await desk.run("make test", offered) == "yes"
    assert len(person.asked) == 1
    assert await desk.run("make $(x)", offered) == "yes"
    assert [each.option_id for each in person.asked[1].options] == ["dragoman:always", "yes"]


async def test_a_person_reads_what_always_covers_before_choosing_it(tmp_path: Path) -> None:
    person = Person("once", "once", "always", "always")
    desk = Desk(tmp_path, asker=person, home="/home/somebody")
    await desk.run("make test")
    await desk.run("make $(x)")
    assert person.asked[0].text.endswith("\nAlways covers `make test` in ~/project, for claude.")
    assert person.asked[1].text.endswith(f"\n{NOT_KEPT}")
    # Where the policy wants a person each time, a rule would answer nothing.
    for _ in range(2):
        await desk.chosen(kind="edit", raw_input={"path": ".git/hooks/pre-commit", "content": "x"})
    assert person.asked[2].text.endswith(f"\n{NOT_KEPT}")
    assert desk.kept.rules() == ()


class SlowPolicy(Policy, frozen=True, kw_only=True):
    """A policy whose first decision takes as long as the test wants."""

    begun: threading.Event
    hold: threading.Event

    def decide(self, act: Act) -> PolicyDecision:
        self.begun.set()
        assert self.hold.wait(patience(30)) or "slow" not in act.title
        return super().decide(act)


async def test_rules_are_evaluated_beside_the_loop_and_questions_stay_in_order(tmp_path: Path) -> None:
    person, begun, hold = Person(*["once"] * 3), threading.Event(), threading.Event()
    desk = Desk(tmp_path, asker=person)
    desk.desk._policy = lambda: SlowPolicy(begun=begun, hold=hold)
    lines = ["make slow", "make 2", "make 3"]
    asking = [asyncio.create_task(desk.run(line)) for line in lines]
    assert await asyncio.to_thread(begun.wait, patience(30))  # the loop goes on while a rule is evaluated
    assert person.asked == []
    hold.set()
    await asyncio.gather(*asking)
    assert [each.act.title for each in person.asked] == lines


async def test_nothing_is_permitted_that_cannot_be_written_down(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.log.mkdir()
    assert await desk.run("git status") == "no"
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(Access(session_id="s", kind="read", path=f"{ROOT}/x"))
    assert len(desk.desk.denials) == 2


async def test_a_log_that_cannot_be_written_is_reported_once_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    entries: list[AuditEntry] = []
    failures: list[str] = []
    log = ReportedAuditLog(on_entry=entries.append, on_failure=failures.append)
    decision = PolicyDecision(outcome="deny", rule="policy.toml:1", why="no")
    line = audit_entry(Act(method="terminal"), decision, time=datetime.now(UTC))
    log.append(line)
    file = Path(log.path)
    for _ in range(2):
        file.replace(tmp_path / "aside")
        file.mkdir()
        for _ in range(2):
            with pytest.raises(OSError, match="audit"):
                log.append(line)
        file.rmdir()
        log.append(line)
    await asyncio.sleep(0)
    assert entries == [line] * 3
    assert [f"{log.path} cannot be written" in why for why in failures] == [True] * 2


async def test_a_question_that_is_taken_back_is_written_down(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.begun = asyncio.Event()

        async def ask(self, asked: PermissionPrompt) -> str | None:
            self.begun.set()
            await asyncio.Event().wait()
            return None

    slow = Slow()
    desk = Desk(tmp_path, asker=slow)
    question = asyncio.create_task(desk.run("make"))
    await slow.begun.wait()
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert [(e["outcome"], e["by"]) for e in desk.logged()] == [("deny", "cancel")]


# What is lent.


def run_access(line: str, *, cwd: str = ROOT) -> Access:
    words = tuple(line.split())
    return Access(
        session_id="s",
        kind="run",
        path=f"/bin/{words[0]}",
        command=PlannedCommand(words=words, program=f"/bin/{words[0]}", cwd=cwd),
    )


async def test_the_guard_lets_pass_what_is_allowed_and_refuses_the_rest(tmp_path: Path) -> None:
    guard = Desk(tmp_path).desk.guard
    await guard(Access(session_id="s", kind="read", path=f"{ROOT}/x"))
    await guard(Access(session_id="s", kind="search", path="**/*.py"))
    await guard(run_access("git status"))
    for access in (
        Access(session_id="s", kind="write", path=f"{ROOT}/x", text="y"),
        run_access("git push"),
        run_access("make"),
        run_access("git status", cwd="/elsewhere"),
    ):
        with pytest.raises(ErrorAnswer) as caught:
            await guard(access)
        assert (caught.value.code, reason_of(caught.value)) == (403, "policy")


async def test_in_deny_mode_neither_permission_nor_file_is_given(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "", approve="none")
    assert await desk.chosen(kind="read") == "no"
    for kind in ("read", "write", "stat", "search"):
        with pytest.raises(ErrorAnswer):
            await desk.desk.guard(Access(session_id="s", kind=kind, path=f"{ROOT}/x"))


async def test_a_person_sees_what_would_be_written(tmp_path: Path) -> None:
    person = Person("allow", "reject")
    desk = Desk(tmp_path, asker=person)
    write = Access(session_id="s", kind="write", path=f"{ROOT}/x", text="one\ntwo")
    await desk.desk.guard(write)
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(write)
    assert "one\n  two" in person.asked[0].text
    assert person.asked[0].texts == (v1.Diff(path=f"{ROOT}/x", new_text="one\ntwo"),)


async def test_what_was_granted_is_not_asked_a_second_time_but_only_once(tmp_path: Path) -> None:
    person = Person("once", "reject", "once", "reject")
    desk = Desk(tmp_path, asker=person)
    diff = v1.Diff(path=f"{ROOT}/x", new_text="y")
    write = Access(session_id="s", kind="write", path=f"{ROOT}/x", text="y")
    assert await desk.chosen(kind="edit", content=[diff]) == "once"
    await desk.desk.guard(write)
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(write)
    assert await desk.run("make test") == "once"
    await desk.desk.guard(run_access("make test"))
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(run_access("make test"))
    assert len(person.asked) == 4


@pytest.mark.parametrize(
    "other",
    [
        {"cwd": f"{ROOT}/src"},
        {"assignments": ("NODE_OPTIONS=--require ./x.js",), "env_names": ("NODE_OPTIONS",)},
        {"assignments": ("PATH=.",), "env_names": ("PATH",)},
    ],
)
async def test_a_grant_is_for_its_folder_and_its_variables(tmp_path: Path, other: dict[str, Any]) -> None:
    person = Person("once", "reject")
    desk = Desk(tmp_path, asker=person)
    assert await desk.run("make test") == "once"
    access = run_access("make test")
    assert access.command is not None
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(replace(access, command=replace(access.command, **other)))
    await desk.desk.guard(access)
    assert len(person.asked) == 2


async def test_a_person_sees_the_variables_that_an_agent_sets(tmp_path: Path) -> None:
    person = Person("allow")
    desk = Desk(tmp_path, '[[rule]]\ndecision = "allow"\ncommand = "**"\n', asker=person)
    access = run_access("npm test")
    assert access.command is not None
    command = replace(access.command, assignments=("NODE_OPTIONS=--require ./x.js", "CI=1"))
    await desk.desk.guard(replace(access, command=command))
    assert "NODE_OPTIONS=--require ./x.js" in person.asked[0].text
    assert "Take care: the agent sets the variable NODE_OPTIONS for it" in person.asked[0].text


@pytest.mark.parametrize("name", CODE_VARIABLE_SAMPLES)
async def test_a_variable_that_runs_code_is_asked_about_whatever_rule_allows_the_command(
    tmp_path: Path, name: str
) -> None:
    person = Person("reject")
    desk = Desk(tmp_path, '[[rule]]\ndecision = "allow"\ncommand = "**"\n', asker=person)
    access = run_access("npm test")
    assert access.command is not None
    command = replace(access.command, assignments=(f"{name}=x",), env_names=(name,))
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(replace(access, command=command))
    assert f"{name}=x" in person.asked[0].text


async def test_a_grant_is_no_way_around_a_rule_that_denies(tmp_path: Path) -> None:
    rules = '[[rule]]\ndecision = "deny"\nmethod = "fs/write"\n'
    desk = Desk(tmp_path, rules, asker=Person("once"))
    assert await desk.chosen(kind="edit", content=[v1.Diff(path=f"{ROOT}/x", new_text="y")]) == "once"
    with pytest.raises(ErrorAnswer):
        await desk.desk.guard(Access(session_id="s", kind="write", path=f"{ROOT}/x", text="y"))


async def test_what_was_said_before_about_a_call_is_used_and_shown(tmp_path: Path) -> None:
    before = v1.ToolCallUpdate(tool_call_id="t", kind="execute", raw_input={"command": "make all"})
    person = Person("once")
    desk = Desk(
        tmp_path, asker=person, find_tool_call=lambda _, call: before if call.tool_call_id == "t" else None
    )
    assert await desk.chosen(title="Terminal") == "once"
    assert "make all" in person.asked[0].text


async def test_sessions_may_live_in_places_of_their_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "", approve="reads")
    desk.desk.open("s", roots=["/elsewhere"])
    assert await desk.chosen(kind="read", locations=[v1.ToolCallLocation(path="/elsewhere/x")]) == "once"
    assert await desk.chosen(kind="read", locations=[v1.ToolCallLocation(path=f"{ROOT}/x")]) == "no"


async def test_links_are_followed_to_where_they_lead(tmp_path: Path) -> None:
    real, secret = tmp_path / "real", tmp_path / "secret"
    real.mkdir()
    secret.write_text("x")
    (tmp_path / "link").symlink_to(real)
    (real / "out").symlink_to(secret)
    desk = Desk(tmp_path, "", approve="reads")
    desk.desk.open("s", roots=[str(tmp_path / "link")])
    await desk.desk.guard(Access(session_id="s", kind="read", path=str(real / "a")))
    for name, expected in (("a", "once"), ("out", "no")):
        location = v1.ToolCallLocation(path=str(tmp_path / "link" / name))
        assert await desk.chosen(kind="read", locations=[location]) == expected


# With a real agent.


async def test_a_real_agent_gets_the_answers_of_the_desk(tmp_path: Path) -> None:
    agent, client, desk = Agent("asker"), Client("me"), Desk(tmp_path)
    client.request_permission(desk.desk.permission)
    got: list[Any] = []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        for line in ("git status", "git push"):
            async with turn.tool(line, kind="execute", raw_input={"command": line}) as call:
                got.append((await call.ask(OFFERED)).option)

    async with talking_to(agent, client=client) as handle:
        session = await handle.new_session(cwd="/tmp")
        async for _ in session.prompt("go"):
            pass
    assert [option.option_id for option in got] == ["once", "no"]


async def test_cancelling_a_turn_takes_back_its_question_and_chooses_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    class Waiting:
        async def ask(self, asked: PermissionPrompt) -> str | None:
            begun.set()
            await asyncio.Event().wait()
            return "once"

    agent, client, desk = Agent("asker"), Client("me"), Desk(tmp_path, asker=Waiting())
    client.request_permission(desk.desk.permission)
    got: list[Any] = []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        got.append(await turn.tool("make", kind="execute", raw_input={"command": "make"}).ask(OFFERED))

    async with talking_to(agent, client=client) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = asyncio.create_task(_whole(session.prompt("go")))
        await begun.wait()
        await session.cancel()
        await turn
    assert not any(got)
    assert [(entry["outcome"], entry["by"]) for entry in desk.logged()] == [("deny", "cancel")]


async def _whole(updates: AsyncIterable[Any]) -> None:
    async for _ in updates:
        pass


@pytest.mark.parametrize(
    ("given", "is_asked"), [("once", False), ("always", False), ("no", True), (None, True), ("none", True)]
)
async def test_what_a_person_permitted_elsewhere_is_not_asked_again(
    given: str | None, is_asked: bool, tmp_path: Path
) -> None:
    person = Person("reject")
    desk = Desk(tmp_path, asker=person)
    diff = v1.Diff(path=f"{ROOT}/a", new_text="y")
    call = v1.ToolCallUpdate(tool_call_id="t", kind="edit", content=[diff])
    request = v1.RequestPermissionRequest(session_id="s", tool_call=call, options=list(OFFERED))
    await asyncio.to_thread(desk.desk.note_grant, request, given)
    with suppress(ErrorAnswer):
        await desk.desk.guard(Access(session_id="s", kind="write", path=f"{ROOT}/a", text="y"))
    assert bool(person.asked) is is_asked


async def test_a_person_says_which_option_is_meant_where_none_says_yes_once(tmp_path: Path) -> None:
    person = Person("always")
    desk = Desk(tmp_path, asker=person)
    assert await desk.run("git status", [option("always", "allow_always")]) == "always"
    assert [entry["by"] for entry in desk.logged()] == ["person"]
