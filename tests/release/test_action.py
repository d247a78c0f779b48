"""What we bring into the houses of others: the action, the hooks and the entry for the registry."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dragoman.testing.pace import patience
from dragoman.version import VERSION
from dragoman_app.cli.parser import make_parser
from tests.agents.review.ground import git

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools/action.sh"


def our_program(folder: Path) -> Path:
    program = folder / "dragoman"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m dragoman "$@"\n')
    program.chmod(0o755)
    return program


def act(
    folder: Path, *, program: Path | None = None, **inputs: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run the script of the action with these inputs, and our own program or another one."""
    program = program or our_program(folder)
    said = folder / "outputs"
    said.touch()
    outcome = subprocess.run(
        ["bash", SCRIPT],
        cwd=folder,
        env={
            **os.environ,
            "DRAGOMAN": str(program),
            "GITHUB_OUTPUT": str(said),
            "XDG_CACHE_HOME": str(folder / "cache"),
            **{f"DRAGOMAN_ACTION_{name}": value for name, value in inputs.items()},
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )
    return outcome, dict(line.split("=", 1) for line in said.read_text().splitlines())


def test_a_review_has_sarif_annotations_and_a_badge(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os\n\n\ndef run(name):\n    os.system('ls ' + name)\n")
    outcome, outputs = act(tmp_path, MODE="review", PATHS="app.py")
    assert (outcome.returncode, outputs["status"]) == (1, "1"), outcome.stderr
    assert "file=app.py" in outcome.stdout
    sarif = json.loads((tmp_path / outputs["sarif"]).read_text())
    badge = json.loads((tmp_path / outputs["badge"]).read_text())
    assert badge["message"] == f"{len(sarif['runs'][0]['results'])} findings"


@pytest.mark.slow
def test_a_clean_review_has_a_green_badge(tmp_path: Path) -> None:
    """The test above holds the same of a review that finds something."""
    (tmp_path / "app.py").write_text('"""Nothing."""\n')
    outcome, outputs = act(tmp_path, MODE="review", PATHS="app.py")
    assert outcome.returncode == 0
    assert json.loads((tmp_path / outputs["badge"]).read_text())["message"] == "clean"


@pytest.mark.slow
def test_an_agent_is_examined_with_sarif_and_a_badge(tmp_path: Path) -> None:
    """A review goes the same way, cheaper."""
    outcome, outputs = act(tmp_path, MODE="check", AGENT=f"{sys.executable} -m dragoman agent echo")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert json.loads((tmp_path / outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert (tmp_path / outputs["badge"]).read_text().startswith("<svg")


def test_inputs_that_make_no_sense_are_refused_and_never_run(tmp_path: Path) -> None:
    outcome, _ = act(tmp_path, MODE="$(touch owned)")
    assert outcome.returncode == 2
    assert "::error::dragoman: mode must be" in outcome.stdout
    outcome, _ = act(tmp_path, MODE="check")
    assert outcome.returncode == 2
    assert "agent is missing" in outcome.stdout
    assert not (tmp_path / "owned").exists()


EVIL = "raise SystemExit(open('owned-by-module', 'w').write('x'))\n"
HOSTILE_NAMES = (
    "$(touch owned-by-name).py",
    "`touch owned-by-name`.py",
    "; touch owned-by-name;.py",
    "--fix.py",
    "a b'\"c.py",
    "*.py",
    "%0A::error::owned.py",
    "line\n::error::owned.py",
    "é\\.py",
)


def test_names_of_files_and_branches_and_inputs_are_words_and_nothing_else(tmp_path: Path) -> None:
    """A repository in which everything that a change can name is a command."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "app.py").write_text("x = 1\n")
    branch = "base;touch${IFS}owned-by-branch;$(touch${IFS}owned-by-branch)"
    git(folder, "init", "-q", "-b", branch)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    git(folder, "checkout", "-q", "-b", "change")
    for name in HOSTILE_NAMES:
        (folder / name).write_text("def run(text):\n    return eval(text)\n")
    for module in ("json", "shlex", "venv", "site", "dragoman"):
        (folder / f"{module}.py").write_text(EVIL)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Change")
    before = set(os.listdir(folder))
    outcome, outputs = act(
        folder, MODE="review", BASE=branch, OUTPUT="-o $(touch owned-by-output)", FAIL_ON="medium"
    )
    assert (outcome.returncode, outputs["status"]) == (1, "1"), outcome.stdout + outcome.stderr
    sarif = json.loads((folder / outputs["sarif"]).read_text())
    places = [result["locations"][0]["physicalLocation"] for result in sarif["runs"][0]["results"]]
    assert len({place["artifactLocation"]["uri"] for place in places}) >= len(HOSTILE_NAMES)
    assert set(os.listdir(folder)) - before == {"-o $(touch owned-by-output)", "cache", "dragoman", "outputs"}
    commands = [line for line in outcome.stdout.splitlines() if line.startswith("::")]
    assert "::error::owned.py" not in commands
    assert all("file=" in line for line in commands), commands


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (
            {"MODE": "review", "BASE": "--output=owned", "PATHS": "a b\n\n-x\n$(id)\n", "FAIL_ON": "-h;\tid"},
            [
                *["review", "--fail-on=-h;\tid", "--diff=--output=owned", "--format", "github", "--"],
                "a b",
                "-x",
                "$(id)",
            ],
        ),
        (
            {"MODE": "check", "AGENT": "sh -c 'a\nb' \"$(id)\" *", "WAIVERS": "-w $(id)"},
            ["--waivers=-w $(id)", "--", "sh", "-c", "a\nb", "$(id)", "*"],
        ),
    ],
    ids=["review", "check"],
)
def test_every_input_is_one_word_of_the_command(
    tmp_path: Path, inputs: dict[str, str], words: list[str]
) -> None:
    recorder = tmp_path / "recorder"
    recorder.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\" > words\nexit 2\n")
    recorder.chmod(0o755)
    act(tmp_path, program=recorder, **inputs)
    assert (tmp_path / "words").read_text().split("\0")[:-1][-len(words) :] == words


def test_the_runner_gets_no_command_and_no_output_from_an_input(tmp_path: Path) -> None:
    outcome, _ = act(tmp_path, MODE="x\n::warning::owned")
    assert [line for line in outcome.stdout.splitlines() if line.startswith("::warning")] == []
    outcome, outputs = act(tmp_path, MODE="review", OUTPUT="x\nstatus=0")
    assert outcome.returncode == 2
    assert outputs == {}


def test_the_action_hands_every_input_to_its_script_by_the_environment() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    (step,) = action["runs"]["steps"]
    assert "inputs." not in step["run"]
    used = {re.sub(r"\$\{\{ inputs\.(.+) \}\}", r"\1", value) for value in step["env"].values()}
    assert used == set(action["inputs"])
    script = SCRIPT.read_text("utf-8")
    assert [name for name in step["env"] if name not in script] == []
    for name, output in action["outputs"].items():
        assert output["value"] == f"${{{{ steps.run.outputs.{name} }}}}"
        assert f"printf '{name}=" in script


def test_hooks_are_commands_of_ours() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    for hook in hooks:
        words = hook["entry"].split()
        assert words[0] == "dragoman"
        make_parser().parse_args([*words[1:], *([] if hook.get("pass_filenames") is False else ["file"])])
        assert "additional_dependencies" not in hook, "what they need comes with the command"


def test_the_entry_for_the_registry_starts_the_reviewer_of_this_version() -> None:
    entry = json.loads((ROOT / "registry/dragoman-review/agent.json").read_text("utf-8"))
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert entry["version"] == VERSION
    uvx = entry["distribution"]["uvx"]
    assert uvx["package"] == f"dragoman=={VERSION}"
    assert make_parser().parse_args(uvx["args"]).command_row.name == "agent review"
    icon = (ROOT / "registry/dragoman-review/icon.svg").read_text("utf-8")
    assert 'viewBox="0 0 16 16"' in icon
    assert "currentColor" in icon
