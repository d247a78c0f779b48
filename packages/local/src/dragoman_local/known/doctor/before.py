"""Checks before the agent runs: does its command exist, and can it be run?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from dragoman.sdk.login_path import LoginPath
from dragoman_local.known.doctor.findings import CheckResult, DiagnosisStep
from dragoman_local.known.doctor.program import (
    FETCHERS,
    elsewhere,
    is_too_old,
    locate,
    nature_of,
    required_node,
)
from dragoman_local.known.doctor.versions import is_askable, version_of
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
