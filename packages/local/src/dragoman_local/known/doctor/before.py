"""Checks before the agent runs: does its command exist, and can it be run?"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import SpawnFailed
from dragoman.sdk.login_path import LoginPath
from dragoman.transport.contract import Grace
from dragoman.transport.process import spawn
from dragoman_local.known.doctor.findings import CheckResult, DiagnosisStep
from dragoman_local.known.lookup import install_hint
from dragoman_local.known.wellknown import WELL_KNOWN


def look_for_command(
    command: Sequence[str], *, cwd: str, env: Mapping[str, str], login: LoginPath
) -> tuple[str | None, DiagnosisStep]:
    """Find the program, and report the step."""
    word = command[0]
    path = env.get("PATH", os.defpath)
    place = locate(word, cwd=cwd, path=path)
    if place is None:
        return None, _missing(word, cwd=cwd, path=path, login=login)
    if os.path.dirname(word):
        return place, DiagnosisStep(name="command", verdict=CheckResult.OK, summary=f"{word} is there")
    notes = [f"{word} is {place}"]
    if shutil.which(word) is None:
        notes.append("only the PATH of your login shell has it, not the one we were started with")
    if word in FETCHERS:
        notes.append(f"{word} may download the agent first, which takes time and a network")
    verdict = CheckResult.OK if len(notes) == 1 or word in FETCHERS else CheckResult.WARNING
    meaning = "programs that are started without your shell, by a desktop or an editor, may not find it"
    return place, DiagnosisStep(
        name="command",
        verdict=verdict,
        summary="; ".join(notes),
        meaning=meaning if verdict is CheckResult.WARNING else "",
        advice=f"give them its full path, {place}" if verdict is CheckResult.WARNING else "",
    )


def _missing(word: str, *, cwd: str, path: str, login: LoginPath) -> DiagnosisStep:
    if os.path.dirname(word):
        place = os.path.normpath(os.path.join(cwd, word))
        return DiagnosisStep(
            name="command",
            verdict=CheckResult.FAILED,
            summary=f"there is no file {place}",
            meaning="the command names a file that does not exist",
            advice="mend the path, or install the agent",
        )
    places = elsewhere(word, home=os.path.expanduser("~"), path=path)
    search_note = [f"looked in {', '.join(folder for folder in path.split(os.pathsep) if folder)}"]
    note = [f"the login shell was of no help: {login.note}"] if login.note else []
    if places:
        return DiagnosisStep(
            name="command",
            verdict=CheckResult.FAILED,
            summary=f"{word} is not on PATH, but there is {places[0]}",
            meaning="it is installed outside of PATH, or is not executable",
            advice=f"chmod +x {places[0]}"
            if not os.access(places[0], os.X_OK)
            else f"add {os.path.dirname(places[0])} to PATH in your shell's profile, or use the full path",
            evidence=(*search_note, *note),
        )
    return DiagnosisStep(
        name="command",
        verdict=CheckResult.FAILED,
        summary=f"{word} is not on PATH",
        meaning="neither our PATH nor that of your login shell has such a program",
        advice=_how_to_install(word),
        evidence=(*search_note, *note),
    )


def _how_to_install(word: str) -> str:
    for entry in WELL_KNOWN:
        if any(command[0] == word for command in entry.commands):
            return f"it belongs to {entry.title}; {install_hint(entry)}"
    return "install it, or give the full path of its program"


async def look_at_program(place: str, *, env: Mapping[str, str]) -> DiagnosisStep:
    """Check whether the program can be run, and by which interpreter. Only starting it proves that it
    runs.
    """
    nature = nature_of(place)
    if nature.problem:
        return DiagnosisStep(
            name="program",
            verdict=CheckResult.WARNING,
            summary=f"{place} is {nature.what}: {nature.problem}",
            meaning="the system may refuse to start it",
            advice=nature.advice,
        )
    if nature.interpreter is None:
        version = await version_of(place, env=env) if is_askable(place) else None
        return DiagnosisStep(
            name="program", verdict=CheckResult.OK, summary=_with_version(nature.what, version)
        )
    interpreter = nature.interpreter
    runner = _runner(interpreter, env)
    if runner is None:
        return DiagnosisStep(
            name="program",
            verdict=CheckResult.WARNING,
            summary=f"it is a script for {interpreter}, which is not there",
            meaning="its first line names an interpreter that cannot be found",
            advice=f"install {os.path.basename(interpreter)}, or mend the first line of {place}",
        )
    version = await version_of(runner, env=env) if is_askable(runner) else None
    return _judge_program(place, f"a script for {_with_version(runner, version)}", runner, version)


def _judge_program(place: str, summary: str, runner: str, version: str | None) -> DiagnosisStep:
    required_version = required_node(place) if os.path.basename(runner).startswith("node") else None
    if version is not None and required_version is not None and is_too_old(version, required_version):
        return DiagnosisStep(
            name="program",
            verdict=CheckResult.WARNING,
            summary=f"{summary}, and its package wants node {required_version}",
            meaning="the node on PATH may be too old for this agent",
            advice="update node, or put a newer one first on PATH",
        )
    return DiagnosisStep(name="program", verdict=CheckResult.OK, summary=summary)


def _runner(interpreter: str, env: Mapping[str, str]) -> str | None:
    if os.path.dirname(interpreter):
        return interpreter if os.path.isfile(interpreter) else None
    return shutil.which(interpreter, path=env.get("PATH", os.defpath))


def _with_version(what: str, version: str | None) -> str:
    return what if version is None else f"{what}, version {version}"


# Asks a program for its version: runs it once with a deadline, and ends all its processes.

ASKABLE = ("node", "python", "bun", "deno")
"""Programs with these names answer `--version` with one line, at once."""

SECONDS = 3.0

AT_ONCE = Grace(after_eof=0.0, after_terminate=0.2, leftovers=0.0)


def is_askable(program: str) -> bool:
    return os.path.basename(program).startswith(ASKABLE)


async def version_of(program: str, *, env: Mapping[str, str]) -> str | None:
    """Return the first line of `program --version`; None if there is none in time."""
    line = _FirstLine()
    try:
        child = spawn([program, "--version"], env=env, grace=AT_ONCE)
    except SpawnFailed:
        return None
    try:
        child.start(line)
        async with asyncio.timeout(SECONDS):
            return await line.answer
    except TimeoutError:
        return None
    finally:
        await child.aclose()


class _FirstLine:
    """A sink that takes the first line."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def feed(self, block: bytes) -> None:
        if not self.answer.done():
            self.answer.set_result(block.split(b"\n", 1)[0].decode(errors="replace").strip())

    def on_oversized(self, size: int) -> None:
        pass  # no version is as long

    def on_end(self, reason: BaseException | None) -> None:
        if not self.answer.done():
            self.answer.set_result(None)


# Examines a program without running it: where it is, whether it can run, and its interpreter.
#
# The system gives one error for many causes; these are told apart here before it is asked.

USUAL = (
    *(".local/bin", ".npm-global/bin", ".volta/bin", ".bun/bin", ".deno/bin", ".cargo/bin", "bin", "go/bin"),
    *(".opencode/bin", ".claude/local", ".nvm/versions/node/*/bin", ".local/share/mise/shims", ".asdf/shims"),
)
"""Usual folders of installers below the home folder, on PATH or not."""

EVERYWHERE = ("/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin")

MAGIC = {
    b"\x7fELF": "a program for Linux",
    b"\xcf\xfa\xed\xfe": "a program for macOS",
    b"MZ": "a program for Windows",
}

FETCHERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx"})
"""Programs that may download their own program, which takes time and a network."""

PARENTS = 5
"""The folders to go up from a script to find its package."""


def locate(word: str, *, cwd: str, path: str) -> str | None:
    """Return the file of a command's first word, executable or not."""
    if os.path.dirname(word):
        place = os.path.normpath(os.path.join(cwd, word))
        return place if os.path.lexists(place) else None
    return shutil.which(word, path=path)


def elsewhere(word: str, *, home: str, path: str) -> list[str]:
    """Return places outside PATH with the program; also on PATH, if the file is not executable."""
    if os.path.dirname(word):
        return []
    folders = [*path.split(os.pathsep), *EVERYWHERE]
    candidates = [os.path.join(folder, word) for folder in folders if folder]
    candidates += [str(path) for folder in USUAL for path in sorted(Path(home).glob(f"{folder}/{word}"))]
    return [place for place in dict.fromkeys(candidates) if os.path.isfile(place)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramKind:
    """The kind of a file, for running it."""

    what: str
    interpreter: str | None = None
    """The program that runs it, as a path or a name on PATH."""

    problem: str = ""
    advice: str = ""


def nature_of(place: str) -> ProgramKind:
    """Return the file's kind, from its permissions and first bytes."""
    if not os.path.exists(place):
        target = os.path.realpath(place)
        return ProgramKind(
            what="a dangling link",
            problem=f"it points to {target}, which is not there",
            advice="install the agent again",
        )
    if os.path.isdir(place):
        return ProgramKind(
            what="a folder", problem="a folder cannot be run", advice="give the program inside of it"
        )
    if not os.access(place, os.X_OK):
        return ProgramKind(
            what="a file", problem="it is not executable", advice=f"chmod +x {place}, or name its interpreter"
        )
    if os.name == "nt":  # the name's ending says there what a file is, and `which` has gone by that
        return ProgramKind(what="a program")
    try:
        with open(place, "rb") as file:
            start = file.read(256)
    except OSError:
        return ProgramKind(what="a program that may be run but not read")
    return _by_first_bytes(start)


def _by_first_bytes(start: bytes) -> ProgramKind:
    for magic, what in MAGIC.items():
        if start.startswith(magic):
            return ProgramKind(what=what)
    if not start.startswith(b"#!"):
        return ProgramKind(
            what="a file without a first line that says what runs it",
            problem="the system cannot run it" if start else "it is empty",
            advice="name its interpreter in the command, or give it a first line like #!/usr/bin/env node",
        )
    line = start.split(b"\n", 1)[0][2:].decode(errors="replace")
    if line.endswith("\r"):
        return ProgramKind(
            what="a script",
            interpreter=line.strip(),
            problem="its first line ends with a carriage return, which the system takes for part of the name",
            advice="convert it to Unix line ends",
        )
    return ProgramKind(what="a script", interpreter=_interpreter(line.split()))


def _interpreter(words: list[str]) -> str | None:
    """`/usr/bin/env -S node --flag` runs node."""
    if not words:
        return None
    if os.path.basename(words[0]) != "env":
        return words[0]
    candidates = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return candidates[0] if candidates else words[0]


def required_node(place: str) -> str | None:
    """Return the version of node that a script's package requires."""
    for manifest in _manifests(place):
        try:
            document = json.loads(manifest.read_bytes())
        except (OSError, ValueError):
            return None
        engines = document.get("engines") if isinstance(document, Mapping) else None
        requirement = engines.get("node") if isinstance(engines, Mapping) else None
        return requirement if isinstance(requirement, str) else None
    return None


def is_too_old(version: str, requirement: str) -> bool:
    """Whether a version such as `v18.2.0` is below `>=20`. Ranges with more than a minimum
    are not checked.
    """
    least = re.fullmatch(r"\s*>=\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?\s*", requirement)
    have = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
    if least is None or have is None:
        return False
    return tuple(map(int, have.groups())) < tuple(int(part or 0) for part in least.groups())


def _manifests(place: str) -> Iterator[Path]:
    """The nearest package.json above the file that the link on PATH really means."""
    folder = Path(os.path.realpath(place)).parent
    for candidate in [folder, *folder.parents][:PARENTS]:
        manifest = candidate / "package.json"
        if manifest.is_file():
            yield manifest
