"""What an agent is lent: conflicts and how they are decided, what editors hold, what a guard forbids."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.files import SessionFiles
from dragoman_local.workspace.lent_files import Access, LentFiles, WorkspaceHooks
from dragoman_local.workspace.refusals import CONFLICT, FORBIDDEN, NOT_FOUND, reason_of
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.versions import KnownVersions
from dragoman_local.workspace.write_conflicts import ConflictDecision, Verdict, WriteConflict
from tests.workspace.text_buffers import TextBuffers

BASE = "1\n2\n3\n4\n5\n"


@contextmanager
def lent(folder: Path, settings: FileSettings | None = None, **around: Any) -> Iterator[LentFiles]:
    chosen = settings or FileSettings()
    with Roots(str(folder)) as roots:
        told = KnownVersions(base_bytes=chosen.base_bytes)
        files = SessionFiles(roots, chosen, known_versions=told, writing=threading.Lock())
        yield LentFiles("s1", files, WorkspaceHooks(**around))


async def refused(call: Any) -> tuple[int, str]:
    with pytest.raises(ErrorAnswer) as caught:
        await call
    return caught.value.code, reason_of(caught.value)


def merging(**more: Any) -> FileSettings:
    return FileSettings(stale="merge", **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file.txt").write_text(BASE)
    return tmp_path / "file.txt"


# Conflicts.


async def test_a_conflict_is_refused_by_default_and_recorded(path: Path) -> None:
    decisions: list[ConflictDecision] = []
    with lent(path.parent, record=decisions.append) as files:
        await files.read(str(path))
        path.write_text("user")
        assert await refused(files.write(str(path), "agent")) == (CONFLICT, "changed_since_read")
    assert path.read_text() == "user"
    assert decisions == [ConflictDecision(session_id="s1", path=str(path), kind="changed", outcome="refused")]


async def test_without_a_conflict_nothing_is_recorded(path: Path) -> None:
    decisions: list[ConflictDecision] = []
    with lent(path.parent, merging(), record=decisions.append) as files:
        await files.read(str(path))
        assert (await files.write(str(path), "agent")).outcome is None
    assert decisions == []


async def test_changes_of_both_are_merged_again_and_again(path: Path) -> None:
    decisions: list[ConflictDecision] = []
    with lent(path.parent, merging(), record=decisions.append) as files:
        await files.read(str(path), line=2, limit=1)
        path.write_text("user\n2\n3\n4\n5\n")
        assert (await files.write(str(path), "1\n2\n3\n4\nagent\n")).outcome == "merged"
        assert path.read_text() == "user\n2\n3\n4\nagent\n"
        # The agent has not read since: for it, the first line is still 1.
        assert (await files.write(str(path), "1\n2\nmore\n4\nagent\n")).outcome == "merged"
        assert path.read_text() == "user\n2\nmore\n4\nagent\n"
        await files.read(str(path))
        assert (await files.write(str(path), "all mine\n")).outcome is None
    assert [decision.outcome for decision in decisions] == ["merged", "merged"]


async def test_a_windows_file_is_merged_in_its_own_form(path: Path) -> None:
    path.write_bytes(b"1\r\n2\r\n3\r\n")
    with lent(path.parent, merging()) as files:
        await files.read(str(path))
        path.write_bytes(b"user\r\n2\r\n3\r\n")
        await files.write(str(path), "1\n2\nagent\n")
    assert path.read_bytes() == b"user\r\n2\r\nagent\r\n"


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ("user\n2\n3\n4\n5\n", "changed_since_read"),
        (b"\xff\0", "changed_since_read"),
        (None, "deleted_since_read"),
    ],
    ids=["the same line", "no text any more", "deleted"],
)
async def test_what_cannot_be_merged_is_refused(theirs: str | bytes | None, reason: str, path: Path) -> None:
    decisions: list[ConflictDecision] = []
    with lent(path.parent, merging(), record=decisions.append) as files:
        await files.read(str(path))
        if theirs is None:
            path.unlink()
        else:
            path.write_bytes(theirs if isinstance(theirs, bytes) else theirs.encode())
        with pytest.raises(ErrorAnswer, match="could not be merged") as caught:
            await files.write(str(path), "agent\n2\n3\n4\n5\n")
        assert (caught.value.code, reason_of(caught.value)) == (CONFLICT, reason)
    assert [decision.outcome for decision in decisions] == ["refused"]
    assert not path.exists() if theirs is None else b"agent" not in path.read_bytes()


async def test_a_text_that_was_not_kept_is_not_merged(path: Path) -> None:
    with lent(path.parent, merging(base_bytes=3)) as files:
        await files.read(str(path))
        path.write_text("user\n2\n3\n4\n5\n")
        assert (await refused(files.write(str(path), "1\n2\n3\n4\nagent\n")))[0] == CONFLICT


async def test_a_file_that_appeared_is_merged_only_if_it_is_the_same(tmp_path: Path) -> None:
    with lent(tmp_path, merging(missing="empty")) as files:
        await files.read(str(tmp_path / "new"))
        (tmp_path / "new").write_text("user")
        assert await refused(files.write(str(tmp_path / "new"), "agent")) == (CONFLICT, "appeared")


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("overwrite", "1\n2\n3\n4\nagent\n"), ("merge", "user\n2\n3\n4\nagent\n"), ("refuse", None)],
)
async def test_a_person_is_asked_if_the_settings_say_so(
    verdict: Verdict, text: str | None, path: Path
) -> None:
    asked: list[WriteConflict] = []
    decisions: list[ConflictDecision] = []

    async def ask(conflict: WriteConflict) -> Verdict:
        asked.append(conflict)
        return verdict

    around = {"ask": ask, "record": decisions.append}
    with lent(path.parent, FileSettings(stale="ask"), **around) as files:
        await files.read(str(path))
        path.write_text("user\n2\n3\n4\n5\n")
        if text is None:
            assert (await refused(files.write(str(path), "1\n2\n3\n4\nagent\n")))[0] == CONFLICT
        else:
            await files.write(str(path), "1\n2\n3\n4\nagent\n")
            assert path.read_text() == text
    (conflict,) = asked
    assert (conflict.kind, conflict.base, conflict.theirs) == ("changed", BASE, "user\n2\n3\n4\n5\n")
    assert [decision.outcome for decision in decisions] == [
        {"overwrite": "overwritten", "merge": "merged", "refuse": "refused"}[verdict]
    ]


async def test_a_file_that_changes_while_a_person_thinks_is_asked_about_again(path: Path) -> None:
    seen: list[str | None] = []

    async def ask(conflict: WriteConflict) -> Verdict:
        seen.append(conflict.theirs)
        if len(seen) < 3:
            path.write_text(f"user {len(seen)}")
        return "overwrite"

    with lent(path.parent, FileSettings(stale="ask"), ask=ask) as files:
        await files.read(str(path))
        path.write_text("user 0")
        await files.write(str(path), "agent")
    assert seen == ["user 0", "user 1", "user 2"]
    assert path.read_text() == "agent"


async def test_with_nobody_to_ask_it_is_refused(path: Path) -> None:
    with lent(path.parent, FileSettings(stale="ask")) as files:
        await files.read(str(path))
        path.write_text("user")
        assert (await refused(files.write(str(path), "agent")))[0] == CONFLICT


async def test_a_question_that_is_cancelled_writes_nothing(path: Path) -> None:
    asked = asyncio.Event()

    async def ask(_: WriteConflict) -> Verdict:
        asked.set()
        await asyncio.Event().wait()
        return "overwrite"

    with lent(path.parent, FileSettings(stale="ask"), ask=ask) as files:
        await files.read(str(path))
        path.write_text("user")
        task = asyncio.create_task(files.write(str(path), "agent"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert path.read_text() == "user"


async def test_strict_settings_refuse_without_asking(path: Path) -> None:
    async def ask(_: WriteConflict) -> Verdict:
        return "overwrite"

    with lent(path.parent, FileSettings(stale="ask", strict=True), ask=ask) as files:
        assert await refused(files.write(str(path), "agent")) == (CONFLICT, "not_read")


async def test_two_writes_at_once_do_not_lose_one_in_silence(path: Path) -> None:
    with lent(path.parent) as one, lent(path.parent) as other:
        other.files._writing = one.files._writing  # as in one workspace
        await one.read(str(path))
        await other.read(str(path))
        done = await asyncio.gather(
            one.write(str(path), "one"), other.write(str(path), "other"), return_exceptions=True
        )
    assert sorted(isinstance(result, ErrorAnswer) for result in done) == [False, True]


# Buffers.


async def test_unsaved_text_comes_before_the_disk(path: Path) -> None:
    buffers = TextBuffers()
    buffers.texts[str(path)] = "unsaved\nlines\n"
    with lent(path.parent, buffers=buffers) as files:
        assert (await files.read(str(path))).text == "unsaved\nlines\n"
        assert (await files.read(str(path), line=2, limit=1)).text == "lines\n"
        await files.write(str(path), "agent")
        assert buffers.texts == {str(path): "agent"}
        assert path.read_text() == BASE  # saving is the editor's business
        del buffers.texts[str(path)]
        assert (await files.read(str(path))).text == BASE


async def test_a_file_that_is_open_by_its_own_name_is_found_by_a_link(path: Path) -> None:
    (path.parent / "link").symlink_to(path.name)
    buffers = TextBuffers()
    buffers.texts[str(path)] = "unsaved"
    with lent(path.parent, buffers=buffers) as files:
        assert (await files.read(str(path.parent / "link"))).text == "unsaved"
        await files.write(str(path.parent / "link"), "agent")
    assert buffers.texts == {str(path): "agent"}


async def test_a_buffer_that_exists_on_no_disk_can_be_read(tmp_path: Path) -> None:
    buffers = TextBuffers()
    buffers.texts[str(tmp_path / "no/new.txt")] = "unsaved"
    with lent(tmp_path, buffers=buffers) as files:
        assert (await files.stat(str(tmp_path / "no/new.txt"))).size == len("unsaved")
        assert (await files.read(str(tmp_path / "no/new.txt"))).text == "unsaved"
        await files.write(str(tmp_path / "no/new.txt"), "agent")
        assert await refused(files.read(str(tmp_path / "none"))) == (NOT_FOUND, "missing")


async def test_a_buffer_outside_the_roots_is_not_lent(path: Path) -> None:
    (path.parent / "root").mkdir()
    (path.parent / "root/link").symlink_to("../file.txt")
    buffers = TextBuffers()
    for name in ("file.txt", "root/link", "root/../file.txt"):
        buffers.texts[str(path.parent / name)] = "secret"
    with lent(path.parent / "root", buffers=buffers) as files:
        for name in ("file.txt", "root/link", "root/../file.txt"):
            assert await refused(files.read(f"{path.parent}/{name}")) == (FORBIDDEN, "outside")
            assert await refused(files.write(f"{path.parent}/{name}", "")) == (FORBIDDEN, "outside")
    assert set(buffers.texts.values()) == {"secret"}


async def test_typing_in_an_open_file_is_a_conflict_like_any_other(path: Path) -> None:
    buffers = TextBuffers()
    buffers.texts[str(path)] = BASE
    with lent(path.parent, merging(), buffers=buffers) as files:
        await files.read(str(path))
        buffers.texts[str(path)] = "typed\n2\n3\n4\n5\n"
        assert (await files.write(str(path), "1\n2\n3\n4\nagent\n")).outcome == "merged"
        assert buffers.texts[str(path)] == "typed\n2\n3\n4\nagent\n"
        buffers.texts[str(path)] = "rewritten"
        assert (await refused(files.write(str(path), "agent")))[0] == CONFLICT


async def test_a_file_that_is_opened_and_saved_unchanged_is_the_one_that_was_read(path: Path) -> None:
    buffers = TextBuffers()
    with lent(path.parent, buffers=buffers) as files:
        await files.read(str(path))
        buffers.texts[str(path)] = BASE
        assert (await files.write(str(path), "agent")).outcome is None


async def test_an_editor_may_refuse(path: Path) -> None:
    class ReadOnly(TextBuffers):
        def set(self, path: str, text: str) -> None:
            raise ErrorAnswer(FORBIDDEN, "this buffer is read-only")

    buffers = ReadOnly()
    buffers.texts[str(path)] = "mine"
    with lent(path.parent, buffers=buffers) as files:
        assert (await refused(files.write(str(path), "agent")))[0] == FORBIDDEN
        assert (await files.read(str(path))).text == "mine"


# Guards.


async def test_a_guard_is_asked_about_the_real_path_before_anything_happens(path: Path) -> None:
    (path.parent / "link").symlink_to(path.name)
    asked: list[Access] = []

    async def guard(access: Access) -> None:
        asked.append(access)
        if access.kind == "write":
            raise ErrorAnswer(FORBIDDEN, "not today")

    link = str(path.parent / "link")
    with lent(path.parent, guard=guard) as files:
        await files.read(link)
        await files.read_range(link)
        await files.stat(link)
        await files.search("*.txt")
        assert (await refused(files.write(link, "agent")))[0] == FORBIDDEN
        assert (await refused(files.write(str(path.parent / "no/new.txt"), "agent")))[0] == FORBIDDEN
    assert [(access.kind, access.path) for access in asked[:4]] == [
        *(("read", str(path)), ("read", str(path)), ("stat", str(path)), ("search", "*.txt")),
    ]
    assert (asked[4].path, asked[4].text) == (str(path), "agent")
    assert path.read_text() == BASE
    assert not (path.parent / "no").exists()


async def test_a_guard_is_not_bothered_with_what_is_outside(path: Path) -> None:
    async def guard(_: Access) -> None:
        raise AssertionError

    with lent(path.parent, guard=guard) as files:
        assert (await refused(files.read("/etc/passwd")))[0] == FORBIDDEN


async def test_what_is_exchanged_while_a_guard_thinks_is_refused(path: Path) -> None:
    (path.parent / "other.txt").write_text("other")
    (path.parent / "link").symlink_to(path.name)

    async def guard(_: Access) -> None:
        (path.parent / "link").unlink()
        (path.parent / "link").symlink_to("other.txt")

    with lent(path.parent, guard=guard) as files:
        assert await refused(files.read(str(path.parent / "link"))) == (FORBIDDEN, "changed")
