"""Installs npm and Python packages into their own folder, with the user's npm and the pip of this Python.

Both are installed by hash. npm is first asked for the hash that its registry has of the agent. Then it checks
each package by the lock file that it writes, which is read afterwards: a package without a hash is refused,
and so is an agent whose hash is not the one that its entry and the registry name. No script of a package runs
before that, and none at all unless scripts are allowed. For Python, pip first says what it would take; that
is written down with hashes, and exactly that is installed. Only wheels are taken, because building a package
runs its code, unless scripts are allowed.

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
from typing import Any

import msgspec

from dragoman.errors import LocalMistake
from dragoman.sdk.environment import agent_environment
from dragoman_local.known.installation.archives import InstallFailed, Progress
from dragoman_local.known.installation.registry import (
    VERSION,
    ArchiveSource,
    PackageSource,
    RegistryEntry,
    split_version,
)
from dragoman_local.known.installation.store import DistributionKind, PackageHash

SETTINGS = ("npm_config_*", "NPM_CONFIG_*", "PIP_*", "NODE_OPTIONS", "UV_*")
"""Settings that must come from the user: the origin of packages."""

KEPT, KEPT_LINES, KEPT_WIDTH = 64_000, 12, 300
"""The bytes to read of a failure's output, and the lines and their width to show, from its end."""

LOG = "install.log"
"""The file for the last output of npm or pip, which has no size limit."""

NPM_NAME = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*")
PYTHON_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?")

NPM_IMPATIENT = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000")
LOOK_SECONDS = 60.0
"""The seconds for a small request to a registry, with npm's start on a busy machine."""

UNREACHABLE = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|"
    r"ERR_SOCKET_TIMEOUT|FETCH_ERROR|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|"
    r"ProxyError|ProtocolError)\b|network timeout|connection broken"
)
"""The messages of npm and pip when their registry does not answer."""

PIP = ("--disable-pip-version-check", "--no-input")
LOCAL = (".tgz", ".tar.gz", ".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageInstall:
    """An installed package, and the command that starts it."""

    command: tuple[str, ...]
    packages: tuple[PackageHash, ...]
    version: str
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRequest:
    """One package to install: its name, the folder, and the way."""

    source: PackageSource
    spec: str
    """The argument for npm or pip: a name with a version, or a local file."""
    folder: Path
    seconds: float
    allow_scripts: bool
    progress: Progress
    python: str = sys.executable
    """The Python for a Python package."""


def package_spec(
    source: PackageSource,
    kind: DistributionKind,
    *,
    entry: RegistryEntry,
    version: str | None,
    folder: Path | None,
) -> str:
    """Return the package as npm or pip expects it, with the user's version, otherwise the entry's.

    Raises `LocalMistake` for what is neither a name nor, where `folder` allows it, a file.
    """
    if folder is not None and source.package.endswith(LOCAL):
        if version not in (None, entry.version):
            raise LocalMistake(f"{entry.id} comes as a file of version {entry.version}, in no other version")
        return str((folder / source.package).resolve())
    name, own = split_version(source.package, kind)
    if not (NPM_NAME if kind == "npx" else PYTHON_NAME).fullmatch(name):
        raise LocalMistake(f"{source.package[:100]!r} is not a name of a package")
    target = version or own or entry.version
    if not VERSION.fullmatch(target):
        raise LocalMistake(f"{target[:100]!r} is not a version of a package")
    return f"{name}@{target}" if kind == "npx" else f"{name}=={target}"


def listed_version(
    source: PackageSource | ArchiveSource, kind: DistributionKind, *, entry: RegistryEntry
) -> str:
    """Return the version of this source's hashes."""
    if isinstance(source, ArchiveSource) or source.package.endswith(LOCAL):
        return entry.version
    return split_version(source.package, kind)[1] or entry.version


def npm_command(spec: str) -> list[str]:
    """Return the npm command, as the user sees it."""
    return ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", spec]


def pip_command(spec: str, *, allow_scripts: bool) -> list[str]:
    """Return the pip command that lists the needed packages; they are then installed by hash."""
    wheels = [] if allow_scripts else ["--only-binary", ":all:"]
    return ["pip", "install", *wheels, spec]


def install_npm(request: PackageRequest) -> PackageInstall:
    """Install a package of npm. Raises `InstallFailed`."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed("npm is not on PATH; install Node.js, which brings it")
    folder, deadline = request.folder, time.monotonic() + request.seconds
    (folder / "package.json").write_text('{"private": true}\n')
    integrity = None if os.path.isabs(request.spec) else _registry_hash(npm, request, deadline)
    request.progress("npm fetches the package and what it needs")
    _fetch([npm, *npm_command(request.spec)[1:]], request, deadline, tool="npm")
    lock = _read_json(folder / "package-lock.json")
    name = next(iter(_members(_read_json(folder / "package.json"), "dependencies")), None)
    if name is None:
        raise InstallFailed("npm installed nothing")
    entries = dict(_locked_packages(lock))
    packages = tuple(_npm_hash(path, entry) for path, entry in entries.items())
    main = entries.get(f"node_modules/{name}", {})
    _check_hash(request.source.integrity, str(main.get("integrity")), name, by="the list of agents")
    _check_hash(integrity, str(main.get("integrity")), name, by="npm's registry")
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
    """Install a package of Python into its own environment. Raises `InstallFailed`."""
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
    look = ["--dry-run", "--quiet", "--retries", "1", "--report", str(report)]
    _fetch([*pip, *words, *PIP, *look], request, deadline, tool="pip")
    items = [item for item in _read_json(report).get("install", ()) if isinstance(item, dict)]
    packages = tuple(_pip_hash(item) for item in items)
    main = next((item for item in items if item.get("requested")), None)
    if main is None:
        raise InstallFailed("pip installed nothing")
    name, digest = _pip_hash(main).name, _pip_hash(main).hash.partition(":")[2]
    _check_hash(request.source.sha256, digest, name, by="the list of agents")
    lines = folder / "requirements.txt"
    lines.write_text("".join(_requirement(item) for item in items), encoding="utf-8")
    request.progress(f"pip installs {len(items)} packages by their hashes")
    locked = ["install", "--require-hashes", "--no-deps", "--quiet", "-r", str(lines)]
    _fetch([*pip, *locked, *PIP, *words[1:-1]], request, deadline, tool="pip")
    program = _python_program(programs, name, request.source.cmd)
    return PackageInstall(command=(program,), packages=packages, version=_pip_hash(main).version)


def _registry_hash(npm: str, request: PackageRequest, deadline: float) -> str:
    """The hash of the package by npm's registry. A small question with a short deadline: a person without a
    network learns it now, and not when npm has tried everything again.
    """
    request.progress(f"npm asks its registry for {request.spec}")
    words = [npm, "view", request.spec, "dist.integrity", "--json", *NPM_IMPATIENT]
    answer = request.folder / "view.json"
    try:
        soon = min(deadline, time.monotonic() + LOOK_SECONDS)
        _fetch(words, request, soon, tool="npm", output=answer)
    except _TimeUp:
        raise InstallFailed(_unreachable("npm", request.spec)) from None
    integrity = msgspec.json.decode(answer.read_bytes() or b"null")
    if not isinstance(integrity, str):
        raise InstallFailed(f"npm's registry has no hash of {request.spec}; nothing was installed")
    return integrity


def _fetch(
    words: Sequence[str], request: PackageRequest, deadline: float, *, tool: str, output: Path | None = None
) -> None:
    """Run npm or pip. Raises `InstallFailed`, which says what to do where the tool's own words do not."""
    try:
        run_program(words, request.folder, deadline, output=output)
    except _TimeUp:
        raise _TimeUp(f"{tool} was ended because its time was up; allow it more with --timeout") from None
    except InstallFailed as failure:
        text = (request.folder / LOG).read_text("utf-8", errors="replace")
        if UNREACHABLE.search(text):
            raise InstallFailed(f"{_unreachable(tool, request.spec)}\n{failure}") from None
        if wanted := _wanted_python(text, request.spec):
            example = re.search(r">=?\s*(3\.\d+)", wanted)
            raise InstallFailed(
                f"{request.spec} needs Python {wanted}, and {request.python} is another version; "
                f"name one with --python, such as: --python python{example[1] if example else '3'}"
            ) from None
        raise


def _unreachable(tool: str, spec: str) -> str:
    place = "npm config get registry" if tool == "npm" else "pip config list"
    return (
        f"{tool} could not reach its registry to get {spec}; check your network and your proxy. "
        f"To see where {tool} looks: {place}"
    )


def _wanted_python(text: str, spec: str) -> str | None:
    """The versions of Python that a package needs, if pip refused it for that."""
    version = re.escape(spec.rpartition("==")[2])
    found = re.search(rf" {version} Requires-Python ([^;\s]+)", text)
    found = found or re.search(r"requires a different Python: \S+ not in '([^']+)'", text)
    return found[1] if found else None


class _TimeUp(InstallFailed):
    """A program had to be ended at its deadline."""


def run_program(words: Sequence[str], folder: Path, deadline: float, *, output: Path | None = None) -> None:
    """Run a program to its end in the folder. Its output goes to our log, except for its standard output if
    `output` names another file. Raises `InstallFailed` with its last lines.
    """
    label = os.path.basename(words[0])
    processes: list[subprocess.Popen[bytes]] = []
    with (folder / LOG).open("wb") as log, (output or folder / LOG).open("ab") as out:
        try:
            # A signal that ends us is raised in the main thread, also in the middle of a start: the program
            # would run, and nobody would know its process. The thread that starts it is not disturbed.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(
                    lambda: processes.append(
                        subprocess.Popen(
                            words,
                            cwd=folder,
                            env=agent_environment(allow=SETTINGS),
                            stdin=subprocess.DEVNULL,
                            stdout=out,
                            stderr=log,
                            start_new_session=True,
                        )
                    )
                ).result()
            status = processes[0].wait(timeout=max(0.1, deadline - time.monotonic()))
        except OSError as error:
            raise InstallFailed(f"cannot run {label}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise _TimeUp(
                f"{label} was ended because its time was up; allow it more with --timeout"
            ) from None
        finally:
            for process in processes:
                if process.poll() is None:
                    _end_tree(process)
    if status != 0:
        lines = (folder / LOG).read_bytes()[-KEPT:].decode(errors="replace").strip().splitlines()
        text = "\n".join(f"  {line[:KEPT_WIDTH]}" for line in lines[-KEPT_LINES:])
        raise InstallFailed(f"{label} ended with status {status}:\n{text}")


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        process.kill()
    else:
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _check_hash(wanted: str | None, have: str, name: str, *, by: str) -> None:
    if wanted is not None and wanted.casefold() != have.casefold():
        raise InstallFailed(f"the hash of {name} is {have}, and {by} says {wanted}; nothing was kept")


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
