"""Files that an agent may not have, and how it gets those that it may."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import WELL, Folder, Run, complete, complete_in_fork
from tests.faults.watch import MEBIBYTE

pytestmark = pytest.mark.bound(60)

SECRET = "the secret outside"  # it is not
INSIDE = "one\ntwo\nthree\n"

READS_OUTSIDE = [
    *("CFS-01", "CFS-03", "CFS-04", "CFS-12", "CFS-X01", "CFS-X02", "CFS-X03", "CFS-X05", "CFS-X07"),
    *("CFS-X14", "CFS-X17", "CFS-X18", "CFS-X19", "CFS-X23"),
]
WRITES_OUTSIDE = ["CFS-06", "CFS-07", "CFS-X06", "CFS-X15", "CFS-X20", "CFS-X22"]


def furnish(folder: Folder) -> None:
    """A workspace with every trap that a file system has."""
    work, outside = folder.work, folder.outside
    (outside / "secret.txt").write_text(SECRET)
    (work / "inside.txt").write_text(INSIDE)
    (work / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    (work / "binary.bin").write_bytes(bytes(range(256)))
    (work / "deep").mkdir()
    twin = folder.place / "work-twin"
    twin.mkdir()
    (twin / "secret.txt").write_text(SECRET)
    (folder.place / "worktwin").write_text(SECRET)
    (folder.place / "secret.txt").write_text(SECRET)
    links = {"link-to-file": outside / "secret.txt", "link-to-folder": outside, "loop": work / "loop"}
    links |= {
        "dangling": outside / "made.txt",
        "chain-1": work / "chain-2",
        "chain-2": outside / "secret.txt",
    }
    links |= {"device": Path("/dev/zero")}
    for name, target in links.items():
        (work / name).symlink_to(target)
    os.mkfifo(work / "fifo")
    (work / "no-rights.txt").write_text("nobody reads me")
    (work / "no-rights.txt").chmod(0)
    here = os.open(work, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{here}/socket")  # its whole path may be too long
    os.close(here)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One turn in which an agent that may do everything tries all of it."""
    place = tmp_path_factory.mktemp("files")
    furnish(Folder(place))
    return asyncio.run(complete("files", "files", place, "--approve", "all"))


def answers(run: Run, name: str) -> list[dict[str, Any]]:
    assert (run.status, run.text) == (0, WELL)
    found = [note[name] for note in run.folder.notes if name in note]
    assert found
    for answer in found:
        (answer.get("result") or {}).pop("_meta", None)
    return found


def codes(run: Run, name: str) -> set[int | None]:
    return {answer.get("error", {}).get("code") for answer in answers(run, name)}


@fault("CFS-00")
def test_a_file_of_the_workspace_is_read(fault: str, tried: Run) -> None:
    assert answers(tried, fault) == [{"result": {"content": INSIDE}}]


@cases(dict.fromkeys(READS_OUTSIDE, SECRET))
def test_nothing_outside_is_read(fault: str, case: str, tried: Run) -> None:
    assert None not in codes(tried, fault)
    assert case not in str(answers(tried, fault))
    assert all(answer["error"]["message"] for answer in answers(tried, fault))


@cases(dict.fromkeys(WRITES_OUTSIDE, SECRET.encode()))
def test_nothing_outside_is_written(fault: str, case: bytes, tried: Run) -> None:
    assert None not in codes(tried, fault)
    folder = tried.folder
    assert content(folder.outside) == {"secret.txt": case}
    assert sorted(path.name for path in folder.place.iterdir() if "EVIL" in path.name) == []
    assert not (folder.place / "new").exists()
    assert (folder.work / "inside.txt").read_text() == INSIDE


@cases(
    {
        "CFS-09": {-32602},
        "CFS-15": {-32002},
        "CFS-16": {-32602, -32002},
        "CFS-18": {-32602, -32002, -32600},
    }
)
def test_each_refusal_has_its_code(fault: str, case: set[int], tried: Run) -> None:
    assert codes(tried, fault) <= case


@cases(dict.fromkeys(["CFS-10", "CFS-X04", "CFS-X08", "CFS-X10"], True))
def test_what_is_no_file_is_refused(fault: str, case: bool, tried: Run) -> None:
    assert (None not in codes(tried, fault)) is case


@cases({"CFS-X09": 2, "CFS-X24": 1, "CFS-X25": 1})
def test_an_odd_content_has_an_answer(fault: str, case: int, tried: Run) -> None:
    assert len(answers(tried, fault)) == case
    assert codes(tried, fault) <= {None, -32602, -32603, -32002, 415}


@fault("CFS-19")
def test_meta_never_overrides_the_path(fault: str, tried: Run) -> None:
    assert answers(tried, fault) == [{"result": {"content": INSIDE}}]


@fault("CFS-21")
def test_text_is_written_and_read_back_byte_for_byte(fault: str, tried: Run) -> None:
    text = "one\r\ntwo \U0001f600\r\n\u2028three\n"
    assert (tried.folder.work / "written.txt").read_bytes() == text.encode()
    assert answers(tried, fault)[-1] == {"result": {"content": text}}


@fault("CFS-X12")
def test_folders_are_made_where_they_are_missing(tried: Run) -> None:
    assert (tried.folder.work / "new" / "folder" / "file.txt").read_text() == "deep"


@fault("CFS-13")
async def test_one_line_of_a_large_file_costs_one_line(fault: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with open(folder.work / "large.txt", "wb") as file:
        file.write(b"first\nsecond\nthird\n")
        for _ in range(300):
            file.write((b"x" * 1023 + b"\n") * 1024)
    run = await complete("files", fault, tmp_path, "--changes", "keep")
    assert answers(run, fault) == [{"result": {"content": "third\n"}}]
    assert run.growth <= 100
    assert codes(run, "CFS-X26") != {None}
    assert run.status == 0


@fault("CFS-X26")
async def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with open(folder.work / "large.txt", "wb") as file:
        file.write(b"a\nb\nc\n")
        file.truncate(300 * MEBIBYTE)
    run = await complete("files", "CFS-13", tmp_path)
    assert run.growth <= 100
    assert codes(run, "CFS-X26") != {None}


@fault("CFS-X16")
async def test_hundreds_of_reads_at_once_and_a_large_write(fault: str, tmp_path: Path) -> None:
    (Folder(tmp_path).work / "inside.txt").write_text(INSIDE)
    run = await complete("files", fault, tmp_path, "--approve", "all")
    assert run.status == 0
    assert run.folder.noted("answered") == list(range(400))
    assert run.folder.noted("wrong") == []
    assert run.growth <= 20 * 8
    assert len(run.out) < 2000


@fault("CFS-X11")
async def test_a_link_that_is_swapped_during_the_call_leads_nowhere(fault: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (folder.outside / "secret.txt").write_text(SECRET)
    run = await complete_in_fork("files", fault, tmp_path, "--approve", "all")
    seen = set(run.folder.noted("seen"))
    assert seen <= {"inside", "refused"}
    # A write that was approved and then met the link is no success; without one, there is nothing to tell.
    assert run.status == 0 or (run.status == 7 and "refused" in run.folder.noted("writes"))
    assert content(folder.outside) == {"secret.txt": SECRET.encode()}
