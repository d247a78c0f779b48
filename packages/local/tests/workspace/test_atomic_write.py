"""Writes: whole or not at all, with the old file's mode, and in its form."""

from __future__ import annotations

import codecs
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.atomic_write import FileAppeared, create, replace
from dragoman_local.workspace.files import FileDraft
from dragoman_local.workspace.places import FilePlace
from dragoman_local.workspace.refusals import FORBIDDEN, NOT_TEXT, TOO_LARGE
from dragoman_local.workspace.settings import FileSettings
from tests.workspace.ground import BOTH_WAYS, files_in, refused, write

both_ways = pytest.mark.parametrize("use_kernel", BOTH_WAYS)
any_text = st.text(st.characters(codec="utf-8"), max_size=80)
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def place_of(path: Path) -> FilePlace:
    return FilePlace(os.open(path.parent, os.O_RDONLY), path.name, str(path))


@same_folder
@given(text=any_text)
def test_a_new_file_holds_the_text_byte_for_byte_and_gives_it_back(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.unlink(missing_ok=True)
    with files_in(tmp_path) as files:
        write(files, path, text)
        assert path.read_bytes() == text.encode()
        if "\0" not in text:
            assert files.read(str(path)).text == text.removeprefix("\ufeff")


@same_folder
@given(text=any_text.filter(lambda text: "\r" not in text), form=st.sampled_from(["keep", "exact"]))
def test_what_the_agent_ends_with_crlf_is_written_byte_for_byte(text: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old\r\ntext\r\n")
    wanted = text.replace("\n", "\r\n")
    with files_in(tmp_path, settings=FileSettings(form=form)) as files:  # type: ignore[arg-type]
        write(files, path, wanted)
    assert path.read_bytes() == wanted.encode()


@pytest.mark.parametrize(
    ("form", "old", "text", "new"),
    [
        ("keep", b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        ("exact", b"a\r\nb\r\n", "x\ny\n", b"x\ny\n"),
        ("keep", b"a\nb\r\n", "x\ny\n", b"x\ny\n"),
        ("keep", b"a\nb\n", "\U0001f600\r\n", "\U0001f600\r\n".encode()),
        ("keep", codecs.BOM_UTF8 + b"a", "x", codecs.BOM_UTF8 + b"x"),
        ("exact", codecs.BOM_UTF8 + b"a", "x", b"x"),
        ("keep", codecs.BOM_UTF16_LE + "a\r\n".encode("utf-16-le"), "ü\n", "\ufeffü\r\n".encode("utf-16-le")),
        ("exact", codecs.BOM_UTF16_LE + "a".encode("utf-16-le"), "ü", "ü".encode()),
        ("keep", b"\x89PNG\0", "text\n", b"text\n"),
    ],
)
def test_a_file_that_is_overwritten_keeps_its_form_if_that_is_wanted(
    form: str, old: bytes, text: str, new: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(old)
    with files_in(tmp_path, settings=FileSettings(form=form)) as files:  # type: ignore[arg-type]
        write(files, path, text)
    assert path.read_bytes() == new


def test_a_latin_1_file_stays_one_or_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes("café".encode("latin-1"))
    with files_in(tmp_path, settings=FileSettings(foreign_text="latin-1")) as files:
        write(files, path, "naïve")
        assert path.read_bytes() == "naïve".encode("latin-1")
        assert refused(files.write, str(path), FileDraft("5 €")) == (NOT_TEXT, "not_text")
        assert path.read_bytes() == "naïve".encode("latin-1")


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664])
def test_the_mode_stays(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(mode)
    with files_in(tmp_path) as files:
        write(files, path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with files_in(tmp_path) as files:
            write(files, tmp_path / "a/new.txt", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a/new.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    path.chmod(0o4755)
    with files_in(tmp_path) as files:
        write(files, path, "new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o4755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(0o444)
    with files_in(tmp_path) as files:
        assert refused(files.write, str(path), FileDraft("new")) == (FORBIDDEN, "no_permission")
    assert path.read_text() == "old"


@both_ways
def test_missing_folders_are_made(use_kernel: bool, tmp_path: Path) -> None:
    path = tmp_path / "/".join(str(n) for n in range(60)) / "file.txt"
    with files_in(tmp_path, use_kernel=use_kernel) as files:
        assert write(files, path, "deep").is_created
        assert not write(files, path, "deeper").is_created
    assert path.read_text() == "deeper"


@both_ways
def test_the_target_of_a_link_is_written_and_the_link_stays(use_kernel: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("sub/target.txt")
    with files_in(tmp_path, use_kernel=use_kernel) as files:
        write(files, tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "sub/target.txt").read_text() == "new"


def test_another_hard_link_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.txt").write_text("old")
    os.link(tmp_path / "outside.txt", tmp_path / "root/file.txt")
    with files_in(tmp_path / "root") as files:
        write(files, tmp_path / "root/file.txt", "new")
    assert (tmp_path / "outside.txt").read_text() == "old"


def test_readers_see_the_old_file_or_the_new_one_and_nothing_between(tmp_path: Path) -> None:
    path, over = tmp_path / "file.txt", threading.Event()
    contents = {letter * 200_000 for letter in "ab"}
    path.write_text("a" * 200_000)
    seen: set[str] = set()

    def read() -> None:
        while not over.is_set():
            seen.add(path.read_text())

    thread = threading.Thread(target=read)
    thread.start()
    try:
        with files_in(tmp_path) as files:
            for _ in range(30):
                for text in sorted(contents):
                    write(files, path, text)
    finally:
        over.set()
        thread.join()
    assert seen <= contents


@pytest.mark.parametrize("fsync", [True, False])
def test_nothing_is_left_beside_the_file(fsync: bool, tmp_path: Path) -> None:
    with files_in(tmp_path, settings=FileSettings(fsync=fsync, write_bytes=10)) as files:
        write(files, tmp_path / "file.txt", "new")
        write(files, tmp_path / "file.txt", "newer")
        assert refused(files.write, str(tmp_path / "file.txt"), FileDraft("é" * 6)) == (
            TOO_LARGE,
            "too_large",
        )
        assert refused(files.write, str(tmp_path / "a/b"), FileDraft("x" * 11)) == (TOO_LARGE, "too_large")
    assert os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("call", ["write", "rename", "fchmod"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device", "/a/secret/path")

    with files_in(tmp_path) as files:
        monkeypatch.setattr(os, call, fail)
        with pytest.raises(ErrorAnswer, match="space") as caught:
            files.write(str(path), FileDraft("new"))
        monkeypatch.undo()
    assert "secret" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file.txt"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_appears_is_not_overwritten(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    (tmp_path / "there").write_text("mine")
    with place_of(tmp_path / "there") as place, pytest.raises(FileAppeared):
        create(place, b"yours", fsync=False)
    with place_of(tmp_path / "new") as place:
        create(place, b"new", fsync=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"there": "mine", "new": "new"}


def _no_links(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_link_put_in_the_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    old = (tmp_path / "secret").stat()
    (tmp_path / "name").symlink_to("secret")
    with place_of(tmp_path / "name") as place:
        replace(place, b"new", old=old, fsync=False)
    assert not (tmp_path / "name").is_symlink()
    assert (tmp_path / "secret").read_text() == "secret"
