from pathlib import Path

import pytest

from dragoman_local.sandbox import names
from dragoman_local.workspace.policy.policy import Policy, is_guarded
from dragoman_local.workspace.policy.policy_files import load_policy
from tests.every import every
from tests.workspace.policy.count_questions import example_policy
from tests.workspace.policy.makers import ROOT, command, policy, tool, write

EXAMPLE: Policy = policy(example_policy())
EVERYTHING = policy('[[rule]]\ndecision = "allow"\nunreadable = true\n')
GUARDED = [
    *(
        "src/x/.git/config",
        "src/.git",
        ".git/hooks/pre-commit",
        "src/bare/HEAD",
        "src/r.git/config",
        "src/.GIT/x",
    ),
    *(".husky/pre-commit", ".githooks/x", ".envrc", "src/.envrc", ".gitmodules", ".pre-commit-config.yaml"),
    *(
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".cursor/mcp.json",
        ".mcp.json",
    ),
    *(".vscode/tasks.json", ".zed/settings.json", "/home/somebody/.bashrc", "/home/somebody/.zshenv"),
    *(
        "/home/somebody/.config/fish/config.fish",
        "/home/somebody/.config/git/config",
        "/home/somebody/.ssh/config",
    ),
]
FREE = [
    "src/app.py",
    "Makefile",
    "package.json",
    "src/git/x.py",
    ".github/workflows/x.yml",
    ".gitignore",
    "src/head.py",
]


@every("path", GUARDED)
def test_files_that_make_commands_run_something_are_not_written_unasked(path: str) -> None:
    decision = EVERYTHING.decide(tool("edit", path))
    assert (decision.outcome, decision.rule) == ("ask", "built in")
    for line in (
        f"cp x {path}",
        f"echo x > {path}",
        f"sed -i s/a/b/ {path}",
        f"tee -a {path}",
        f"ln -s {path} y",
    ):
        assert EVERYTHING.decide(command(line)).outcome == "ask", line
    assert EVERYTHING.decide(command(f"cat {path}")).outcome == "allow"


@every("name", [name for name in (*names.PROJECT, *names.HOME) if name != "bin"])
def test_what_the_wall_does_not_let_commands_write_is_not_written_unasked(name: str) -> None:
    """`bin` is a folder of programs at home, and of anything in a project."""
    assert is_guarded(f"/home/me/{name}", roots=("/home/me",))
    assert EVERYTHING.decide(tool("edit", f"/home/somebody/{name}")).outcome == "ask"


@every("path", FREE)
def test_the_projects_own_files_are_not_guarded(path: str) -> None:
    assert EVERYTHING.decide(tool("edit", path)).outcome == "allow"


def test_the_example_policy_lets_no_agent_make_a_repository_of_its_own() -> None:
    assert EXAMPLE.decide(write(f"{ROOT}/src/app.py")).outcome == "allow"
    assert EXAMPLE.decide(write(f"{ROOT}/src/x/.git/config")).outcome == "ask"
    assert EXAMPLE.decide(command("git status")).outcome == "allow"
    assert EXAMPLE.decide(command("git status", cwd=f"{ROOT}/src/x")).outcome == "ask"
    assert EXAMPLE.decide(command("cd src/x && git status")).outcome == "ask"


@pytest.mark.parametrize("approve", ["all", "reads", "none"])
def test_nobody_approves_such_a_write_in_a_persons_place(approve: str) -> None:
    chosen = policy('[[rule]]\ndecision = "allow"\n', approve=approve)  # type: ignore[arg-type]
    assert chosen.decide(tool("edit", ".git/config")).outcome == "deny"


@every(
    "line",
    [
        "dragoman policy allow --command x",
        "/usr/bin/dragoman inbox",
        "python3 -m dragoman hub token create x",
        "script -qc 'dragoman policy allow --command x' /dev/null",
        "dragoman agents add x",
    ],
)
def test_no_rule_lets_an_agent_decide_through_our_own_commands(line: str) -> None:
    assert EVERYTHING.decide(command(line)).needs_person
    assert policy(approve="all").decide(command(line)).outcome == "deny"


@every("line", ["dragoman review src", "git add dragoman/policy", "grep policy dragoman", "cd dragoman"])
def test_other_commands_with_our_name_are_common_ones(line: str) -> None:
    assert EVERYTHING.decide(command(line)).outcome == "allow"


@every("folder", ["config", "state", "data"])
def test_our_own_folders_are_not_written_unasked(folder: str, tmp_path: Path) -> None:
    environ = {f"XDG_{folder.upper()}_HOME": str(tmp_path), "HOME": "/home/nobody"}
    loaded = load_policy(roots=["/project"], approve="all", environ=environ)
    assert loaded.decide(command(f"tee {tmp_path}/dragoman/some")).outcome == "deny"
    assert loaded.decide(command(f"tee {tmp_path}/other/some")).outcome == "allow"


def test_what_stands_behind_many_words_is_guarded_as_well() -> None:
    many = " ".join("=".join(f"{letter}{number}" for number in range(39)) for letter in "abcdefgh")
    allowed = policy('[[rule]]\ndecision = "allow"\ncommand = ["tee **", "cat **", "cd *"]\n')
    assert allowed.decide(command(f"tee {many} .git/config")).needs_person
    entered = " && ".join(f"cd ../{letter}" for letter in "abcdefghijklmno")
    names = " ".join(f"x{number}" for number in range(200))
    assert allowed.decide(command(f"{entered} && tee {names} .git/config")).outcome == "ask"
    assert allowed.decide(command(f"cat {many}")).outcome == "allow"
    assert (
        allowed.decide(command("tee " + " ".join(f"x{number}" for number in range(200)))).outcome == "allow"
    )


def test_a_folder_above_the_session_guards_nothing_in_it() -> None:
    assert not is_guarded("/w/.claude/worktrees/a/x.py", roots=("/w/.claude/worktrees/a",))
    assert is_guarded("/w/.claude/x.py", roots=("/w/.claude/worktrees/a",))


def test_to_git_head_is_a_commit() -> None:
    assert EVERYTHING.decide(command("git reset HEAD")).outcome == "allow"
    assert EVERYTHING.decide(command("cp x HEAD")).outcome == "ask"
