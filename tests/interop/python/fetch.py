"""Fetches the source archives of the official Python SDK: its own examples, and its coming version.

Run once, `python tests/interop/python/fetch.py`; tests that need them are skipped until then. They land in
the virtual environment, because they are not ours to keep in the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("0.12.1", "1.0.0rc3")
HOME = Path(sys.prefix) / "share" / "dragoman-interop"


def sources(version: str) -> Path:
    """Where the archive of a version is unpacked: `src` and `examples` are inside."""
    return HOME / f"agent_client_protocol-{version}"


def fetch(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wanted = [f"agent-client-protocol=={version}", "--no-binary", "agent-client-protocol", "--no-deps"]
        subprocess.run([*next(pips()), "download", "--quiet", "--dest", folder, *wanted], check=True)
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(HOME, filter="data")


def pips() -> Iterator[list[str]]:
    """Ours, or else one from outside: an environment need not have its own."""
    for python in (sys.executable, shutil.which("python3"), f"{sys.base_prefix}/bin/python3"):
        command = [str(python), "-m", "pip", "--disable-pip-version-check"]
        if subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
            yield command
    raise SystemExit("no pip was found to fetch with")


if __name__ == "__main__":
    for missing in (version for version in VERSIONS if not sources(version).is_dir()):
        fetch(missing)
        print(f"fetched {sources(missing)}")
