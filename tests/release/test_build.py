"""What is published: built the same by everybody, complete, and with a list of its parts."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from dragoman.version import VERSION
from release.build import build_distributions, empty
from release.inspection import LICENSES, UPPER_BOUND, WHEELS, inspect_sdist, inspect_wheel
from release.sbom import make_sbom

ROOT = Path(__file__).parents[2]
PROJECTS = [
    tomllib.loads(path.read_text("utf-8"))["project"]
    for path in (ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml")))
]
PROJECT = PROJECTS[0]
METADATA = f"""Metadata-Version: 2.4
Name: dragoman
Version: {VERSION}
Summary: something
License-Expression: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: dragoman-sdk[ws]=={VERSION}
Requires-Dist: msgspec<1,>=0.22
Description-Content-Type: text/markdown

Words.
"""


def write_wheel(target: Path, *, metadata: str = METADATA, without: str = "", also: str = "") -> Path:
    information = f"dragoman-{VERSION}.dist-info"
    wanted = WHEELS["dragoman"].wanted
    names = [*wanted, *(f"{information}/licenses/{name}" for name in LICENSES), *filter(None, [also])]
    with zipfile.ZipFile(target, "w") as archive:
        for name in names:
            if name != without:
                archive.writestr(name, "")
        archive.writestr(f"{information}/METADATA", metadata)
        archive.writestr(
            f"{information}/entry_points.txt", "[console_scripts]\ndragoman = dragoman_app.cli:main\n"
        )
    return target


def test_a_whole_wheel_passes(tmp_path: Path) -> None:
    inspect_wheel(write_wheel(tmp_path / "dragoman-1.whl"), version=VERSION)


def test_each_fault_of_a_wheel_is_named(tmp_path: Path) -> None:
    unbounded = METADATA.replace("msgspec<1,", "msgspec")
    for number, (fault, wheel) in enumerate(
        {
            "dragoman_app/py.typed is missing": {"without": "dragoman_app/py.typed"},
            "__pycache__/a.pyc does not belong there": {"also": "dragoman_app/__pycache__/a.pyc"},
            "tests/a.py is in no package of this wheel": {"also": "tests/a.py"},
            "dragoman/a.py is in no package of this wheel": {"also": "dragoman/a.py"},
            "it takes another version of ours: dragoman-sdk[ws]==0.0.1": {
                "metadata": METADATA.replace(f"[ws]=={VERSION}", "[ws]==0.0.1")
            },
            "no upper bound: msgspec>=0.22": {"metadata": unbounded},
            "it is called dragoman 9, not": {
                "metadata": METADATA.replace(f"Version: {VERSION}", "Version: 9")
            },
            "an address leads nowhere: Source, https://dragoman.example/source": {
                "metadata": METADATA.replace(
                    "\n\n", "\nProject-URL: Source, https://dragoman.example/source\n\n", 1
                )
            },
            "License-Expression is missing": {
                "metadata": METADATA.replace("License-Expression: Apache-2.0\n", "")
            },
        }.items()
    ):
        with pytest.raises(SystemExit, match=re.escape(fault)):
            inspect_wheel(write_wheel(tmp_path / f"dragoman-{number}.whl", **wheel), version=VERSION)


def test_every_requirement_has_an_upper_bound() -> None:
    lines = [
        line
        for project in PROJECTS
        for some in (project["dependencies"], *project.get("optional-dependencies", {}).values())
        for line in some
    ]
    lines = [line for line in lines if not line.startswith("dragoman[")]
    assert [line for line in lines if not UPPER_BOUND.search(line.partition(";")[0])] == []


def test_a_build_leaves_the_extension_for_vs_code(tmp_path: Path) -> None:
    for name in ("dragoman-1.vsix", "dragoman-0-py3-none-any.whl", "SHA256SUMS"):
        (tmp_path / name).touch()
    (tmp_path / "old").mkdir()
    empty(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["dragoman-1.vsix"]
    empty(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


def test_one_extra_brings_everything_that_a_person_uses() -> None:
    (line,) = PROJECT["optional-dependencies"]["all"]
    extras = set(re.findall(r"[a-z0-9]+", line.partition("[")[2]))
    assert extras == PROJECT["optional-dependencies"].keys() - {"all", "dev"}


def test_the_list_of_parts_has_what_pip_installs_and_what_the_page_holds(tmp_path: Path) -> None:
    file = tmp_path / "a.whl"
    file.write_bytes(b"wheel")
    document = json.loads(make_sbom(ROOT, [file], version=VERSION, epoch=0))
    parts = {part["name"]: part for part in document["components"]}
    assert parts["msgspec"]["scope"] == "required"
    assert parts["uvicorn"]["scope"] == "required"
    assert parts["nats-py"]["scope"] == "optional"
    assert {"name": "dragoman:needed-by", "value": "dragoman[cluster]"} in parts["nats-py"]["properties"]
    assert {"name": "dragoman:needed-by", "value": "dragoman-review"} in parts["ruff"]["properties"]
    assert not [name for name in parts if name.startswith("dragoman")]
    assert parts["lit"]["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert len(parts["lit"]["hashes"][0]["content"]) == 128
    assert "pytest" not in parts
    assert "typescript" not in parts
    (reference,) = document["metadata"]["component"]["externalReferences"]
    assert reference["hashes"][0]["content"] == hashlib.sha256(b"wheel").hexdigest()
    assert make_sbom(ROOT, [file], version=VERSION, epoch=0) == make_sbom(
        ROOT, [file], version=VERSION, epoch=0
    )


def test_what_is_built_into_the_page_has_its_licence_with_us() -> None:
    """lit's packages are of one project, with one licence."""
    lock = json.loads((ROOT / "packages/hub/web/package-lock.json").read_text("utf-8"))["packages"]
    bundled = {
        path.removeprefix("node_modules/") for path, entry in lock.items() if path and not entry.get("dev")
    }
    projects = {"lit" if "lit" in name else name for name in bundled if not name.startswith("@types/")}
    assert {f"LICENSES/{name}.txt" for name in projects} == {name for name in LICENSES if "/" in name}
    assert all((ROOT / name).read_text("utf-8").strip() for name in LICENSES)


def test_the_release_is_published_without_a_key_and_attested() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "release"
    assert jobs["publish"]["steps"][-1]["with"]["attestations"] is True
    assert jobs["attest"]["permissions"]["attestations"] == "write"
    assert set(jobs["attest"]["needs"]) == {"build", "test"}
    text = json.dumps(jobs)
    assert "secrets." not in text
    targets = set(re.findall(r"make ([a-z-]+)", text))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_the_script_that_tries_a_release_is_a_script_and_knows_every_extra() -> None:
    script = ROOT / "tools/try_release.sh"
    subprocess.run(["bash", "-n", script], check=True)
    known = re.findall(r"^    \[([a-z_]+(?:\[[a-z0-9]+\])?)\]=", script.read_text("utf-8"), re.MULTILINE)
    extras = {
        f"{project['name'].replace('-', '_')}[{extra}]"
        for project in PROJECTS
        for extra in project.get("optional-dependencies", {})
    }
    assert set(known) == {*WHEELS, *extras} - {"dragoman[dev]"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_everybody_builds_the_same_bytes(tmp_path: Path) -> None:
    """A cheaper test holds what the inspection finds; this one builds."""
    wheels, sdist = build_distributions(tmp_path, 1_700_000_000)
    assert len(wheels) == len(WHEELS)
    for wheel in wheels:
        inspect_wheel(wheel, version=VERSION)
    inspect_sdist(sdist, version=VERSION)
