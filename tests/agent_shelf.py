"""Agents that can be installed without a network: archives in a folder, and a list that names them."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dragoman_local.known.installation.registry import this_platform
from tests.forks import DRAGOMAN

ECHO = f"#!/bin/sh\nexec {shlex.join(DRAGOMAN)} agent echo\n"
"""The program of an archive: an agent that works."""


def archive_entry(
    shelf: Path, name: str, *, version: str = "1.0.0", script: str = ECHO, sha256: str = "", **members: Any
) -> dict[str, Any]:
    """An entry of a list, and its archive; the hash is right unless another one is given."""
    path = shelf / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(f"{name}/run.sh")
        info.size = len(script.encode())
        tar.addfile(info, io.BytesIO(script.encode()))
    target = {
        "archive": path.name,
        "cmd": f"./{name}/run.sh",
        "sha256": sha256 or hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    entry = {"id": name, "name": name.capitalize(), "version": version, "license": "MIT"}
    return {**entry, "distribution": {"binary": {this_platform(): target}}, **members}


def keep_list(data: Path, shelf: Path, entries: Iterable[dict[str, Any]]) -> None:
    """The list of whoever has their data in this folder: the shipped one with these entries in front, whose
    local files are those of the shelf.
    """
    data.mkdir(parents=True, exist_ok=True)
    kept = {"schema": 1, "made": "2026-01-01", "origin": str(shelf / "list.json"), "agents": list(entries)}
    (data / "registry.json").write_text(json.dumps(kept))
