"""What we bring along: the same archive each time, unpacked whole and by its hash, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.remote import bootstrap
from dragoman_hub.remote.bundle import Bundle, make_bundle
from dragoman_hub.remote.connection import first_program


@pytest.fixture(scope="module")
def bundle(cache_here: Path) -> Bundle:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_here))
        return make_bundle()


def test_the_archive_is_the_same_each_time_and_can_be_brought_as_a_file(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert make_bundle() == bundle
    file = tmp_path / "dragoman.pyz"
    file.write_bytes(b"#!/usr/bin/env python3\n" + bundle.data)
    assert make_bundle(str(file)).version == bundle.version
    file.write_bytes(b"no archive")
    with pytest.raises(LocalMistake, match=r"is not a dragoman\.pyz"):
        make_bundle(str(file))


def test_it_is_unpacked_with_everything_that_the_other_side_runs(bundle: Bundle, tmp_path: Path) -> None:
    bootstrap.unpack(bundle.data, tmp_path / "made")
    assert json.loads((tmp_path / "made/paths.json").read_text()) == {"paths": ["lib"]}
    library = tmp_path / "made/lib"
    needed = ("remote/lender.py", "remote/attach.py", "agents/host/__main__.py")
    for name in (*(f"dragoman_hub/{name}" for name in needed), "dragoman_app/agents/echo.py"):
        assert (library / name).is_file()
    assert not any((library / name).exists() for name in ("dragoman_check", "dragoman_hub/api"))
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def repacked(bundle: Bundle, *, suffix: str, is_damaged: bool = False) -> bytes:
    """The archive with a msgspec for another Python, or with a wheel that is not the one that was packed."""
    with zipfile.ZipFile(io.BytesIO(bundle.data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    contents = json.loads(members["contents.json"])
    for wheel in contents["wheels"]:
        wheel["suffix"] = suffix if wheel["suffix"] else ""
        wheel["sha256"] = "0" * 64 if is_damaged else wheel["sha256"]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, json.dumps(contents) if name == "contents.json" else member)
    return data.getvalue()


def test_for_another_python_its_own_msgspec_is_used(bundle: Bundle, tmp_path: Path) -> None:
    bootstrap.unpack(repacked(bundle, suffix=".other.so"), tmp_path / "made")
    assert (tmp_path / "made/lib/dragoman").is_dir()
    assert not (tmp_path / "made/lib/msgspec").exists()
    place = bootstrap.find_msgspec(tmp_path, tmp_path, {})
    assert Path(place) == Path(msgspec.__file__).parents[1]


def test_what_is_damaged_is_not_unpacked(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, object]] = []
    monkeypatch.setattr(bootstrap, "say", lambda **members: said.append(members))
    with pytest.raises(SystemExit):
        bootstrap.unpack(repacked(bundle, suffix=".so", is_damaged=True), tmp_path / "made")
    assert "SHA-256" in str(said[0]["error"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_write_to_is_not_used(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, object]] = []
    monkeypatch.setattr(bootstrap, "say", lambda **members: said.append(members))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    base = tmp_path / "dragoman/remote"
    base.mkdir(parents=True)
    base.chmod(0o777)
    order = {"folder": "f", "size": len(bundle.data), "sha256": hashlib.sha256(bundle.data).hexdigest()}
    with pytest.raises(SystemExit):
        bootstrap.prepare(order, io.BytesIO(bundle.data))
    assert "other users can change" in str(said[0]["error"])


def test_the_first_program_is_two_lines_that_any_shell_leaves_alone() -> None:
    program = first_program()
    assert program.count(b"\n") == 2
    for line in program.splitlines():
        compile(line, "first program", "exec")
