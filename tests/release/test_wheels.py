"""The four wheels: each works with what it requires and nothing else; together they are the whole house."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.requirements import Requirement

from dragoman.testing.pace import patience
from dragoman.version import PACKAGES as OUR_PACKAGES
from dragoman.version import VERSION
from dragoman_hub.remote.bundle import read_released
from release.inspection import WHEELS, inspect_wheel
from release.pyz import describe_wheel, write_pyz
from tests.boxes import PACKAGES, ROOT, WHEEL_BOXES, box_of, modules
from tests.wheel_environment import bare_environment, environment, shared_folder, variables

MODULE = re.compile(r"[\"'](dragoman(?:_[a-z]+)?(?:\.\w+)*)(?::\w+)?[\"']")
EXTRA = re.compile(r"\b(dragoman(?:[-_](?:sdk|check|review))?)\\?\[([a-z]+(?:,[a-z]+)*)\\?\]")
TEXTS = (".json", ".md", ".py", ".sh", ".template", ".toml", ".yaml", ".yml")
READMES = {box: (ROOT / "packages" / box / "README.md").read_text("utf-8") for box in PACKAGES}


def settings(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


WHOLE = settings(ROOT)
PARTS = {box: settings(ROOT / "packages" / box) for box in WHEEL_BOXES}
PROJECTS = {part["project"]["name"]: part["project"] for part in PARTS.values()}
ALONE = {
    "dragoman-sdk": {"dragoman", "dragoman_local", "msgspec"},
    "dragoman-check": {"dragoman", "dragoman_local", "dragoman_check", "msgspec"},
    "dragoman-review": {"dragoman", "dragoman_local", "dragoman_review", "msgspec", "ast_grep_py", "ruff"},
}
"""What can be imported where one wheel is installed, and nothing else."""


def run(environment: Path, folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / words[0], *words[1:]],
        cwd=folder,
        env=variables(environment, folder),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )


def program_of(box: str) -> str:
    """The program that the README of a box shows."""
    (found,) = re.findall(r"^```python\n(.*?)^```$", READMES[box], re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("name", list(ALONE))
def test_a_wheel_brings_what_it_needs_and_nothing_else(name: str, tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), [name])
    (packages,) = made.glob("lib/python*/site-packages")
    assert {path.name for path in packages.iterdir() if path.suffix != ".dist-info"} == ALONE[name]


IMPORT_ALL = """
import importlib, pkgutil, sys

missing = set()
for top in sys.argv[1:]:
    package = importlib.import_module(top)
    for module in pkgutil.walk_packages(package.__path__, f"{top}."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                missing.add(error.name.partition(".")[0])
print(*sorted(missing))
"""


@pytest.mark.parametrize(
    ("name", "optional"),
    [
        ("dragoman-sdk", "anyio cryptography markdown_it pytest websockets"),
        ("dragoman-check", ""),
        ("dragoman-review", ""),
    ],
)
def test_every_module_of_a_wheel_can_be_imported_but_for_those_of_its_extras(
    name: str, optional: str, tmp_path: Path
) -> None:
    made = environment(shared_folder(tmp_path), [name])
    done = run(made, tmp_path, "python", "-c", IMPORT_ALL, *WHEELS[name.replace("-", "_")].packages)
    assert (done.returncode, done.stdout.strip()) == (0, optional), done.stderr


def test_the_sdk_alone_serves_the_agent_of_its_page(tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), ["dragoman-sdk"])
    (tmp_path / "agent.py").write_text(program_of("sdk"), "utf-8")
    with subprocess.Popen(
        [made / "bin/python", "agent.py"],
        cwd=tmp_path,
        env=variables(made, tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as agent:

        def ask(number: int, method: str, **params: object) -> tuple[list[dict[str, Any]], dict[str, Any]]:
            assert agent.stdin is not None
            assert agent.stdout is not None
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            agent.stdin.write(json.dumps(request) + "\n")
            before = []
            while (message := json.loads(agent.stdout.readline())).get("id") != number:
                before.append(message)
            return before, message["result"]

        _, hello = ask(1, "initialize", protocolVersion=1, clientCapabilities={})
        assert hello["protocolVersion"] == 1
        _, session = ask(2, "session/new", cwd=str(tmp_path), mcpServers=[])
        words = [{"type": "text", "text": "hi"}]
        updates, ended = ask(3, "session/prompt", sessionId=session["sessionId"], prompt=words)
        assert [one["params"]["update"]["content"]["text"] for one in updates] == ["You said: hi"]
        assert ended["stopReason"] == "end_turn"
        assert agent.stdin is not None
        agent.stdin.close()
        assert agent.wait(patience(10)) == 0


def test_the_sdk_alone_says_what_brings_the_command(tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), ["dragoman-sdk"])
    done = run(made, tmp_path, "python", "-m", "dragoman", "run", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "The command `dragoman` is not installed here (No module named 'dragoman_app').",
        "Try: pip install dragoman",
    ]


EXAMINE = """
import asyncio, json, sys
from collections import Counter
from dragoman_check.agent.examination import examine
from dragoman_check.agent.stage import ExaminationSettings
from dragoman_check.verdict import judge

settings = ExaminationSettings(command=[sys.executable, "agent.py"], cwd=".")
examination = asyncio.run(examine(settings, scenes=["handshake"]))
assert not examination.failure, examination.failure
print(json.dumps(Counter(verdict.status for verdict in judge(examination.recordings, "agent"))))
"""


def test_the_examiner_alone_examines_an_agent(tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), ["dragoman-check"])
    (tmp_path / "agent.py").write_text(program_of("sdk"), "utf-8")
    done = run(made, tmp_path, "python", "-c", EXAMINE)
    assert done.returncode == 0, done.stderr
    verdicts = json.loads(done.stdout)
    assert verdicts["passed"] > 20, verdicts
    assert "failed" not in verdicts


REVIEW = """
import asyncio, sys
from dragoman_review import ReviewSettings, ReviewSource, review


async def main() -> None:
    sources = [ReviewSource(name, open(name).read()) for name in sys.argv[1:]]
    found = [finding async for finding in review(sources, ReviewSettings())]
    print(*sorted(f"{one.tool} {one.rule}" for one in found), sep="\\n")


asyncio.run(main())
"""


def test_the_reviewer_alone_finds_what_its_rules_and_its_tools_know(tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), ["dragoman-review"])
    (tmp_path / "app.py").write_text("def f(a=[]):\n    return a\n")
    (tmp_path / "app.js").write_text("function f(word) {\n  return eval(word);\n}\n")
    done = run(made, tmp_path, "python", "-c", REVIEW, "app.py", "app.js")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "ast-grep javascript/no-eval",
        "ruff python/mutable-argument-default",
    ]


def test_one_file_of_all_wheels_runs_and_says_what_it_lacks(tmp_path: Path) -> None:
    """With the msgspec that is installed here in the place of those of a release."""
    environment(shared_folder(tmp_path), [])
    built = sorted((shared_folder(tmp_path) / "dist").glob("*.whl"))
    library = Path(msgspec.__file__).parent
    with zipfile.ZipFile(tmp_path / "msgspec.whl", "w") as archive:
        for file in library.rglob("*"):
            if "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(library.parent))
    wheels = [describe_wheel(file.name, file.read_bytes()) for file in (*built, tmp_path / "msgspec.whl")]
    write_pyz(tmp_path / "dragoman.pyz", wheels, epoch=0)

    def start(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-S", tmp_path / "dragoman.pyz", *words],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(50),
        )

    answer = start("run", "--agent", "echo", "--no-history", "hi")
    assert (answer.returncode, answer.stdout.strip()) == (0, "You said: hi"), answer.stderr
    refusal = start("chat")
    assert refusal.returncode == 2
    assert refusal.stderr.endswith(" which is not installed. Try: pip install dragoman\n")
    assert read_released(str(tmp_path / "dragoman.pyz"))  # what `dragoman ssh --pyz` takes


def test_each_wheel_passes_the_inspection_of_a_release(tmp_path: Path) -> None:
    environment(shared_folder(tmp_path), [])
    built = sorted((shared_folder(tmp_path) / "dist").glob("*.whl"))
    assert [wheel.name.partition("-")[0] for wheel in built] == sorted(WHEELS)
    for wheel in built:
        inspect_wheel(wheel, version=VERSION)
    assert {package for wheel in WHEELS.values() for package in wheel.packages} == set(PACKAGES.values())


def test_a_wheel_requires_the_others_in_its_own_version() -> None:
    ours = [
        Requirement(line)
        for project in PROJECTS.values()
        for line in project["dependencies"]
        if line.startswith("dragoman")
    ]
    assert len(ours) == 5
    assert {str(one.specifier) for one in ours} == {f"=={VERSION}"}


def needs_of(line: str) -> set[str]:
    """What a requirement brings, with the wheels of ours behind it taken apart."""
    wanted = Requirement(line)
    if wanted.name not in PROJECTS:
        return {line}
    project = PROJECTS[wanted.name]
    lines = project["dependencies"] if wanted.specifier else []
    more = [line for extra in wanted.extras for line in project["optional-dependencies"][extra]]
    return {need for line in [*lines, *more] for need in needs_of(line)}


def test_a_checkout_is_installed_with_what_the_wheels_need_together() -> None:
    project, command = WHOLE["project"], PROJECTS["dragoman"]
    assert set(project["dependencies"]) == {n for line in command["dependencies"] for n in needs_of(line)}
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name != "dev"}
    assert extras == command["optional-dependencies"]
    assert project["scripts"] == command["scripts"]
    assert project["entry-points"] == PROJECTS["dragoman-sdk"]["entry-points"]
    same = ("description", "license", "requires-python", "classifiers", "urls")
    assert {name: project.get(name) for name in same} == {name: command.get(name) for name in same}


def test_a_checkout_holds_the_same_files_as_the_wheels() -> None:
    def targets(part: dict[str, Any]) -> dict[str, str]:
        wheel = part["tool"]["hatch"]["build"]["targets"]["wheel"]
        included = {Path(target).as_posix(): source for source, target in wheel["force-include"].items()}
        return {target: Path(source).name for target, source in included.items() if "/cli/pages/" in target}

    assert targets(WHOLE) == targets(PARTS["app"])
    whole = WHOLE["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert [Path(package).name for package in whole] == list(PACKAGES.values())


def test_each_wheel_has_the_licences_of_the_house() -> None:
    for box in WHEEL_BOXES:
        assert (ROOT / "packages" / box / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    page = ROOT / "packages/app" / PROJECTS["dragoman"]["readme"]
    assert page.read_text("utf-8") == (ROOT / "README.md").read_text("utf-8")


def test_a_name_of_a_module_in_quotes_is_of_a_wheel_that_is_there() -> None:
    """Such a name fails when it is used and not before."""
    known = {module for module, _ in modules()}
    homes = {package: wheel for wheel in WHEELS.values() for package in wheel.packages}
    reach = {
        "sdk": {"sdk", "local"},
        "check": {"sdk", "local", "check"},
        "review": {"sdk", "local", "review"},
        "app": set(PACKAGES),
    }
    found: list[tuple[str, str, bool]] = []
    for module, path in modules():
        if module == "dragoman.version":  # lists all packages, for logs
            continue
        names = set(MODULE.findall(path.read_text("utf-8"))) & known
        box = homes[module.partition(".")[0]].box
        found += [(module, name, box_of(name) in reach[box]) for name in names]
    assert len(found) > 200
    assert [(module, name) for module, name, is_there in found if not is_there] == []
    assert set(OUR_PACKAGES) == homes.keys()


def test_every_extra_that_a_text_names_is_one() -> None:
    """The changelog may name what was."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    places = [ROOT / name for name in listed.stdout.split("\0") if Path(name).suffix in TEXTS]
    found = [
        (path.relative_to(ROOT), name, extra)
        for path in places
        if path.is_file() and path.name != "CHANGELOG.md"
        for name, extras in EXTRA.findall(path.read_text("utf-8"))
        for extra in extras.split(",")
    ]
    assert len(found) > 40
    known = {name: {*project.get("optional-dependencies", ())} for name, project in PROJECTS.items()}
    known["dragoman"].add("dev")  # of a checkout
    wrong = [row for row in found if row[2] not in known[row[1].replace("_", "-")]]
    assert wrong == []


def test_a_checkout_of_the_former_layout_is_installed_over(tmp_path: Path) -> None:
    """It had one distribution `dragoman` with a path file and the pages of the help. pip removes the files of
    what it replaces, also those that something else has written in the meantime.
    """
    made = bare_environment(tmp_path / "environment", ["hatchling", "msgspec", "pip"])
    (packages,) = made.glob("lib/python*/site-packages")
    information = packages / "dragoman-0.1.0.dist-info"
    former = {
        packages / "_dragoman.pth": "".join(f"{ROOT}/packages/{box}/src\n" for box in PACKAGES),
        packages / "dragoman_app/cli/pages/chat.md": "# Chat\n",
        information / "METADATA": "Metadata-Version: 2.4\nName: dragoman\nVersion: 0.1.0\n",
        information / "INSTALLER": "pip\n",
        information / "direct_url.json": json.dumps({"url": ROOT.as_uri(), "dir_info": {"editable": True}}),
        information / "entry_points.txt": "[pytest11]\ndragoman = dragoman.testing.plugin\n",
        made / "bin/dragoman": "#!/bin/sh\nexit 9\n",
    }
    for path, text in former.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    lines = [f"{os.path.relpath(path, packages)},,\n" for path in (*former, information / "RECORD")]
    (information / "RECORD").write_text("".join(lines))
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--no-build-isolation")
    done = run(made, tmp_path, "python", "-m", "pip", "install", *quiet, "-e", str(ROOT))
    assert done.returncode == 0, done.stderr
    imports = f"import {', '.join(PACKAGES.values())}; print(dragoman.__file__)"
    done = run(made, tmp_path, "python", "-c", imports)
    assert done.stdout.strip() == str(ROOT / "packages/sdk/src/dragoman/__init__.py"), done.stderr
    done = run(made, tmp_path, "dragoman", "--version")
    assert done.stdout == f"dragoman {VERSION}\n", done.stderr
    assert [path.name for path in packages.glob("dragoman*.dist-info")] == [f"dragoman-{VERSION}.dist-info"]
