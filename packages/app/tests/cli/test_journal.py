"""`dragoman journal copy`: both ways, resumed, and refused."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_local.journal import Entry, Journal, StreamInfo, open_journal
from dragoman_local.journal.journal_copy import all_streams, digest_of
from tests.nats.places import fresh
from tests.nats_servers import Servers, started


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "a.db"
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    async with open_journal(path, durability="off") as journal:
        await journal.append("one", [Entry("to_agent", b"%d" % n, 1.5 + n) for n in range(2_500)])
        await journal.append("one", [Entry("note", bytes(range(256)) * 4_000, 3.25)])
        await journal.append("zwei/ä", [Entry("to_client", b"{}", 1e9)])
        await journal.describe("one", agent="echo", title="A title", cwd="/tmp", state="running", session="s")
        await journal.describe("empty", title="nothing yet")


async def read(path: Path) -> tuple[list[StreamInfo], list[str]]:
    """What a file holds: descriptions in order, and digests of all streams."""
    async with open_journal(path) as journal:
        infos = [info async for info in all_streams(journal)]
        return infos, [await digest(journal, info) for info in infos]


async def digest(journal: Journal, info: StreamInfo) -> str:
    return await digest_of(journal, info.stream, last=info.last)


def copied(source: object, target: object, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    status = main(["journal", "copy", str(source), str(target), "--json"])
    said: dict[str, object] = json.loads(capsys.readouterr().out)
    assert status == (0 if said["same"] else 1)
    return said


def test_a_journal_goes_to_nats_and_comes_back_the_same(
    servers: Servers, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = f"{servers.url}/{fresh('copy')}?shards=2"
    said = copied(history, there, capsys)
    assert (said["entries"], said["written"], said["same"]) == (2502, 2502, True)
    again = copied(history, there, capsys)
    assert (again["entries"], again["written"], again["same"]) == (2502, 0, True)
    back = copied(there, tmp_path / "b.db", capsys)
    assert (back["entries"], back["written"], back["same"]) == (2502, 2502, True)
    assert asyncio.run(read(tmp_path / "b.db")) == asyncio.run(read(history))


def test_a_copy_that_was_broken_off_is_finished(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    shutil.copy(history, source)
    assert copied(source, target, capsys)["same"] is True
    asyncio.run(_grow(source, "zwei/ä"))
    said = copied(source, target, capsys)
    assert (said["written"], said["same"]) == (3, True)
    assert asyncio.run(read(target)) == asyncio.run(read(source))


async def _grow(path: Path, stream: str) -> None:
    async with open_journal(path, durability="off") as journal:
        await journal.append(stream, [Entry("note", b"more", 5.0)] * 3)


def test_a_target_with_other_streams_or_other_entries_is_refused(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, stream in (("c.db", "of somebody else"), ("d.db", "one")):
        asyncio.run(_grow(tmp_path / name, stream))
        said = copied(history, tmp_path / name, capsys)
        assert said["same"] is False
        assert said["written"] == 0 or stream == "one"
        assert "target" in str(said["error"])


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "copy", str(tmp_path / "no.db"), str(tmp_path / "b.db")]) == 1
    assert "Check FROM" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_journal_is_not_copied_into_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "copy", "a.db", "a.db"]) == 2
    assert "the same journal" in capsys.readouterr().err


def test_help_has_examples_and_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["journal", "copy", "--help"])
    shown = capsys.readouterr().out
    assert "examples:" in shown
    assert "exit status:" in shown
