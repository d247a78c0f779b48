"""The tests of a session's project: how to start them, and their result for a text.

They run in a copy of the project, in a temporary folder, never in the project itself, and only if the person
allows it. Time, output and the size of the copy are bounded. A run that proves nothing says so: a fix is
judged only if the tests pass without it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as BadSyntax
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dragoman import KitTurn
from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_app.agents.code.permission import PermissionWish, SessionGrants, ToolDenied, ToolReport, permit
from dragoman_app.agents.review.budget import BudgetMeter

SECONDS = 120.0
"""The most seconds for one run. Longer tests belong to CI."""

OUTPUT = 64 * 1024
"""The most bytes of output to keep, from the end, where the results are."""

FILES = 50_000
BYTES = 500 * 1024 * 1024
"""The most bytes of a copy. `node_modules` is copied too, because a link would allow
writes to the original.
"""

LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "target", "__pycache__", ".gradle"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".vscode"}
)
"""Folders that no test needs, or that their program creates again."""

# The client's session confines commands to its folders, and the copy is in none of them.
_START = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[2:], cwd=sys.argv[1]))"
_PYTEST_TABLES = (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_NO_TESTS_COLLECTED = 5
_NPM_PLACEHOLDER = "no test specified"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class SuiteCommand(NamedTuple):
    """The command that runs a project's tests."""

    name: str
    words: tuple[str, ...]
    environment: Callable[[Path], dict[str, str]] = lambda _: {}
    """Variables for a run in this folder."""


class SuiteNotRun(Exception):
    """The tests could not be run; the text gives the reason."""


class SuiteRun(NamedTuple):
    """The result of one run."""

    result: Literal["passed", "failed"]
    output: str
    is_broken: bool = False
    """Whether the tests could not even start, so that no test has failed."""


# How tests are found.


def find_suite(folder: Path) -> SuiteCommand | None:
    """Return the test command of a project, by the files of its tools; None if there is none."""
    for find in (_pytest, _npm, _go, _cargo):
        if (command := find(folder)) is not None:
            return command
    return None


def _pytest(folder: Path) -> SuiteCommand | None:
    if not (_has_pytest_table(folder) or _has_python_tests(folder)):
        return None
    words = (_python_of(folder), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
    return SuiteCommand("pytest", words, _python_environment)


def _has_pytest_table(folder: Path) -> bool:
    try:
        tools = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
        if "pytest" in tools:
            return True
    except (OSError, ValueError):  # none, or one that pytest does not understand either
        pass
    for name, table in _PYTEST_TABLES:
        parser = ConfigParser(interpolation=None)
        try:
            if (folder / name).is_file() and parser.read(folder / name, "utf-8") and table in parser:
                return True
        except (BadSyntax, UnicodeDecodeError):
            continue
    return False


def _has_python_tests(folder: Path) -> bool:
    places = (folder, folder / "tests", folder / "test")
    return any(next(place.glob("test_*.py"), None) is not None for place in places)


def _python_of(folder: Path) -> str:
    """The interpreter of the project's environment, where its dependencies are; else the usual one."""
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    for name in (".venv", "venv"):
        if (python := folder / name / Path(*inside)).is_file():
            return str(python)
    return "python" if os.name == "nt" else "python3"


def _python_environment(folder: Path) -> dict[str, str]:
    # Before the site-packages of the project's environment, where a link to the sources themselves may be.
    paths = os.pathsep.join([str(folder / "src"), str(folder)])
    return {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


def _npm(folder: Path) -> SuiteCommand | None:
    try:
        script = json.loads((folder / "package.json").read_bytes())["scripts"]["test"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(script, str) or not script.strip() or _NPM_PLACEHOLDER in script:
        return None
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
    name = next((name for lock, name in locks.items() if (folder / lock).is_file()), "npm")
    return SuiteCommand(f"{name} test", (name, "test"), lambda _: {"CI": "1"})


def _go(folder: Path) -> SuiteCommand | None:
    is_module = (folder / "go.mod").is_file()
    return SuiteCommand("go test", ("go", "test", "./...")) if is_module else None


def _cargo(folder: Path) -> SuiteCommand | None:
    is_crate = (folder / "Cargo.toml").is_file()
    return SuiteCommand("cargo test", ("cargo", "test", "--quiet")) if is_crate else None


# How they are run.


class ProjectTests:
    """The tests of one review. The user's answer counts until the review ends."""

    def __init__(
        self, turn: KitTurn[Any], command: SuiteCommand, grants: SessionGrants, meter: BudgetMeter
    ) -> None:
        self._turn = turn
        self._grants = grants
        self._meter = meter
        self._answers: dict[str, bool] = {}
        self._unchanged_run: SuiteRun | None = None
        self._turns = asyncio.Lock()
        """One run after the other: a machine has only so many processors, and a person one answer."""
        self.command = command

    async def run(self, report: ToolReport) -> SuiteRun:
        """Run the tests on the project as it is. Raises `SuiteNotRun`."""
        async with self._turns:
            await self._ask(report)
            if self._unchanged_run is None:
                self._unchanged_run = await self._run_copy({})
            return self._unchanged_run

    async def run_with(
        self, report: ToolReport, texts: Mapping[str, str], wish: PermissionWish | None = None
    ) -> SuiteRun:
        """Run the tests on the project with other texts in some files. `wish` is also asked for once.

        Raises `SuiteNotRun`.
        """
        folder = self._turn.session.cwd
        inside = {_path_inside(os.path.join(folder, path), folder): text for path, text in texts.items()}
        if (await self.run(report)).result == "failed":
            raise SuiteNotRun(f"{self.command.name} fails without the fix too")
        async with self._turns:
            if wish is not None and not await self._is_allowed(report, wish):
                raise SuiteNotRun("running it was not allowed")
            return await self._run_copy(inside)

    async def _ask(self, report: ToolReport) -> None:
        if not await self._is_allowed(report, self._wish()):
            raise SuiteNotRun("running them was not allowed")

    async def _is_allowed(self, report: ToolReport, wish: PermissionWish) -> bool:
        if wish.key not in self._answers:
            try:
                await permit(self._turn, report, self._grants, wish)
                self._answers[wish.key] = True
            except ToolDenied:
                self._answers[wish.key] = False
        return self._answers[wish.key]

    def _wish(self) -> PermissionWish:
        key = f"run:{' '.join(self.command.words)}"
        always = f"Allow {self.command.name} in copies of the project in this session"
        return PermissionWish(kind="run", key=key, always=always)

    async def _run_copy(self, texts: dict[str, str]) -> SuiteRun:
        program = self.command.words[0]
        if await asyncio.to_thread(shutil.which, program) is None:
            raise SuiteNotRun(f"{program} is not installed")
        if (seconds := min(SECONDS, self._meter.seconds_left())) <= 0:
            raise SuiteNotRun("the time budget is used up")
        folder = Path(tempfile.mkdtemp(prefix="dragoman-tests-"))  # no thread: after a cancel it is nobody's
        stop = threading.Event()
        source = Path(self._turn.session.cwd)
        copying = asyncio.ensure_future(asyncio.to_thread(_copy_project, source, folder, texts, stop))
        try:
            await asyncio.shield(copying)
            return await self._run_in(folder, seconds)
        finally:
            stop.set()
            await asyncio.shield(_remove(folder, copying))

    async def _run_in(self, folder: Path, seconds: float) -> SuiteRun:
        command = self.command
        try:
            async with asyncio.timeout(seconds):
                process = await self._turn.run(
                    *(sys.executable, "-c", _START, str(folder), *command.words),
                    env=command.environment(folder),
                    output_bytes=OUTPUT,
                )
        except TimeoutError:
            raise SuiteNotRun(f"{command.name} took longer than {seconds:.0f} seconds") from None
        except LocalMistake:
            raise SuiteNotRun("the project is not on the machine that the reviewer runs on") from None
        except ErrorAnswer as error:
            raise SuiteNotRun(f"{command.name} cannot be started: {error.message}") from None
        output = _COLOURS.sub("", process.output).strip()
        if command.name == "pytest" and process.exit_code == _NO_TESTS_COLLECTED:
            raise SuiteNotRun("pytest finds no tests")
        if "No module named pytest" in output:
            raise SuiteNotRun(f"pytest is not installed for {command.words[0]}")
        is_broken = command.name == "pytest" and process.exit_code not in (0, 1)
        return SuiteRun("passed" if process.exit_code == 0 else "failed", output, is_broken)


def is_new_file(folder: str, path: str) -> bool:
    """Whether a path names a file in a folder that does not exist yet."""
    full_path = os.path.normpath(os.path.join(folder, path))
    parts = Path(os.path.relpath(full_path, folder)).parts
    is_inside = bool(parts) and not LEFT_OUT.intersection(parts) and os.pardir not in parts
    return is_inside and path.isprintable() and not os.path.lexists(full_path)


def _path_inside(path: str, folder: str) -> str:
    relative = os.path.relpath(path, folder)
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        raise SuiteNotRun("the file lies outside the working folder")
    return relative


async def _remove(folder: Path, copying: asyncio.Future[None]) -> None:
    """The copy, when nobody writes into it any more."""
    await asyncio.wait([copying])
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _copy_project(source: Path, target: Path, texts: dict[str, str], stop: threading.Event) -> None:
    files = size = 0
    for path in _files_of(source):
        if stop.is_set():
            return
        place = target / path.relative_to(source)
        files, size = files + 1, size + path.lstat().st_size
        if files > FILES or size > BYTES:
            raise SuiteNotRun(f"the project has more than {FILES} files or {BYTES // 1024**2} MiB to copy")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place, follow_symlinks=False)
    for relative, text in texts.items():
        # As bytes: the ends of lines are those of the text.
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        (target / relative).write_bytes(text.encode())


def _files_of(source: Path) -> Iterator[Path]:
    """Regular files, and links that stay inside."""
    for name, folders, files in os.walk(source):
        here = Path(name)
        links = [folder for folder in folders if (here / folder).is_symlink()]
        folders[:] = [folder for folder in folders if folder not in LEFT_OUT and folder not in links]
        for path in (here / file for file in [*files, *links]):
            if path.is_symlink():
                if _stays_inside(path, source):
                    yield path
            elif path.is_file():  # no sockets, pipes and devices
                yield path


def _stays_inside(link: Path, source: Path) -> bool:
    to = os.readlink(link)
    return not os.path.isabs(to) and link.parent.joinpath(to).resolve().is_relative_to(source.resolve())
