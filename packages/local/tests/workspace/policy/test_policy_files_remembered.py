import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import NOT_KEPT, RememberedRules, cover_text, rule_text
from dragoman_local.workspace.policy.policy_parser import PolicyError, read_policy
from dragoman_local.workspace.policy.rules import parts_of
from dragoman_local.workspace.policy.shell import read_arguments, read_line
from tests.workspace.policy.makers import ROOT, command, tool

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def kept(tmp_path: Path) -> RememberedRules:
    return RememberedRules(str(tmp_path / "config" / "remembered.toml"))


def decided(kept: RememberedRules, act: Act) -> str:
    return Policy(remembered_rules=kept.rules()).decide(act).outcome


def test_an_answer_is_a_rule_that_a_person_can_read(kept: RememberedRules) -> None:
    assert kept.remember(command("git commit -m 'a [b]'"), "allow", now=NOON)
    text = Path(kept.path).read_text()
    assert text.endswith(
        "# 2025-06-01 12:00 UTC, asked by claude: git commit -m 'a [b]'\n"
        f'[[rule]]\ndecision = "allow"\nagent = "claude"\nproject = "{ROOT}"\nfolder = "{ROOT}"\n'
        "command = \"git commit -m 'a [[]b]'\"\n"
    )
    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600


def test_an_answer_holds_for_the_same_and_nothing_more(kept: RememberedRules) -> None:
    kept.remember(command("git commit"), "allow", now=NOON)
    kept.remember(tool("edit", "src/x.py"), "allow", now=NOON)
    kept.remember(tool("fetch", name="WebFetch"), "deny", now=NOON)
    assert decided(kept, command("git commit")) == "allow"
    assert decided(kept, command("git commit -a")) == "ask"
    assert decided(kept, tool("edit", f"{ROOT}/src/x.py")) == "allow"
    assert decided(kept, tool("edit", "src/y.py")) == "ask"
    assert decided(kept, tool("fetch", name="WebFetch")) == "deny"


def test_several_commands_are_kept_as_the_line_that_they_are(kept: RememberedRules) -> None:
    kept.remember(command("cd tmp && rm -rf src"), "allow", now=NOON)
    assert decided(kept, command("cd tmp && rm -rf src")) == "allow"
    for line in (
        "rm -rf src",
        "cd tmp",
        "cd tmp || rm -rf src",
        "rm -rf src && cd tmp",
        "cd tmp; rm -rf src",
    ):
        assert decided(kept, command(line)) == "ask", line


@pytest.mark.parametrize("line", ["rm -rf src", "cd tmp && rm -rf src", "timeout 5 rm -rf src"])
def test_an_answer_holds_in_its_folder_and_its_project(kept: RememberedRules, line: str) -> None:
    kept.remember(command(line, cwd=f"{ROOT}/tmp"), "allow", now=NOON)
    assert decided(kept, command(line, cwd=f"{ROOT}/tmp")) == "allow"
    assert decided(kept, command(line)) == "ask"
    assert decided(kept, command(line, cwd=f"{ROOT}/tmp/deeper")) == "ask"
    elsewhere = Act(method="terminal", agent="claude", script=read_line(line), roots=("/other",))
    assert decided(kept, elsewhere) == "ask"
    inside = replace(elsewhere, roots=("/other", f"{ROOT}/tmp"), cwd=f"{ROOT}/tmp")
    assert decided(kept, inside) == "ask"


def test_a_tool_without_a_path_is_allowed_in_its_project_alone(kept: RememberedRules) -> None:
    kept.remember(tool("fetch", name="WebFetch"), "allow", now=NOON)
    act = tool("fetch", name="WebFetch")
    assert decided(kept, act) == "allow"
    assert decided(kept, replace(act, roots=("/other",))) == "ask"


def test_what_was_wrapped_is_kept_with_its_wrapping(kept: RememberedRules) -> None:
    kept.remember(command("timeout 5 make x"), "allow", now=NOON)
    assert decided(kept, command("timeout 5 make x")) == "allow"
    assert decided(kept, command("make x")) == "ask"


def test_a_rejection_holds_in_every_folder_of_its_project(kept: RememberedRules) -> None:
    kept.remember(command("make deploy"), "deny", now=NOON)
    assert decided(kept, command("make deploy", cwd=f"{ROOT}/src")) == "deny"


def test_what_is_not_clear_is_not_kept(kept: RememberedRules) -> None:
    assert not kept.remember(command("git $(x)"), "allow")
    assert not kept.remember(command("git x", cwd="/elsewhere"), "allow")
    assert not kept.remember(tool("other"), "allow")
    assert not kept.remember(replace(command("make"), agent=""), "allow")
    assert not kept.remember(replace(command("make"), roots=()), "allow")
    assert not kept.remember(tool("edit", "x", raw_input={"path": "x", "where": "y"}), "allow")
    assert not kept.remember(tool("edit", "../x"), "allow")
    assert not os.path.exists(kept.path)


def test_a_rule_can_be_deleted_with_its_comment_and_the_rest_stays(kept: RememberedRules) -> None:
    for word in ("one", "two", "three"):
        kept.remember(command(f"make {word}"), "allow", now=NOON)
    before = kept.rules()
    assert kept.forget(before[1].line)
    text = Path(kept.path).read_text()
    assert "two" not in text
    assert [rule.command for rule in kept.rules()] == [(("make", "one"),), (("make", "three"),)]
    assert not kept.forget(before[1].line + 1)
    assert text.startswith("# Answers that were given for good.")


def test_what_a_person_wrote_into_the_file_stays(kept: RememberedRules) -> None:
    os.makedirs(os.path.dirname(kept.path))
    Path(kept.path).write_text('# mine\n[[rule]]\ndecision = "deny"\ncommand = "rm"  # never\n')
    kept.remember(command("make"), "allow", now=NOON)
    assert (
        Path(kept.path)
        .read_text()
        .startswith('# mine\n[[rule]]\ndecision = "deny"\ncommand = "rm"  # never\n')
    )
    assert len(kept.rules()) == 2


def test_a_broken_file_is_not_overwritten(kept: RememberedRules) -> None:
    os.makedirs(os.path.dirname(kept.path))
    Path(kept.path).write_text("nonsense\n")
    with pytest.raises(PolicyError):
        kept.remember(command("make"), "allow")
    assert Path(kept.path).read_text() == "nonsense\n"
    assert sorted(os.listdir(os.path.dirname(kept.path))) == ["remembered.toml", "remembered.toml.lock"]


@given(st.lists(st.text(max_size=10), min_size=1, max_size=4), st.text(min_size=1, max_size=10))
def test_any_command_and_any_name_make_a_rule_that_answers_exactly_them(words: list[str], agent: str) -> None:
    script = read_arguments(words)
    act = Act(method="terminal", agent=agent, kind="execute", script=script, roots=("/p",))
    text = rule_text(act, "allow", now=NOON)
    assert (text is None) == (act.objection() is not None)
    if text is not None:
        rules = read_policy(text, "r").rules
        # A program that is called like a file that others obey is asked about, whatever is remembered.
        is_asked = any(Policy()._guards(part) for part in parts_of(act))
        assert Policy(remembered_rules=rules).decide(act).outcome == ("ask" if is_asked else "allow")
        other = replace(act, script=read_arguments([*words, "x"]))
        assert Policy(remembered_rules=rules).decide(other).outcome == "ask"


WORDS = [
    (command("npm test"), "Always covers `npm test` in ~/project, for claude."),
    (
        command("cd tmp && make", cwd=f"{ROOT}/a"),
        "Always covers `cd tmp && make` to the letter, in ~/project/a, in sessions of ~/project, for claude.",
    ),
    (tool("edit", "src/a.py"), "Always covers changes of src/a.py, in ~/project, for claude."),
    (
        tool("read", "a", "/etc/x", name="Read"),
        "Always covers reads of a, /etc/x by the tool Read, in ~/project, for claude.",
    ),
    (
        tool("fetch", name="Web"),
        "Always covers every use of the tool Web, whatever its input, in ~/project, for claude.",
    ),
    (command("git $(x)"), NOT_KEPT),
    (replace(command("make"), agent=""), NOT_KEPT),
]


@pytest.mark.parametrize(("act", "words"), WORDS, ids=[words for _, words in WORDS])
def test_what_always_covers_is_said_in_one_line(act: Act, words: str) -> None:
    assert cover_text(act) == words
