"""Whole examinations of real processes: what each fault is called, and that nothing of them is left."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.testing import ScriptedAgent
from dragoman.testing.pace import patience
from dragoman.transport.contract import Grace
from dragoman.transport.owned_tree import owned_trees
from dragoman_local.known import AgentSource, KnownAgent, find_agent
from dragoman_local.known.doctor import CheckResult, Diagnosis, DiagnosisOutcome, DiagnosisStep, diagnose
from tests.forks import forked
from tests.transport.programs import python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts and modes of POSIX")


AT_ONCE = Grace(after_eof=0.3, after_terminate=0.3)
"""For agents that will not end by themselves."""


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    yield
    assert owned_trees() == []
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    assert len(after) <= len(before)


def an_agent(
    command: list[str], *, env: dict[str, str] | None = None, allow: tuple[str, ...] = ()
) -> KnownAgent:
    return KnownAgent(
        name="x", command=tuple(command), env=env or {}, allow=allow, source=AgentSource.COMMAND
    )


def scripted(tmp_path: Path, script: str) -> KnownAgent:
    return an_agent(forked(ScriptedAgent(script).command(tmp_path)))


def step(diagnosis: Diagnosis, name: str) -> DiagnosisStep:
    return next(one for one in diagnosis.steps if one.name == name)


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {one.name: one.verdict.value for one in diagnosis.steps}


async def test_a_healthy_agent_passes_every_step() -> None:
    heard: list[DiagnosisStep] = []
    diagnosis = await diagnose(find_agent("echo"), on_step=heard.append)
    assert diagnosis.outcome is DiagnosisOutcome.OK
    assert list(verdicts(diagnosis)) == [
        *("command", "program", "start", "initialize", "auth", "session", "stdout", "end")
    ]
    assert {one.verdict for one in diagnosis.steps} == {CheckResult.OK}
    assert heard == list(diagnosis.steps)
    assert "Echo" in step(diagnosis, "initialize").summary
    assert [one.direction for one in diagnosis.frames[:2]] == ["to_agent", "to_client"]


async def test_an_agent_that_dies_at_once_leaves_its_last_words(tmp_path: Path) -> None:
    diagnosis = await diagnose(
        scripted(tmp_path, "agent x\non initialize\n  complain \"Cannot find module 'y'\"\n  die 3\n")
    )
    assert diagnosis.outcome is DiagnosisOutcome.AGENT_DIED
    died = step(diagnosis, "start")
    assert "ended with exit status 3" in died.summary
    assert died.meaning == "a part of the program is missing"
    assert any("Cannot find module" in line for line in died.evidence)
    assert "Cannot find module" in diagnosis.stderr


async def test_an_agent_that_a_signal_ends_in_a_session_is_dead(tmp_path: Path) -> None:
    diagnosis = await diagnose(scripted(tmp_path, "agent x\non new\n  die SIGKILL\n"))
    assert diagnosis.outcome is DiagnosisOutcome.AGENT_DIED
    assert "signal SIGKILL" in step(diagnosis, "session").summary
    assert verdicts(diagnosis)["initialize"] == "ok"
    assert "end" not in verdicts(diagnosis)


@pytest.mark.bound(15)
@pytest.mark.parametrize(("when", "name"), [("initialize", "initialize"), ("new", "session")])
async def test_an_agent_that_stalls_does_not_stall_us(tmp_path: Path, when: str, name: str) -> None:
    stalling = scripted(tmp_path, f"agent x\non {when}\n  stall\n")
    seconds = math.ceil(patience(1))  # the steps before must end within it
    diagnosis = await diagnose(stalling, seconds=seconds, grace=AT_ONCE)
    assert diagnosis.outcome is DiagnosisOutcome.TIMEOUT
    assert verdicts(diagnosis)[name] == "failed"
    assert f"within {seconds} s" in step(diagnosis, name).summary


async def test_noise_on_standard_output_is_shown(tmp_path: Path) -> None:
    diagnosis = await diagnose(scripted(tmp_path, 'agent x\nstart\n  line "Loading…"\n  line "[1]"\n'))
    assert diagnosis.outcome is DiagnosisOutcome.OK
    assert step(diagnosis, "stdout").verdict is CheckResult.WARNING
    assert step(diagnosis, "stdout").evidence == ("stdout: Loading…", "stdout: [1]")


async def test_what_a_program_prints_instead_of_the_protocol_says_what_to_do(tmp_path: Path) -> None:
    retired = (
        'agent x\nstart\n  line "old-cli is no longer maintained. Install new-cli."\non initialize\n  die 0\n'
    )
    diagnosis = await diagnose(scripted(tmp_path, retired))
    assert diagnosis.outcome is DiagnosisOutcome.AGENT_DIED
    assert step(diagnosis, "start").advice.startswith("install the program that its own message names")
    framed = 'agent x\nstart\n  line "Content-Length: 61"\non initialize\n  unanswered\n'
    seconds = math.ceil(patience(1))
    diagnosis = await diagnose(scripted(tmp_path, framed), seconds=seconds, grace=AT_ONCE)
    assert "ACP has one message a line" in step(diagnosis, "initialize").meaning
    assert "--acp" not in step(diagnosis, "initialize").advice


@pytest.mark.bound(15)
async def test_an_agent_that_ignores_the_end_of_its_input_gets_a_warning(tmp_path: Path) -> None:
    diagnosis = await diagnose(scripted(tmp_path, "agent x\nstart\n  linger\n"), grace=AT_ONCE)
    assert diagnosis.outcome is DiagnosisOutcome.OK
    assert step(diagnosis, "end").verdict is CheckResult.WARNING
    assert "killed" in step(diagnosis, "end").summary


AUTH = """
agent x
  auth {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "DOCTOR_TEST_KEY"}]}
on new
  fail -32000 "Authentication required"
"""


async def test_an_agent_that_wants_a_login_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCTOR_TEST_KEY", raising=False)
    diagnosis = await diagnose(scripted(tmp_path, AUTH))
    assert diagnosis.outcome is DiagnosisOutcome.AUTH_NEEDED
    assert step(diagnosis, "auth").evidence == ("key (Key): DOCTOR_TEST_KEY is not set",)
    assert "set DOCTOR_TEST_KEY" in step(diagnosis, "session").advice


async def test_a_key_that_we_hold_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_TEST_KEY", "hunter2-hunter2")
    diagnosis = await diagnose(scripted(tmp_path, AUTH))
    assert "DOCTOR_TEST_KEY is set here but not handed on" in step(diagnosis, "session").advice
    assert "hunter2" not in repr(diagnosis)


@pytest.mark.parametrize(
    ("script", "outcome", "told"),
    [
        ('answer {"protocolVersion": 2}', DiagnosisOutcome.PROTOCOL_ERROR, "protocol version 2"),
        (
            'answer {"protocolVersion": "1"}',
            DiagnosisOutcome.PROTOCOL_ERROR,
            "protocolVersion: expected integer",
        ),
        ('fail -32603 "flux"', DiagnosisOutcome.AGENT_ERROR, "-32603: flux"),
    ],
)
async def test_a_wrong_answer_to_initialize_is_told(
    tmp_path: Path, script: str, outcome: DiagnosisOutcome, told: str
) -> None:
    diagnosis = await diagnose(scripted(tmp_path, f"agent x\non initialize\n  {script}\n"))
    assert diagnosis.outcome is outcome
    assert told in step(diagnosis, "initialize").summary


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ('fail -32603 "no room"', DiagnosisOutcome.AGENT_ERROR),
        ('answer {"x": 1}', DiagnosisOutcome.PROTOCOL_ERROR),
    ],
)
async def test_a_wrong_answer_to_a_session_is_told(
    tmp_path: Path, script: str, outcome: DiagnosisOutcome
) -> None:
    diagnosis = await diagnose(scripted(tmp_path, f"agent x\non new\n  {script}\n"))
    assert diagnosis.outcome is outcome
    assert verdicts(diagnosis)["session"] == "failed"


async def test_a_program_that_repeats_our_words_is_no_agent() -> None:
    diagnosis = await diagnose(an_agent(["cat"]))
    assert diagnosis.outcome is DiagnosisOutcome.PROTOCOL_ERROR
    assert "our own words" in step(diagnosis, "initialize").summary


async def test_a_program_that_does_its_job_and_ends_is_no_agent() -> None:
    diagnosis = await diagnose(an_agent(["true"]))
    assert diagnosis.outcome is DiagnosisOutcome.AGENT_DIED
    assert "without sending one message of the protocol" in step(diagnosis, "start").meaning


async def test_a_program_that_is_not_there_is_looked_for_where_installers_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    hidden = tmp_path / ".local" / "bin" / "agent-17"
    hidden.parent.mkdir(parents=True)
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    diagnosis = await diagnose(an_agent(["agent-17", "--acp"]))
    assert diagnosis.outcome is DiagnosisOutcome.NOT_STARTED
    assert f"there is {hidden}" in step(diagnosis, "command").summary
    assert f"add {hidden.parent} to PATH" in step(diagnosis, "command").advice


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (b"#!/bin/sh\n", 0o644, "it is not executable"),
        (b"#!/no/such/interpreter\n", 0o755, "which is not there"),
        (b"just text\n", 0o755, "the system cannot run it"),
    ],
)
async def test_a_file_that_cannot_be_started_is_tried_and_explained(
    tmp_path: Path, content: bytes, mode: int, told: str
) -> None:
    (tmp_path / "agent").write_bytes(content)
    (tmp_path / "agent").chmod(mode)
    diagnosis = await diagnose(an_agent(["./agent"]), cwd=str(tmp_path))
    assert diagnosis.outcome is DiagnosisOutcome.NOT_STARTED
    hint, failed = step(diagnosis, "program"), step(diagnosis, "start")
    assert (hint.verdict, told in hint.summary, bool(hint.advice)) == (CheckResult.WARNING, True, True)
    assert (failed.verdict, failed.advice) == (CheckResult.FAILED, hint.advice)
    assert diagnosis.frames == ()


async def test_a_file_that_is_not_there_is_not_tried(tmp_path: Path) -> None:
    diagnosis = await diagnose(an_agent(["./agent"]), cwd=str(tmp_path))
    assert (diagnosis.outcome, step(diagnosis, "command").verdict) == (
        DiagnosisOutcome.NOT_STARTED,
        CheckResult.FAILED,
    )
    assert "there is no file" in step(diagnosis, "command").summary


OLD_NODE = """#!/bin/sh
test "$1" = --version && echo v16.1.0 && exit
exec {python} -m dragoman agent echo
"""


def package_for_a_newer_node(folder: Path, node: str) -> KnownAgent:
    for name, content in {
        "node": node,
        "agent": "#!/usr/bin/env node\n",
        "package.json": '{"engines": {"node": ">=20"}}',
    }.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    return an_agent([str(folder / "agent")], env={"PATH": f"{folder}:/usr/bin:/bin"})


async def test_an_agent_that_works_with_an_older_node_than_its_package_wants_works(tmp_path: Path) -> None:
    agent = package_for_a_newer_node(tmp_path, OLD_NODE.format(python=sys.executable))
    diagnosis = await diagnose(agent)
    assert diagnosis.outcome is DiagnosisOutcome.OK
    hint = step(diagnosis, "program")
    assert hint.verdict is CheckResult.WARNING
    assert "version v16.1.0, and its package wants node >=20" in hint.summary


async def test_a_node_that_is_too_old_for_the_package_is_the_advice_when_the_agent_dies(
    tmp_path: Path,
) -> None:
    agent = package_for_a_newer_node(tmp_path, "#!/bin/sh\necho v16.1.0\nexit 1\n")
    diagnosis = await diagnose(agent)
    assert diagnosis.outcome is DiagnosisOutcome.AGENT_DIED
    assert "update node" in step(diagnosis, "start").advice


async def test_an_address_is_not_examined() -> None:
    diagnosis = await diagnose(find_agent("unix:/run/x.sock"))
    assert (diagnosis.outcome, len(diagnosis.steps)) == (DiagnosisOutcome.NOT_STARTED, 1)


TELLS = """
import os, sys
print(os.environ.get("GIVEN"), os.environ.get("ALLOWED_TOKEN"), os.environ.get("HELD_BACK"), file=sys.stderr)
sys.exit(1)
"""


async def test_the_agent_gets_its_environment_and_the_evidence_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALLOWED_TOKEN", "a-l-l-o-w-e-d")
    monkeypatch.setenv("HELD_BACK", "h-e-l-d")
    agent = an_agent(python(TELLS), env={"GIVEN": "g-i-v-e-n"}, allow=("ALLOWED_TOKEN",))
    diagnosis = await diagnose(agent)
    assert diagnosis.stderr.strip() == "[GIVEN] [ALLOWED_TOKEN] None"
    assert not any(value in repr(diagnosis) for value in ("a-l-l-o-w-e-d", "g-i-v-e-n", "h-e-l-d"))
