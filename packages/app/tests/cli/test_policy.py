"""What `dragoman policy` says about rules and requests."""

import io
import json
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman_app.cli import main
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_file
from dragoman_local.workspace.policy.policy_files import (
    RememberedRules,
    act_of_line,
    allow_line,
    load_policy,
    rule_text,
)
from tests.workspace.policy.makers import ROOT, command

RULES = """
default = "ask"
[[rule]]
decision = "deny"
name = "no pushes"
command = "git push"
[[rule]]
decision = "allow"
agent = "claude"
kind = "edit"
path = "src/**"
[[rule]]
decision = "allow"
command = ["git **", "ls **"]
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a project of a user with rules."""
    config = tmp_path / "config" / "dragoman"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(RULES)
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path / "project")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["policy", *arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def explained(run: Run, *arguments: str) -> dict[str, Any]:
    status, out, _ = run("explain", "--json", *arguments)
    assert status == 0
    found: dict[str, Any] = json.loads(out)["decision"]
    return found


def test_explaining_follows_links_as_the_decision_does(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / "secret").mkdir()
    (tmp_path / "project" / "public").symlink_to("secret")
    rules = tmp_path / "rules.toml"
    rules.write_text('default = "allow"\n[[rule]]\ndecision = "deny"\npath = "secret/**"\n')
    asked = explained(run, "--policy", str(rules), "--command", "cat public/key")
    assert (asked["outcome"], asked["needs_person"]) == ("ask", True)


def test_explaining_a_command_names_the_rule_and_the_reason(run: Run, tmp_path: Path) -> None:
    status, out, err = run("explain", "--command", "git status && git push origin")
    assert (status, err) == (0, "")
    assert out.startswith("deny: git status && git push origin\n")
    assert f"rule: {tmp_path}/config/dragoman/policy.toml:3 (no pushes)\n" in out
    assert "of its 2 commands `git push origin` decides" in out
    assert "allow: git status\n" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--command", "git status"], "allow"),
        (["--command", "git status > x"], "ask"),
        (["--command", "make"], "ask"),
        (["--command", "make", "--approve", "reads"], "deny"),
        (["--command", "make", "--approve", "all"], "allow"),
        (["--command", "git push", "--approve", "all"], "deny"),
        (["--tool", "edit", "--path", "src/x.py"], "ask"),
        (["--agent", "claude", "--tool", "edit", "--path", "src/x.py"], "allow"),
        (["--agent", "claude", "--tool", "edit", "--path", "src/x.py", "--path", "x"], "ask"),
        (["--agent", "claude", "--tool", "Write", "--kind", "edit", "--path", "src/x.py"], "allow"),
        (["--agent", "claude", "--method", "fs/write", "--path", "src/x.py"], "allow"),
        (["--method", "fs/write", "--path", "src/x.py"], "ask"),
        (["--method", "terminal", "--command", "git push"], "deny"),
        (["--tool", "read", "--approve", "reads", "--path", "x"], "allow"),
        (["--tool", "read", "--approve", "reads", "--path", "/etc/passwd"], "deny"),
    ],
)
def test_explaining_agrees_with_deciding(run: Run, arguments: list[str], expected: str) -> None:
    assert explained(run, *arguments)["outcome"] == expected


def test_a_request_can_be_explained_from_a_file_or_from_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "git push"}},
        "options": [],
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}
    for number, data in enumerate((params, frame)):
        (tmp_path / f"{number}.json").write_text(json.dumps(data))
        assert explained(run, "--request", str(tmp_path / f"{number}.json"))["outcome"] == "deny"
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(params).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert explained(run, "--request", "-")["outcome"] == "deny"


def test_what_cannot_be_explained_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"sessionId": 5}')
    assert run("explain")[0] == 2
    assert run("explain", "--kind", "reed", "--path", "x")[0] == 2
    assert run("explain", "--method", "fs/read", "--tool", "read")[0] == 2
    for file in ("bad.json", "none.json"):
        status, _, err = run("explain", "--request", str(tmp_path / file))
        assert status == 1
        assert file in err


def test_a_projects_policy_and_a_named_one_take_part(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / ".dragoman").mkdir()
    theirs = tmp_path / "project" / ".dragoman" / "policy.toml"
    theirs.write_text('[[rule]]\ndecision = "deny"\ncommand = "ls"\n[[rule]]\ndecision = "allow"\n')
    (tmp_path / "p.toml").write_text('[[rule]]\ndecision = "allow"\ncommand = "make"\n')
    assert explained(run, "--command", "ls")["outcome"] == "deny"
    assert explained(run, "--command", "make")["outcome"] == "ask"
    assert explained(run, "--command", "make", "--policy", str(tmp_path / "p.toml"))["outcome"] == "allow"
    assert "not trusted: can only make things stricter" in run("list")[1]


def test_checking_a_file_says_whether_it_can_be_used_and_where_not(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(RULES)
    bad.write_text('[[rule]]\ndecision = "alow"\n')
    assert main(["config", "check", "policy", "--file", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: is good\n"
    assert main(["config", "check", "policy", "--file", str(bad)]) == 1
    assert capsys.readouterr().out.startswith(f"{bad}:2: decision must be one of allow, ask, deny")
    assert main(["config", "check", "policy", "--file", str(tmp_path / "none")]) == 2


def test_listing_shows_rules_in_their_order_with_their_lines(run: Run) -> None:
    status, out, _ = run("list")
    assert status == 0
    assert "     3  deny  command git push  # no pushes\n" in out
    assert "     7  allow agent claude; kind edit; path src/**\n" in out
    assert "    12  allow command git ** | ls **\n" in out
    assert out.endswith("If no rule matches: ask\n")
    assert [rule["line"] for rule in json.loads(run("list", "--json")[1])["layers"][0]["rules"]] == [3, 7, 12]


def test_an_answer_given_for_good_can_be_seen_and_taken_back(run: Run, tmp_path: Path) -> None:
    kept = RememberedRules(str(tmp_path / "config" / "dragoman" / "remembered.toml"))
    kept.remember(command("make test"), "allow")
    line = str(kept.rules()[0].line)
    assert "command make test" in run("list")[1]
    assert run("forget", "1")[0] == 1
    assert run("forget", line)[0] == 0
    assert kept.rules() == ()
    assert run("forget", line)[0] == 1


def test_an_answer_is_shown_with_the_place_and_the_line_that_it_is_for(run: Run, tmp_path: Path) -> None:
    kept = RememberedRules(str(tmp_path / "config/dragoman/remembered.toml"))
    assert kept.remember(command("cd tmp && make x"), "allow")
    _, out, _ = run("list")
    assert f"project {ROOT}; folder {ROOT}; line cd tmp && make x" in out


def test_a_broken_policy_is_named_by_every_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config" / "dragoman" / "policy.toml").write_text("nonsense")
    for arguments in (["list"], ["explain", "--command", "ls"]):
        status, _, err = run(*arguments)
        assert status == 1
        assert "policy.toml:1: " in err


class Keyboard(io.StringIO):
    """Standard streams of somebody at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Somebody is there, and types this."""

    def typing(text: str) -> None:
        monkeypatch.setattr("sys.stdin", Keyboard(text))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return typing


def test_what_was_refused_is_allowed_by_the_line_that_was_told(
    run: Run, tmp_path: Path, at_terminal: Callable[[str], None]
) -> None:
    project = tmp_path / "project"
    denied = msgspec.structs.replace(command("npm test && make 'a b'"), roots=(str(project),))
    edit = act_of_file("write", str(project / "a b.txt"), ActContext(agent="claude", roots=(str(project),)))
    for act in (denied, edit):
        line = shlex.split(allow_line(act))
        assert line[:3] == ["dragoman", "policy", "allow"]
        again = act_of_line(allow_line(act), home=act.home)
        assert again is not None
        rules = [rule_text(each, "allow", now=datetime.now(UTC)) for each in (act, again)]
        assert len({str(rule).partition("[[rule]]")[2] for rule in rules}) == 1
        at_terminal("n\n")
        assert run(*line[2:])[0] != 0
        assert load_policy(roots=[str(project)]).decide(act).outcome == "ask"
        at_terminal("y\n")
        status, _, err = run(*line[2:])
        assert status == 0
        assert "Always covers" in err
        assert load_policy(roots=[str(project)]).decide(act).outcome == "allow"


def test_nobody_but_a_person_at_a_terminal_allows_anything(run: Run) -> None:
    status, _, err = run("allow", "--agent", "claude", "--command", "make")
    assert status == 1
    assert "only a person at a terminal may allow this" in err


def test_a_rule_that_denies_is_named_instead_of_being_talked_round(
    run: Run, at_terminal: Callable[[str], None]
) -> None:
    at_terminal("y\n")
    status, _, err = run("allow", "--agent", "claude", "--command", "git push")
    assert status == 1
    assert "(no pushes) says deny" in err


def test_no_line_is_told_for_what_no_rule_should_allow(tmp_path: Path) -> None:
    for act in (
        command("echo $x"),
        command("make", cwd="/elsewhere"),
        command("make \x1b[2J"),
        command("x" * 2000),
    ):
        assert allow_line(act) == ""


@pytest.mark.parametrize(
    "line",
    [
        "dragoman policy allow --agent claude --cwd /p --command 'echo $x'",
        "dragoman policy allow --agent claude --cwd /p --command make --command rm",
        "dragoman policy allow --agent claude --cwd /p --kind nonsense --path /p/a",
        "dragoman policy allow --agent claude --cwd /p --command make --path /etc/passwd",
        "dragoman policy allow --agent claude --cwd /p --command 'make",
        "dragoman policy deny --agent claude --cwd /p --command make",
        "make",
    ],
)
def test_a_line_that_was_not_told_so_means_no_act(line: str) -> None:
    assert act_of_line(line, home="/home/me") is None
    told = "dragoman policy allow --agent claude --cwd /p --command make"
    assert act_of_line(told, home="/home/me") is not None
