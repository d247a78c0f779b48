"""Agents that the real command installs without a network: packages, archives and lists, made here."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli import main
from dragoman_local.known import find_agent
from dragoman_local.known.installation.registry import this_platform
from dragoman_local.known.installation.store import store_folder

TINY = Path(__file__).parents[3] / "local/tests/known/installation/tiny_agent"

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agent that npm packed."""
    folder = tmp_path_factory.mktemp("shelf")
    words = ["npm", "pack", "--silent", "--ignore-scripts", str(TINY)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("data", "config", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_offline", "true")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agents(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    result = main(["agents", *words])
    out, err = capsys.readouterr()
    assert result == status, err
    return out, err


def list_with(folder: Path, version: str, **distribution: Any) -> str:
    entry = {"id": "tiny", "name": "Tiny", "version": version, "description": "", "license": "MIT"}
    path = folder / f"list-{version}.json"
    path.write_text(json.dumps({"version": "1.0.0", "agents": [{**entry, "distribution": distribution}]}))
    return str(path)


def npm_list(shelf: Path, version: str, **members: Any) -> str:
    package = f"tiny-acp-agent-{version}.tgz"
    return list_with(shelf, version, npx={"package": package, "args": ["--acp"], **members})


def archive_list(folder: Path, version: str, *, sha256: str | None = "", **members: Any) -> str:
    """An archive whose program is a script; its hash is right unless another one is given."""
    name, script = f"agent-{version}.tar.gz", f"#!/bin/sh\necho {version} $TINY_MODE\n".encode()
    with tarfile.open(folder / name, "w:gz") as tar:
        info = tarfile.TarInfo("tiny/run.sh")
        info.size = len(script)
        tar.addfile(info, io.BytesIO(script))
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest() if sha256 == "" else sha256
    target = {"archive": name, "cmd": "./tiny/run.sh", "env": {"TINY_MODE": "on"}, **members}
    if digest is not None:
        target["sha256"] = digest
    return list_with(folder, version, binary={this_platform(): target})


def output_of_tiny() -> str:
    agent = find_agent("tiny")
    return subprocess.run(
        agent.command, env={**os.environ, **agent.env}, check=True, capture_output=True
    ).stdout.decode()


def installations() -> list[str]:
    folder = store_folder() / "tiny"
    return (
        sorted(path.name.rpartition("-")[0] for path in folder.iterdir() if path.is_dir())
        if folder.exists()
        else []
    )
