"""What we bring into the houses of others: the action, the hooks and the entry for the registry."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from dragoman.cli.parser import make_parser
from dragoman.testing.pace import patience
from dragoman.version import VERSION

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools/action.sh"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def act(folder: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run the script of the action with these inputs, and our own program."""
    program = folder / "dragoman"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dragoman "$@"\n')
    program.chmod(0o755)
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
        assert f'echo "{name}=' in script


def test_hooks_are_commands_of_ours() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    for hook in hooks:
        words = hook["entry"].split()
        assert words[0] == "dragoman"
        make_parser().parse_args([*words[1:], *([] if hook.get("pass_filenames") is False else ["file"])])
        for line in hook.get("additional_dependencies", ()):
            assert line in PROJECT["optional-dependencies"]["review"]


def test_the_entry_for_the_registry_starts_the_reviewer_of_this_version() -> None:
    entry = json.loads((ROOT / "registry/dragoman-review/agent.json").read_text("utf-8"))
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert entry["version"] == VERSION
    uvx = entry["distribution"]["uvx"]
    assert uvx["package"] == f"dragoman[review]=={VERSION}"
    assert make_parser().parse_args(uvx["args"]).command_row.name == "agent review"
    icon = (ROOT / "registry/dragoman-review/icon.svg").read_text("utf-8")
    assert 'viewBox="0 0 16 16"' in icon
    assert "currentColor" in icon
