"""Packages of npm and of Python, installed into a folder of their own by the person's npm and our pip.

Both are installed by hash. npm checks each package by the lock file that it writes, which is read afterwards:
a package without a hash is refused, and so is an agent whose hash is not the one that its entry names. No
script of a package runs before that, and none at all unless scripts are allowed. For Python, pip first says
what it would take; that is written down with hashes, and exactly that is installed. Only wheels are taken,
because building a package runs its code, unless scripts are allowed.

Programs get a closed environment: a package's script sees no keys of ours. Each has a deadline and is ended
with all that it started.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import msgspec

from dragoman.errors import LocalMistake
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.known.installation.archives import InstallFailed, Progress
from dragoman.sdk.known.installation.registry import (
    VERSION,
    PackageSource,
    RegistryEntry,
    split_version,
)
from dragoman.sdk.known.installation.store import DistributionKind, PackageHash

SETTINGS = ("npm_config_*", "NPM_CONFIG_*", "PIP_*", "NODE_OPTIONS", "UV_*")
"""Where packages come from is the person's own setting."""

KEPT, KEPT_LINES, KEPT_WIDTH = 64_000, 12, 300
"""Bytes that are read of a failure, and what is shown of them: the end says why, in short lines."""

LOG = "install.log"
"""What npm or pip printed last; a file, because nobody bounds what a script prints."""

NPM_NAME = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*")
PYTHON_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?")

PIP = ("--disable-pip-version-check", "--no-input")
LOCAL = (".tgz", ".tar.gz", ".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageInstall:
    """What was installed, and how it is started."""

    command: tuple[str, ...]
    packages: tuple[PackageHash, ...]
    version: str
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRequest:
    """One package to install: which, where to, and how."""

    source: PackageSource
    spec: str
    """What npm or pip is asked for: a name with a version, or a local file."""
    folder: Path
    seconds: float
    allow_scripts: bool
    progress: Progress
    python: str = sys.executable
    """The Python that a Python package is to run with."""


def package_spec(
    source: PackageSource,
    kind: DistributionKind,
    *,
    entry: RegistryEntry,
    version: str | None,
    folder: Path | None,
) -> str:
    """The package as npm or pip is asked for it, with the version that a person named, else the entry's.

    Raises `LocalMistake` for what is neither a name nor, where `folder` allows it, a file.
    """
    if folder is not None and source.package.endswith(LOCAL):
        if version not in (None, entry.version):
            raise LocalMistake(f"{entry.id} comes as a file of version {entry.version}, in no other version")
        return str((folder / source.package).resolve())
    name, own = split_version(source.package, kind)
    if not (NPM_NAME if kind == "npx" else PYTHON_NAME).fullmatch(name):
        raise LocalMistake(f"{source.package[:100]!r} is no name of a package")
    target = version or own or entry.version
    if not VERSION.fullmatch(target):
        raise LocalMistake(f"{target[:100]!r} is no version of a package")
    return f"{name}@{target}" if kind == "npx" else f"{name}=={target}"


def npm_command(spec: str) -> list[str]:
    """How npm is called; whoever is asked sees this."""
    return ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", spec]


def pip_command(spec: str, *, allow_scripts: bool) -> list[str]:
    """How pip is called to say what it would take; it is installed by hash after that."""
    wheels = [] if allow_scripts else ["--only-binary", ":all:"]
    return ["pip", "install", *wheels, spec]


def install_npm(request: PackageRequest) -> PackageInstall:
    """Install a package of npm. Raises `InstallFailed`."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed("npm is not on PATH; install Node.js, which brings it")
    folder, deadline = request.folder, time.monotonic() + request.seconds
    (folder / "package.json").write_text('{"private": true}\n')
    request.progress("npm fetches the package and what it needs")
    run_program([npm, *npm_command(request.spec)[1:]], folder, deadline)
    lock = _read_json(folder / "package-lock.json")
    name = next(iter(_members(_read_json(folder / "package.json"), "dependencies")), None)
    if name is None:
        raise InstallFailed("npm installed nothing")
    entries = dict(_locked_packages(lock))
    packages = tuple(_npm_hash(path, entry) for path, entry in entries.items())
    main = entries.get(f"node_modules/{name}", {})
    _check_hash(request.source.integrity, str(main.get("integrity")), name)
    scripts = tuple(_label(path) for path, entry in entries.items() if entry.get("hasInstallScript"))
    if scripts and request.allow_scripts:
        request.progress(f"npm runs the install scripts of {', '.join(scripts)}")
        run_program([npm, "rebuild", "--foreground-scripts"], folder, deadline)
        scripts = ()
    return PackageInstall(
        command=(_npm_program(folder, name, request.source.cmd),),
        packages=packages,
        version=str(main.get("version", "")),
        scripts=scripts,
    )


def install_python(request: PackageRequest) -> PackageInstall:
    """Install a package of Python into an environment of its own. Raises `InstallFailed`."""
    folder, deadline = request.folder, time.monotonic() + request.seconds
    has_pip = find_spec("pip") is not None
    request.progress("a Python environment is made")
    bare = ["--without-pip"] if has_pip else []
    run_program([request.python, "-m", "venv", *bare, str(folder / "venv")], folder, deadline)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / ("python.exe" if os.name == "nt" else "python"))
    pip = [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
    request.progress("pip looks for the package and what it needs")
    report = folder / "report.json"
    words = pip_command(request.spec, allow_scripts=request.allow_scripts)[1:]
    run_program([*pip, *words, *PIP, "--dry-run", "--quiet", "--report", str(report)], folder, deadline)
    items = [item for item in _read_json(report).get("install", ()) if isinstance(item, dict)]
    packages = tuple(_pip_hash(item) for item in items)
    main = next((item for item in items if item.get("requested")), None)
    if main is None:
        raise InstallFailed("pip installed nothing")
    _check_hash(request.source.sha256, _pip_hash(main).hash.partition(":")[2], _pip_hash(main).name)
    lines = folder / "requirements.txt"
    lines.write_text("".join(_requirement(item) for item in items), encoding="utf-8")
    request.progress(f"pip installs {len(items)} packages by their hashes")
    locked = ["install", "--require-hashes", "--no-deps", "--quiet", "-r", str(lines)]
    run_program([*pip, *locked, *PIP, *words[1:-1]], folder, deadline)
    program = _python_program(programs, _pip_hash(main).name, request.source.cmd)
    return PackageInstall(command=(program,), packages=packages, version=_pip_hash(main).version)


def run_program(words: Sequence[str], folder: Path, deadline: float) -> None:
    """Run a program to its end in the folder. Raises `InstallFailed` with its last words."""
    label = os.path.basename(words[0])
    processes: list[subprocess.Popen[bytes]] = []
    with (folder / LOG).open("wb") as log:
        try:
            # A signal that ends us is raised in the main thread, also in the middle of a start: the program
            # would run, and nobody would know its process. The thread that starts it is not disturbed.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(_start, words, folder, log, processes).result()
            status = processes[0].wait(timeout=max(0.1, deadline - time.monotonic()))
        except OSError as error:
            raise InstallFailed(f"cannot run {label}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise InstallFailed(f"{label} was ended because its time was up; see --timeout") from None
        finally:
            for process in processes:
                if process.poll() is None:
                    _end_tree(process)
    if status != 0:
        lines = (folder / LOG).read_bytes()[-KEPT:].decode(errors="replace").strip().splitlines()
        text = "\n".join(f"  {line[:KEPT_WIDTH]}" for line in lines[-KEPT_LINES:])
        raise InstallFailed(f"{label} ended with status {status}:\n{text}")


def _start(
    words: Sequence[str], folder: Path, log: IO[bytes], processes: list[subprocess.Popen[bytes]]
) -> None:
    processes.append(
        subprocess.Popen(
            words,
            cwd=folder,
            env=agent_environment(allow=SETTINGS),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    )


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        process.kill()
    else:
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _check_hash(wanted: str | None, have: str, name: str) -> None:
    if wanted is not None and wanted.casefold() != have.casefold():
        raise InstallFailed(
            f"the hash of {name} is {have}, and the list of agents says {wanted}; nothing was kept"
        )


def _locked_packages(lock: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The packages of a lock file that are here: optional ones for other systems are named there too."""
    for path, entry in _members(lock, "packages").items():
        if path and isinstance(entry, dict) and not entry.get("link") and not entry.get("inBundle"):
            yield path, entry


def _npm_hash(path: str, entry: Mapping[str, Any]) -> PackageHash:
    name, integrity = _label(path), entry.get("integrity")
    if not isinstance(integrity, str):
        raise InstallFailed(f"the package {name} has no hash in npm's lock file; nothing was kept")
    return PackageHash(name=name, version=str(entry.get("version", "")), hash=integrity)


def _label(path: str) -> str:
    return path.rpartition("node_modules/")[2]


def _npm_program(folder: Path, name: str, cmd: str | None) -> str:
    """The package's program by the rules of npx: the only one, else the one of the package's own name."""
    own = name.rpartition("/")[2]
    programs = _read_json(folder / "node_modules" / name / "package.json").get("bin", {})
    names = {own: programs} if isinstance(programs, str) else programs if isinstance(programs, dict) else {}
    choice = cmd or (own if own in names or len(set(map(str, names.values()))) != 1 else next(iter(names)))
    place = folder / "node_modules" / ".bin" / (f"{choice}.cmd" if os.name == "nt" else choice)
    if not place.exists():
        raise InstallFailed(
            f"the package {name} has no program {choice!r}; it has {', '.join(names) or 'none'}"
        )
    return str(place)


def _pip_hash(item: Mapping[str, Any]) -> PackageHash:
    metadata = _members(item, "metadata")
    name = str(metadata.get("name", ""))
    archive = _members(_members(item, "download_info"), "archive_info")
    digest = _members(archive, "hashes").get("sha256")
    if not isinstance(digest, str):
        raise InstallFailed(f"pip knows no SHA-256 of {name}; nothing was kept")
    return PackageHash(name=name, version=str(metadata.get("version", "")), hash=f"sha256:{digest}")


def _requirement(item: Mapping[str, Any]) -> str:
    package = _pip_hash(item)
    url = _members(item, "download_info").get("url")
    which = f"{package.name} @ {url}" if item.get("is_direct") else f"{package.name}=={package.version}"
    return f"{which} --hash={package.hash}\n"


def _python_program(programs: Path, name: str, cmd: str | None) -> str:
    choice = cmd or name
    place = programs / (f"{choice}.exe" if os.name == "nt" else choice)
    if not place.exists():
        raise InstallFailed(f"the package {name} has no program {choice!r}")
    return str(place)


# Lock files and reports are JSON of other programs, read member by member.
def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        raise InstallFailed(f"{path.name} was not written as expected") from None
    return document if isinstance(document, dict) else {}


def _members(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}
