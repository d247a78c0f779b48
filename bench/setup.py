"""Fetches the peers: a virtual environment for each Python SDK, ours included, node_modules for TypeScript.

Safe to call again: an environment that already holds the pinned version is left alone. A peer that cannot be
fetched (no npm, no network) is reported with the reason and left out of the run; it never stops the others.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from peers.table import BENCH, PYTHON_SDKS, VENVS, venv_python

SECONDS = 300
TS = BENCH / "ts"


def missing_peers(names: Sequence[str]) -> dict[str, str]:
    """Set up these peers; the ones that are not usable, with the reason."""
    missing = {}
    fetchers: dict[str, Callable[[], None]] = {name: partial(_python, name) for name in PYTHON_SDKS}
    fetchers["typescript"] = _typescript
    fetchers["dragoman"] = fetchers["dragoman_blocking"] = _ours
    for name, fetch in fetchers.items():
        if name in names and (reason := _failure(name, fetch)):
            missing[name] = reason
    return missing


def _failure(name: str, fetch: Callable[[], None]) -> str | None:
    try:
        fetch()
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "").strip().splitlines()
        return f"cannot set up {name}: {said[-1] if said else error}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot set up {name}: {error}"
    return None


def _python(name: str) -> None:
    wanted = "\n".join(PYTHON_SDKS[name])
    stamp = VENVS / name / ".holds"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"setting up {name}: {', '.join(PYTHON_SDKS[name])}", flush=True)
    venv.create(VENVS / name, clear=True, symlinks=True, with_pip=False)
    _run([*_installer(venv_python(name)), *PYTHON_SDKS[name]])
    stamp.write_text(wanted)


def _ours() -> None:
    _python("dragoman")
    _python("dragoman_alone")


def _installer(python: str) -> list[str]:
    """uv where it is on PATH, else the pip of this interpreter, else the pip beside its base."""
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", python]
    own = sys.executable if importlib.util.find_spec("pip") else shutil.which("python3") or "python3"
    return [own, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]


def _typescript() -> None:
    stamp = TS / "node_modules" / ".holds"
    lock = (TS / "package-lock.json").read_text()
    if stamp.exists() and stamp.read_text() == lock:
        return
    print("setting up typescript", flush=True)
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise OSError(f"{program} is not on PATH")
    _run(["npm", "ci", "--silent"], cwd=TS)
    stamp.write_text(lock)


def _run(command: list[str], *, cwd: Path = BENCH) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=SECONDS)


if __name__ == "__main__":
    problems = missing_peers([*PYTHON_SDKS, "typescript"])
    print("\n".join(problems.values()) or "every peer is ready")
    sys.exit(bool(problems))
