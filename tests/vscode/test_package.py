"""The packaged extension holds what its manifest names, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from dragoman.testing.pace import patience
from dragoman.version import VERSION
from tests.vscode.conftest import EXTENSION, ROOT

VSCE = ROOT / "vscode" / "node_modules" / "@vscode" / "vsce" / "vsce"
COMPANIONS = {"package.json", "dist/webview.js", "dist/webview.css", "README.md", "LICENSE"}
"""What no field of the manifest names, and the extension or the law needs."""


def manifest() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    return document


def paths_in(value: Any) -> set[str]:
    """Every path that a manifest names, at any depth."""
    if isinstance(value, dict):
        return set().union(*map(paths_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(paths_in, value))
    text = value.removeprefix("./") if isinstance(value, str) else ""
    return {text} if text.startswith(("media/", "dist/")) else set()


def licences() -> set[str]:
    return {f"LICENSES/{path.name}" for path in (ROOT / "LICENSES").iterdir()}


def test_the_folder_that_is_packaged_holds_what_the_manifest_names_and_nothing_else(node: list[str]) -> None:
    files = {path.relative_to(EXTENSION).as_posix() for path in EXTENSION.rglob("*") if path.is_file()}
    assert files == COMPANIONS | paths_in(manifest()) | licences()
    assert manifest()["version"] == VERSION


def test_every_command_in_a_menu_or_a_walkthrough_is_one_of_the_commands(node: list[str]) -> None:
    contributes = manifest()["contributes"]
    commands = {entry["command"] for entry in contributes["commands"]}
    menus = {entry["command"] for entries in contributes["menus"].values() for entry in entries}
    steps = json.dumps(contributes["walkthroughs"])
    linked = {f"dragoman.{rest.partition(')')[0]}" for rest in steps.split("command:dragoman.")[1:]}
    assert menus | linked <= commands
    assert linked


def test_every_setting_says_what_it_means_and_the_readme_names_it(node: list[str]) -> None:
    readme = (EXTENSION / "README.md").read_text("utf-8")
    for name, about in manifest()["contributes"]["configuration"]["properties"].items():
        assert about.get("description") or about.get("markdownDescription"), name
        assert f"`{name}`" in readme, name
    assert "description" in manifest()["capabilities"]["untrustedWorkspaces"]


def test_the_bundles_hold_no_token_storage_and_no_telemetry(node: list[str]) -> None:
    host = (EXTENSION / "dist" / "extension.js").read_text("utf-8")
    view = (EXTENSION / "dist" / "webview.js").read_text("utf-8")
    assert "secrets" in host
    assert "acquireVsCodeApi" in view
    for word in ("TelemetryReporter", "createTelemetryLogger", "instrumentationKey"):
        assert word not in host + view


def test_the_archive_is_the_folder(node: list[str], tmp_path: Path) -> None:
    if not VSCE.is_file():
        pytest.skip("the packager is not installed (npm ci in vscode/, or make vscode)")
    archive = tmp_path / "dragoman.vsix"
    command = [
        str(shutil.which("node")),
        str(VSCE),
        "package",
        "--no-dependencies",
        "--allow-missing-repository",
    ]
    subprocess.run([*command, "--out", str(archive)], cwd=EXTENSION, check=True, timeout=patience(60))
    with ZipFile(archive) as packed:
        names = {
            name.removeprefix("extension/") for name in packed.namelist() if name.startswith("extension/")
        }
    renamed = {"README.md": "readme.md", "LICENSE": "LICENSE.txt"}  # as the packager does
    files = {path.relative_to(EXTENSION).as_posix() for path in EXTENSION.rglob("*") if path.is_file()}
    assert names == {renamed.get(name, name) for name in files}
