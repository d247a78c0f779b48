"""Environments as users have them: built wheels of ours and what `pip install` would bring with them.

An environment is made of symbolic links in milliseconds. It holds of our wheels, unpacked, and of the
distributions that are installed here those that were asked for, with all that they require. The checkout is
on none of its paths. Environments lie below a folder that the processes of one test run share; a lock file
lets one of them build the wheels for all.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dragoman.testing.pace import patience
from tests.boxes import PACKAGES, ROOT, WHEEL_BOXES
from tests.workers import folder_of_run

SCRIPT = "#!{python}\nimport sys\n\nfrom dragoman_app.cli import main\n\nsys.exit(main())\n"


def shared_folder(tmp_path: Path) -> Path:
    """The folder of this test run, for a test's own."""
    return folder_of_run(tmp_path.parent)


def environment(folder: Path, installs: Iterable[str]) -> Path:
    """The environment of somebody who ran `pip install` with these; its `bin` has `python`. Who names
    none of our distributions has `dragoman`.
    """
    wanted = sorted(installs)
    if not any(name.startswith("dragoman") for name in wanted):
        wanted.append("dragoman")
    name = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    found = folder / f"environment-{name}"
    with _locked(folder):
        if not (found / "ready").exists():
            shutil.rmtree(found, ignore_errors=True)  # another try may have failed half-way
            _make(found, unpacked_wheels(folder), wanted)
            (found / "ready").touch()
    return found


def bare_environment(target: Path, installs: Iterable[str]) -> Path:
    """An environment of one test, without anything of ours."""
    _make(target, {}, list(installs))
    return target


def variables(environment: Path, home: Path) -> dict[str, str]:
    """What a program in the environment gets: our own variables, but for the ways to the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    system = [path for path in kept.get("PATH", "").split(os.pathsep) if not path.startswith(str(ROOT))]
    return {
        **kept,
        "PATH": os.pathsep.join([str(environment / "bin"), *system]),
        "VIRTUAL_ENV": str(environment),
        "XDG_DATA_HOME": str(home / ".data"),
        "XDG_CONFIG_HOME": str(home / ".config"),
    }


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "environments.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpacked_wheels(folder: Path) -> dict[str, Path]:
    """Each wheel of ours by the name of its distribution, unpacked; built if nobody of this run has."""
    unpacked = folder / "wheels"
    if not unpacked.exists():
        for box in WHEEL_BOXES:
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
            place = ROOT / "packages" / box
            built = subprocess.run(
                command, cwd=place, capture_output=True, text=True, check=False, timeout=patience(120)
            )
            assert built.returncode == 0, f"the wheel was not built; run make setup\n{built.stderr}"
        for wheel in (folder / "dist").glob("*.whl"):
            name = canonicalize_name(wheel.name.partition("-")[0])
            zipfile.ZipFile(wheel).extractall(unpacked / name)
            _take_bytecode(unpacked / name)
    return {place.name: place for place in unpacked.iterdir()}


def _take_bytecode(unpacked: Path) -> None:
    """What pip compiles when it installs. The checkout has it for the same texts; it names their time."""
    for path in unpacked.rglob("*.py"):
        name = path.relative_to(unpacked)
        box = next((box for box, package in PACKAGES.items() if package == name.parts[0]), "sdk")
        source = ROOT / "packages" / box / "src" / name
        compiled = Path(cache_from_source(str(source)))
        if compiled.exists() and source.read_bytes() == path.read_bytes():
            os.utime(path, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
            target = Path(cache_from_source(str(path)))
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, target)


def _make(target: Path, wheels: dict[str, Path], wanted: list[str]) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = target / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    programs = target / "bin"
    programs.mkdir()
    interpreter = Path(os.path.realpath(sys.executable))
    (target / "pyvenv.cfg").write_text(f"home = {interpreter.parent}\ninclude-system-site-packages = false\n")
    for name in ("python", "python3"):
        (programs / name).symlink_to(interpreter)
    ours: dict[str, importlib.metadata.Distribution] = {
        name: importlib.metadata.PathDistribution.at(next(wheel.glob("*.dist-info")))
        for name, wheel in wheels.items()
    }
    found = _required(ours, wanted)
    for name in found.keys() & wheels.keys():
        del found[name]
        for part in wheels[name].iterdir():
            (packages / part.name).symlink_to(part)
    if (packages / "dragoman_app").exists():
        (programs / "dragoman").write_text(SCRIPT.format(python=programs / "python"))
        (programs / "dragoman").chmod(0o755)
    _link(found, packages, programs)


def _required(
    ours: dict[str, importlib.metadata.Distribution], wanted: list[str]
) -> dict[str, importlib.metadata.Distribution]:
    """The distributions that pip would install, by name; of ours the built ones."""
    found: dict[str, importlib.metadata.Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(one) for one in wanted]
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found[name] = ours.get(name) or importlib.metadata.distribution(name)
        for line in found[name].requires or ():
            needed = Requirement(line)
            if any(needed.marker is None or needed.marker.evaluate({"extra": one}) for one in ("", *extras)):
                waiting.append(needed)
    return found


def _link(found: dict[str, importlib.metadata.Distribution], packages: Path, programs: Path) -> None:
    homes: dict[str, set[str]] = {}
    for name, distribution in found.items():
        for file in distribution.files or ():
            homes.setdefault(file.parts[0], set()).add(name)
    for distribution in found.values():
        for file in distribution.files or ():
            origin = Path(str(distribution.locate_file(file)))
            if file.parts[0] == "..":
                _link_program(origin, programs)
                continue
            # A package that several distributions share is a folder of its own, with links in it.
            depth = 1 if len(homes[file.parts[0]]) == 1 else len(file.parts)
            source = Path(str(distribution.locate_file(Path(*file.parts[:depth]))))
            target = packages.joinpath(*file.parts[:depth])
            if not target.is_symlink() and source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)


def _link_program(origin: Path, programs: Path) -> None:
    """Binaries alone: a script would start the interpreter of the environment that it was installed in."""
    if origin.parent.name == "bin" and origin.is_file() and not (programs / origin.name).exists():
        with origin.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                (programs / origin.name).symlink_to(origin)
