"""A session's files on disk: what the agent was told, and what a write finds instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman_local.workspace.files import FileDraft, FileStatus, SessionFiles
from dragoman_local.workspace.refusals import CONFLICT, NOT_FOUND
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.versions import ABSENT, KnownVersions, version_of
from dragoman_local.workspace.write_conflicts import Kind, WriteClash, WriteResult
from tests.workspace.ground import BOTH_WAYS, files_in, refused, write

both_ways = pytest.mark.parametrize("use_kernel", BOTH_WAYS)


def clash(files: SessionFiles, path: Path, text: str = "agent", **more: Any) -> WriteClash:
    done = files.write(str(path), FileDraft(text, **more))
    assert isinstance(done, WriteClash), done
    return done


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        assert refused(files.read, str(tmp_path / "none")) == (NOT_FOUND, "missing")
        assert refused(files.read, str(tmp_path / "no/ne")) == (NOT_FOUND, "missing")
        assert refused(files.read_range, str(tmp_path / "none")) == (NOT_FOUND, "missing")


def test_a_missing_file_is_empty_if_that_was_chosen(tmp_path: Path) -> None:
    with files_in(tmp_path, settings=FileSettings(missing="empty")) as files:
        assert files.read(str(tmp_path / "none")) == ("", ABSENT)
        assert files.read(str(tmp_path / "no/ne")) == ("", ABSENT)
        assert refused(files.read_range, str(tmp_path / "none")) == (NOT_FOUND, "missing")
        assert not (tmp_path / "none").exists()
        assert write(files, tmp_path / "none", "text").is_created


# Versions.


def test_a_read_hands_out_the_version_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("1\n2\n3\n")
    with files_in(tmp_path) as files:
        assert files.read(str(path), first=2, limit=1) == ("2\n", version_of(b"1\n2\n3\n"))
        assert files.read_range(str(path), offset=1, limit=1).version == version_of(b"1\n2\n3\n")


WAYS: dict[str, Callable[[SessionFiles, str], object]] = {
    "read": lambda files, path: files.read(path),
    "range": lambda files, path: files.read_range(path),
    "page": lambda files, path: files.read(path, limit=1),
}


@both_ways
@pytest.mark.parametrize("tell", WAYS.values(), ids=WAYS)
def test_a_write_over_a_file_that_changed_since_it_was_read_is_noticed(
    use_kernel: bool, tell: Callable[[SessionFiles, str], object], tmp_path: Path
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("1\n2\n")
    with files_in(tmp_path, use_kernel=use_kernel) as files:
        tell(files, str(path))
        path.write_text("1\nuser\n")
        found = clash(files, path)
        assert (found.kind, found.version, found.theirs) == ("changed", version_of(b"1\nuser\n"), "1\nuser\n")
        assert path.read_text() == "1\nuser\n"
        tell(files, str(path))
        write(files, path, "agent")
        assert path.read_text() == "agent"


@both_ways
@pytest.mark.parametrize("call", ["read", "stat"])
@pytest.mark.parametrize("name", ["new.txt", "folder/new.txt"])
def test_a_file_that_appeared_since_it_was_missing_is_noticed(
    use_kernel: bool, call: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    with files_in(tmp_path, settings=FileSettings(missing="empty"), use_kernel=use_kernel) as files:
        getattr(files, call)(str(path))
        path.parent.mkdir(exist_ok=True)
        path.write_text("user")
        found = clash(files, path)
        assert (found.kind, found.base, found.theirs) == ("appeared", "", "user")
        assert path.read_text() == "user"


@both_ways
def test_a_file_that_was_deleted_since_it_was_read_is_noticed(use_kernel: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder/file.txt"
    path.write_text("old")
    with files_in(tmp_path, use_kernel=use_kernel) as files:
        files.read(str(path))
        path.unlink()
        assert clash(files, path).kind == "deleted"
        path.parent.rmdir()
        assert clash(files, path).kind == "deleted"
        assert not path.parent.exists()  # no folder is made for nothing
        assert refused(files.read, str(path)) == (NOT_FOUND, "missing")
        assert write(files, path, "new").is_created


def test_a_file_that_is_read_by_one_name_is_known_by_all(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    (tmp_path / "link").symlink_to("file.txt")
    (tmp_path / "here").symlink_to(".")
    with files_in(tmp_path) as files:
        files.read(str(tmp_path / "link"))
        path.write_text("user")
        assert clash(files, path).kind == "changed"
        assert clash(files, tmp_path / "here/file.txt").kind == "changed"


def test_a_file_whose_folder_was_made_anew_is_still_known(tmp_path: Path) -> None:
    path = tmp_path / "folder/file.txt"
    path.parent.mkdir()
    path.write_text("old")
    with files_in(tmp_path) as files:
        files.read(str(path))
        path.parent.rename(tmp_path / "aside")
        path.parent.mkdir()
        path.write_text("user")
        assert clash(files, path).kind == "changed"


def test_the_agents_own_writes_are_no_surprise(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old\r\n")
    with files_in(tmp_path) as files:
        files.read(str(path))
        for n in range(3):
            write(files, path, f"{n}\n")
        assert path.read_bytes() == b"2\r\n"
        path.write_text("user")
        assert clash(files, path).kind == "changed"


def test_a_file_that_was_changed_back_is_the_one_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with files_in(tmp_path) as files:
        files.read(str(path))
        path.write_text("user")
        path.write_text("old")
        write(files, path, "agent")


def test_writing_what_is_there_already_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with files_in(tmp_path, settings=FileSettings(strict=True)) as files:
        files.read(str(path))
        path.write_text("same")
        write(files, path, "same")
        write(files, path, "more")


def test_a_file_that_was_never_read_may_be_written_unless_the_settings_are_strict(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("user")
    with files_in(tmp_path, settings=FileSettings(strict=True)) as files:
        assert clash(files, path).kind == "not_read"
        assert write(files, tmp_path / "new.txt", "new").is_created
        files.read(str(path), limit=1)
        write(files, path, "agent")
    with files_in(tmp_path) as files:
        assert not write(files, path, "other").is_created


def test_after_too_many_files_not_having_read_one_proves_nothing(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    with files_in(tmp_path) as files:
        files.known_versions = KnownVersions(base_bytes=0, most_files=2)
        for name in "abc":
            files.read(str(tmp_path / name))
        assert clash(files, tmp_path / "a").kind == "forgotten"
        write(files, tmp_path / "b", "agent")
        assert write(files, tmp_path / "new", "agent").is_created


def test_what_was_accepted_may_be_written_over_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with files_in(tmp_path) as files:
        files.read(str(path))
        path.write_text("user")
        accepted = clash(files, path).version
        path.write_text("user again")
        again = clash(files, path, accepted_version=accepted)
        assert again.theirs == "user again"
        assert isinstance(
            files.write(str(path), FileDraft("agent", accepted_version=again.version)), WriteResult
        )


def test_a_merged_text_is_not_what_the_agent_knows(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old\r\n")
    with files_in(tmp_path, settings=FileSettings(stale="merge")) as files:
        files.read(str(path))
        draft = FileDraft("merged\n", known_as="agent\n")
        assert isinstance(files.write(str(path), draft), WriteResult)
        found = clash(files, path, "next\n")
        assert (found.kind, found.base, found.theirs) == ("changed", "agent\r\n", "merged\r\n")


@pytest.mark.parametrize(("stale", "kept"), [("refuse", None), ("ask", "1\n2\n"), ("merge", "1\n2\n")])
def test_texts_are_kept_only_where_they_may_be_merged(stale: Any, kept: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("1\n2\n")
    with files_in(tmp_path, settings=FileSettings(stale=stale)) as files:
        files.read(str(path), first=2)
        path.write_text("user")
        assert clash(files, path).base == kept


@pytest.mark.parametrize(
    ("size", "kind"), [(5, "changed"), (50, "changed")], ids=["by content", "by the system's record"]
)
def test_versions_of_large_files_work_the_same(size: int, kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("x" * size)
    with files_in(tmp_path, settings=FileSettings(hash_bytes=10)) as files:
        files.read(str(path))
        write(files, path, "y" * size)
        write(files, path, "z" * size)
        path.write_text("u" * size + "!")
        assert clash(files, path).kind == kind


# Ranges and status.


def test_a_range_can_insist_on_a_version(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"\0\1\2\3")
    with files_in(tmp_path) as files:
        version = files.read_range(str(path), limit=2).version
        assert files.read_range(str(path), offset=2, if_version=version).data == b"\2\3"
        path.write_bytes(b"\0\1\2\4")
        code, reason = refused(files.read_range, str(path), offset=2, if_version=version)
        assert (code, reason) == (CONFLICT, "changed_since_read")
        assert clash(files, path).kind == "changed"  # it has not seen the new one


def test_status_tells_files_from_folders_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("12345")
    (tmp_path / "link").symlink_to("file.txt")
    with files_in(tmp_path) as files:
        assert files.stat(str(path)) == FileStatus(exists=True, size=5, modified_at=path.stat().st_mtime)
        assert files.stat(str(tmp_path / "link")).size == 5
        for folder in (str(tmp_path), f"{tmp_path}/"):
            assert files.stat(folder).is_folder
        assert files.stat(str(tmp_path / "none")) == FileStatus(exists=False)
        assert files.stat(str(tmp_path / "no/ne")) == FileStatus(exists=False)


def test_what_was_approved_for_one_place_is_not_done_in_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)
    (tmp_path / "link").symlink_to("one")
    path = str(tmp_path / "link/file.txt")
    with files_in(tmp_path) as files:
        at = files.locate(path)
        assert files.read(path, at=at).text == "one"
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("two")
        assert refused(files.read, path, at=at)[1] == "changed"
        assert refused(files.write, path, FileDraft("agent"), at=at)[1] == "changed"
        assert refused(files.stat, path, at=at)[1] == "changed"
    assert (tmp_path / "two/file.txt").read_text() == "two"
