"""The generator: same input, same bytes; other input, a clear no."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.schema.published_schemas import PACKAGE, needs_schemas

TOOLS = Path(__file__).parents[1] / "tools"
GENERATOR = TOOLS / "generate_schema.py"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("generate_schema")


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, GENERATOR, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


@needs_schemas
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_output_does_not_depend_on_the_order_of_sets(seed: str) -> None:
    checked = run("--check", PYTHONHASHSEED=seed)
    assert (checked.returncode, checked.stderr) == (0, "")


@needs_schemas
def test_stale_files_are_named(generator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = generator.generate(PACKAGE)
    monkeypatch.setattr(generator, "TARGET", tmp_path)
    generator.write(files, tmp_path)
    assert generator.stale(files) == []
    (tmp_path / "v1" / "fs.py").unlink()
    (tmp_path / "v1" / "old.py").write_text("")
    (tmp_path / "v2" / "plan.py").write_text("edited = True\n")
    assert generator.stale(files) == ["left over: v1/old.py", "missing: v1/fs.py", "differs: v2/plan.py"]
    monkeypatch.setattr(sys, "argv", ["generate_schema.py", "--check", "--package", str(PACKAGE)])
    assert generator.main() == 1
    generator.write(files, tmp_path)
    assert generator.stale(files) == []


@needs_schemas
def test_another_schema_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "sdk"
    shutil.copytree(PACKAGE / "schema", package / "schema")
    (package / "package.json").write_text('{"version": "2.4.0"}')
    with (package / "schema" / "v2" / "schema.json").open("a") as file:
        file.write(" ")
    changed = run("--check", "--package", package)
    assert changed.returncode == 2
    assert "schema/v2/schema.json is not the pinned file" in changed.stderr
    (package / "package.json").write_text('{"version": "2.5.0"}')
    assert "pinned to 2.4.0" in run("--package", package).stderr


def test_a_missing_package_is_explained(tmp_path: Path) -> None:
    missing = run("--check", "--package", tmp_path)
    assert missing.returncode == 2
    assert "make setup" in missing.stderr


def test_names_become_python(generator: Any) -> None:
    names = importlib.import_module("schema.names")
    assert [names.snake(wire) for wire in ("sessionId", "_meta", "rawInput", "from", "uri")] == [
        "session_id", "meta", "raw_input", "from_", "uri",
    ]  # fmt: skip
    assert [names.constant(name) for name in ("ToolKind", "ToolCallStatus", "PlanEntryPriority")] == [
        "TOOL_KINDS", "TOOL_CALL_STATUSES", "PLAN_ENTRY_PRIORITIES",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="has no topic"):
        names.topic("Zebra")
