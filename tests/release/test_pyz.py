"""`dragoman.pyz`: one file that unpacks itself, checked by hash, into a folder of its user."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from release.pyz import LOCK, PYTHONS, SYSTEMS, PlatformWheel, describe_wheel, write_pyz

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def wheel_of(files: dict[str, str]) -> bytes:
    """The same bytes at any time: its files are of 1980."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


OURS = wheel_of(
    {
        "dragoman_app/__init__.py": "",
        "dragoman_app/cli.py": (
            "import sys, compiled\n"
            "def main():\n    print(compiled.WORDS, sys.argv[1:], sys.executable)\n    return 7\n"
        ),
    }
)


def compiled_for(suffix: str) -> bytes:
    return wheel_of({"compiled/__init__.py": "WORDS = 'it runs'\n", f"compiled/core{suffix}": ""})


@pytest.fixture
def pyz(tmp_path: Path) -> Path:
    target = tmp_path / "dragoman.pyz"
    wheels = [PlatformWheel("dragoman.whl", OURS), describe_wheel("compiled.whl", compiled_for(SUFFIX))]
    write_pyz(target, wheels, epoch=0)
    return target


def start(pyz: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", str(pyz), *words],
        env={**os.environ, "XDG_CACHE_HOME": str(pyz.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(30),
    )


def unpacked(pyz: Path) -> list[Path]:
    return sorted((pyz.parent / "cache/dragoman/pyz").iterdir())


def test_it_unpacks_once_and_runs_from_there_with_its_arguments_and_status(pyz: Path) -> None:
    first = start(pyz, "one", "two words")
    (folder,) = unpacked(pyz)
    assert (first.returncode, first.stdout) == (
        7,
        f"it runs ['one', 'two words'] {folder}/bin/python\n",
    ), first.stderr
    assert folder.stat().st_mode & 0o077 == 0
    before = (folder / "pyvenv.cfg").stat().st_mtime_ns
    assert start(pyz).returncode == 7
    assert unpacked(pyz) == [folder]
    assert (folder / "pyvenv.cfg").stat().st_mtime_ns == before


def test_a_wheel_with_another_hash_is_not_unpacked(pyz: Path) -> None:
    """The checksum of the zip is right, as somebody would make it who means it."""
    with zipfile.ZipFile(pyz) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["wheels/compiled.whl"] = wheel_of({"compiled/__init__.py": "WORDS = 'it lies'\n"})
    with zipfile.ZipFile(pyz, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    outcome = start(pyz)
    assert outcome.returncode == 2
    assert "compiled.whl in it has SHA-256" in outcome.stderr
    assert unpacked(pyz) == []


def test_a_folder_that_others_can_write_to_is_not_run(pyz: Path) -> None:
    start(pyz)
    (folder,) = unpacked(pyz)
    folder.chmod(0o777)
    outcome = start(pyz)
    assert outcome.returncode == 2
    assert "is not yours alone" in outcome.stderr


def test_an_interpreter_without_a_wheel_is_told_what_there_is(tmp_path: Path) -> None:
    pyz = tmp_path / "dragoman.pyz"
    other = describe_wheel("compiled.whl", compiled_for(".cpython-27-vax-ultrix.so"))
    write_pyz(pyz, [PlatformWheel("dragoman.whl", OURS), other], epoch=0)
    outcome = start(pyz)
    assert outcome.returncode == 2
    assert platform.python_version() in outcome.stderr
    assert "pip install dragoman" in outcome.stderr


def test_the_same_wheels_make_the_same_bytes(pyz: Path, tmp_path: Path) -> None:
    wheels = [PlatformWheel("dragoman.whl", OURS), describe_wheel("compiled.whl", compiled_for(SUFFIX))]
    write_pyz(tmp_path / "again.pyz", wheels, epoch=0)
    assert (tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()


def test_macs_of_both_kinds_have_their_wheel() -> None:
    data = compiled_for(".cpython-312-darwin.so")
    machines = [
        describe_wheel(f"compiled-1-cp312-cp312-macosx_11_0_{machine}.whl", data).machine
        for machine in ("arm64", "x86_64")
    ]
    assert machines == ["arm64", "x86_64"]


def test_the_lock_has_msgspec_for_every_python_and_system() -> None:
    names = list(json.loads(LOCK.read_text("utf-8")))
    missing = [
        (python, system)
        for python in PYTHONS
        for system, tags in SYSTEMS.items()
        if not any(
            f"cp{python.replace('.', '')}-" in name and any(tag in name for tag in tags) for name in names
        )
    ]
    assert missing == []
