"""What an agent may do in a run, and how a denial is seen."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.apps.run.run_process import home, run, scripted
from tests.together import SideBySide

together = SideBySide(2)

FORM = json.dumps(
    {
        "sessionId": "$session",
        "mode": "form",
        "message": "Which branch?",
        "requestedSchema": {
            "type": "object",
            "properties": {"branch": {"type": "string"}},
            "required": ["branch"],
        },
    }
)
ASKER = f'agent asker\non prompt\n  call elicitation/create {FORM} as=got\n  say "$got"\n'


@together
def test_headless_reading_is_allowed_and_the_rest_denied(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    assert run("--agent", "echo", "--format", "quiet", "/read a.txt", folder=tmp_path).out == "inside\n"
    done = run("--agent", "echo", "/write a.txt other", folder=tmp_path)
    assert done.status == 7
    assert (tmp_path / "a.txt").read_text() == "inside"
    assert "not allowed: " in done.err


@pytest.mark.parametrize(
    ("approve", "prompt", "status"),
    [
        ("none", "/read a.txt", 7),
        ("reads", "/ask b.txt", 7),
        ("all", "/ask b.txt", 0),
        ("all", "/run true", 0),
    ],
)
@together
def test_approve_answers_for_the_person(approve: str, prompt: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    done = run("--agent", "echo", "--approve", approve, "--format", "json", prompt, folder=tmp_path)
    assert done.status == status
    assert {event["outcome"] for event in done.named("decision")} == {"allow" if status == 0 else "deny"}
    assert (tmp_path / "b.txt").exists() == (prompt == "/ask b.txt" and status == 0)


@together
def test_a_policy_decides_before_approve_does(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(
        'version = 1\n[[rule]]\ndecision = "allow"\nkind = "edit"\npath = "*.txt"\n'
    )
    done = run("--agent", "echo", "--policy", "rules.toml", "/write a.txt x", folder=tmp_path)
    assert (done.status, (tmp_path / "a.txt").read_text()) == (0, "x")
    assert run("--agent", "echo", "--policy", "rules.toml", "/write a.md x", folder=tmp_path).status == 7


@together
def test_a_policy_that_cannot_be_read_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nverdict = 1\n")
    done = run("--agent", "echo", "--policy", "rules.toml", "x", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "rules.toml" in done.err


@together
def test_a_denial_that_the_agent_worked_around_is_no_failure(tmp_path: Path) -> None:
    script = 'agent stubborn\non prompt\n  ask "Delete" kind=delete\n  ask "Look" kind=search\n  say done\n'
    done = run("--agent", scripted(tmp_path, script), "--format", "json", "x", folder=tmp_path)
    assert [event["outcome"] for event in done.named("decision")] == ["deny", "allow"]
    assert done.status == 0


@together
def test_an_option_of_an_unknown_kind_is_not_chosen(tmp_path: Path) -> None:
    script = (
        'agent sly\non prompt\n  ask "Delete" kind=delete\n    option allow_everything Allow\n  say done\n'
    )
    agent = scripted(tmp_path, script)
    done = run("--agent", agent, "--approve", "all", "--format", "json", "x", folder=tmp_path)
    assert [event["outcome"] for event in done.named("decision")] == ["deny"]


@together
def test_a_question_that_nobody_answers_ends_the_run(tmp_path: Path) -> None:
    agent = scripted(tmp_path, ASKER)
    done = run("--agent", agent, "--format", "json", "x", folder=tmp_path)
    assert (done.status, done.events[-1]["outcome"]) == (6, "question_open")
    [question] = done.named("question")
    assert (question["action"], question["request"]["message"]) == ("open", "Which branch?")
    done = run("--agent", agent, "x", folder=tmp_path)
    assert done.status == 6
    [line] = [line for line in done.err.splitlines() if line.startswith("{")]
    assert json.loads(line)["question"]["request"]["message"] == "Which branch?"


@pytest.mark.parametrize("name", ["answers.json", "answers.toml"])
@together
def test_a_question_is_answered_from_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"branch": "main"}' if name.endswith("json") else 'branch = "main"')
    agent = scripted(tmp_path, ASKER)
    done = run("--agent", agent, "--answers", name, "--format", "json", "x", folder=tmp_path)
    assert done.status == 0
    assert "main" in done.text
    assert [event["action"] for event in done.named("question")] == ["accept"]


@together
def test_a_login_that_the_agent_handles_is_tried_once(tmp_path: Path) -> None:
    auth = 'auth {"id": "key", "name": "API key"}'
    refused = '  fail -32000 "Authentication required"\n'
    agent = scripted(tmp_path, f"agent locked\n  {auth}\non new times=1\n{refused}on prompt\n  say in\n")
    assert run("--agent", agent, "--format", "quiet", "x", folder=tmp_path).out == "in\n"
    agent = scripted(tmp_path, f"agent locked\n  {auth}\non new\n{refused}")
    done = run("--agent", agent, "x", folder=tmp_path)
    assert done.status == 8
    assert "API key" in done.err or "key" in done.err


@pytest.mark.parametrize("asked_for", [True, False])
@together
def test_a_line_of_shell_is_run_by_a_shell_only_where_that_was_asked_for(
    asked_for: bool, tmp_path: Path
) -> None:
    agent = scripted(tmp_path, 'agent liner\non prompt\n  run "echo one && touch made"\n')
    more = ["--shell-lines"] if asked_for else []
    run("--agent", agent, "--approve", "all", *more, "x", folder=tmp_path)
    assert (tmp_path / "made").exists() is asked_for


if sys.platform != "win32":
    from tests.apps.run.teletype import in_terminal

    def test_in_a_terminal_the_person_is_asked(tmp_path: Path) -> None:
        with in_terminal("--agent", "echo", "--no-color", "/ask b.txt", folder=tmp_path) as person:
            shown = person.read_until("choose nothing: ")
            assert "b.txt" in shown
            person.type("1\n")
            assert person.wait() == 0
        assert (tmp_path / "b.txt").read_text() == "ran\n"

    @pytest.mark.parametrize("prompt", ["/ask b.txt", "/write b.txt x", "/run touch b.txt"])
    def test_what_a_person_denies_is_no_failure(prompt: str, tmp_path: Path) -> None:
        with in_terminal("--agent", "echo", "--no-color", prompt, folder=tmp_path) as person:
            person.read_until("choose nothing: ")
            person.type("q\n")
            assert person.wait() == 0
            assert "not done" not in person.shown
        assert not (tmp_path / "b.txt").exists()

    def test_ctrl_c_takes_a_question_back(tmp_path: Path) -> None:
        with in_terminal("--agent", "echo", "--no-color", "/ask b.txt", folder=tmp_path) as person:
            person.read_until("choose nothing: ")
            person.type("\x03")
            assert person.wait() == 130
        assert not (tmp_path / "b.txt").exists()

    def test_a_question_is_answered_in_the_terminal(tmp_path: Path) -> None:
        agent = scripted(tmp_path, ASKER)
        with in_terminal("--agent", agent, "--no-color", "x", folder=tmp_path, env=home(tmp_path)) as person:
            person.read_until("Which branch?")
            person.read_until("branch")
            person.type("main\n")
            person.type("\n")
            person.type("y\n")
            person.wait()
        assert "main" in person.shown


@together
def test_a_denial_tells_the_person_and_the_agent_the_line_that_allows_it(tmp_path: Path) -> None:
    params = json.dumps({"sessionId": "$session", "path": f"{tmp_path}/a b", "content": "x"})
    script = f'agent writer\non prompt\n  call fs/write_text_file {params} as=got\n  say "$got"\n'
    done = run("--agent", scripted(tmp_path, script), "--format", "json", "x", folder=tmp_path)
    (decision,) = done.named("decision")
    assert decision["outcome"] == "deny"
    line = shlex.split(decision["remedy"])
    assert line[:3] == ["dragoman", "policy", "allow"]
    assert line[-4:] == ["--kind", "edit", "--path", f"{tmp_path}/a b"]
    heard = f"the policy of this client does not permit it; your user can allow it with: {decision['remedy']}"
    assert any(heard in str(event.get("message")) for event in done.events)  # the agent passes it on
    told = run("--agent", scripted(tmp_path, script), "x", folder=tmp_path)
    assert f"to allow this: {decision['remedy']}\n" in told.err


@together
def test_what_a_rule_denies_has_no_line_that_allows_it(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[rule]]\ndecision = "deny"\nkind = "edit"\n')
    args = ("--agent", "echo", "--policy", "rules.toml", "--format", "json", "/write a.txt x")
    (decision,) = run(*args, folder=tmp_path).named("decision")
    assert decision["outcome"] == "deny"
    assert "remedy" not in decision
