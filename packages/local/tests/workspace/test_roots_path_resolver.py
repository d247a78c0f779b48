"""No path leads out, however it is written and whatever lies on the disk, by either way of resolving."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace import kernel, roots
from dragoman_local.workspace.files import FileDraft, SessionFiles
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS
from dragoman_local.workspace.roots import Roots
from tests.workspace.escapes import ATTACKS, METHODS, SECRET, Attack, prepared, site
from tests.workspace.ground import BOTH_WAYS, files_in, refused, write

both_ways = pytest.mark.parametrize("use_kernel", BOTH_WAYS)

CALLS: dict[str, Callable[[SessionFiles, str], Any]] = {
    "read": lambda files, path: files.read(path),
    "range": lambda files, path: files.read_range(path),
    "stat": lambda files, path: files.stat(path),
    "write": lambda files, path: files.write(path, FileDraft("taken")),
}


def test_there_are_enough_attacks_and_each_has_a_name() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60
    assert {method for attack in ATTACKS for method in attack.methods} == set(METHODS)


@both_ways
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_fails(attack: Attack, use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place:
        if attack.device and not can_make_devices(tmp_path):
            pytest.skip("only root makes devices")
        with prepared(place, attack) as path, files_in(place.root, use_kernel=use_kernel) as files:
            elsewhere, inside = place.elsewhere(), place.inside()
            for method in METHODS:  # the write comes last
                answer = attempt(CALLS[method], files, path)
                assert SECRET.strip() not in answer
                assert "PATH=" not in answer
                if method in attack.methods:
                    assert answer.startswith("refused") or answer == "there is nothing", (method, answer)
            assert place.elsewhere() == elsewhere
            assert place.inside() == inside or "write" not in attack.methods


def attempt(call: Callable[[SessionFiles, str], Any], files: SessionFiles, path: str) -> str:
    try:
        done = call(files, path)
    except ErrorAnswer as error:
        return f"refused {json.dumps([error.message, error.data])}"
    return "there is nothing" if getattr(done, "exists", None) is False else str(done)


def can_make_devices(folder: Path) -> bool:
    try:
        os.mknod(folder / "probe", 0o666 | 0o020000, os.makedev(1, 5))
    except OSError:
        return False
    (folder / "probe").unlink()
    return True


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("up and over", (FORBIDDEN, "outside")),
        ("a twin whose name goes on", (FORBIDDEN, "outside")),
        ("a relative path", (INVALID_PARAMS, "bad_path")),
        ("NUL at the end", (INVALID_PARAMS, "bad_path")),
        ("a link to the secret", (FORBIDDEN, "outside")),
        ("a dangling link out", (FORBIDDEN, "outside")),
        ("a link to itself", (FORBIDDEN, "too_many_links")),
        ("sixty links to a file inside", (FORBIDDEN, "too_many_links")),
        ("a FIFO", (FORBIDDEN, "special")),
        ("a socket", (FORBIDDEN, "special")),
        ("a folder", (INVALID_PARAMS, "not_a_file")),
        ("a file as a folder", (INVALID_PARAMS, "not_a_folder")),
        ("a name of 256 characters", (INVALID_PARAMS, "bad_path")),
    ],
)
@both_ways
def test_a_refusal_says_why(name: str, reason: tuple[int, str], use_kernel: bool, tmp_path: Path) -> None:
    (attack,) = (attack for attack in ATTACKS if attack.name == name)
    with (
        site(tmp_path) as place,
        prepared(place, attack) as path,
        files_in(place.root, use_kernel=use_kernel) as files,
    ):
        assert refused(files.read, path) == reason
        assert refused(files.write, path, FileDraft("")) == reason


@both_ways
def test_outside_nothing_is_told_about_what_exists(use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place, files_in(place.root, use_kernel=use_kernel) as files:
        there = refused(files.read, str(place.outside / "secret.txt"))
        assert there == refused(files.read, str(place.outside / "nothing")) == (FORBIDDEN, "outside")


# What stays inside is allowed.

INSIDE = {
    "plainly": "{root}/file.txt",
    "with dots and slashes": "{root}//sub/./..///file.txt",
    "by a relative link": "{root}/relative",
    "by an absolute link": "{root}/absolute",
    "by a link to a folder": "{root}/sub/up/file.txt",
    "by an absolute link to a folder": "{root}/here/file.txt",
    "by a link that goes up and comes back": "{root}/sub/back",
    "by a way that leaves and comes back": "{root}/../root/file.txt",
    "by a chain of links": "{root}/chain",
}
LINKS = {
    "relative": "file.txt",
    "absolute": "{root}/file.txt",
    "sub/up": "..",
    "here": "{root}",
    "sub/back": "../../root/file.txt",
    "chain": "relative",
}


@both_ways
@pytest.mark.parametrize("path", INSIDE.values(), ids=INSIDE)
def test_a_file_inside_is_found(path: str, use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place:
        for where, target in LINKS.items():
            (place.root / where).symlink_to(place.fill(target))
        with files_in(place.root, use_kernel=use_kernel) as files:
            assert files.read(place.fill(path)).text == "inside\n"
            assert files.locate(place.fill(path)) == str(place.root / "file.txt")
            write(files, place.fill(path), "written\n")
        assert (place.root / "file.txt").read_text() == "written\n"
        assert all((place.root / where).is_symlink() for where in LINKS)


@both_ways
def test_a_link_from_one_root_into_another_is_followed(use_kernel: bool, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    (other / "file.txt").write_text("there")
    (one / "absolute").symlink_to(other / "file.txt")
    (one / "relative").symlink_to("../other/file.txt")
    with files_in(one, other, use_kernel=use_kernel) as files:
        assert files.read(str(one / "absolute")).text == files.read(str(one / "relative")).text == "there"
    with files_in(one, use_kernel=use_kernel) as files:
        assert refused(files.read, str(one / "absolute")) == (FORBIDDEN, "outside")
        assert refused(files.read, str(one / "relative")) == (FORBIDDEN, "outside")


@both_ways
def test_a_dangling_link_inside_is_written_through(use_kernel: bool, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new/file.txt")
    with files_in(tmp_path, use_kernel=use_kernel) as files:
        write(files, tmp_path / "link", "text")
    assert (tmp_path / "new/file.txt").read_text() == "text"
    assert (tmp_path / "link").is_symlink()


def test_the_kernel_is_asked_where_it_can_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel.can_open_beneath():
        pytest.skip("the kernel cannot")
    (tmp_path / "file.txt").write_text("inside")
    monkeypatch.setattr(roots, "PathWalk", None)
    with files_in(tmp_path) as files:
        assert files.read(str(tmp_path / "file.txt")).text == "inside"


def test_the_walk_does_without_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.txt").write_text("inside")
    monkeypatch.setattr(kernel, "open_beneath", None)
    with files_in(tmp_path, use_kernel=False) as files:
        assert files.read(str(tmp_path / "file.txt")).text == "inside"


# Somebody exchanges names while we look.

ROUNDS = 300
MOST_ROUNDS = 20 * ROUNDS


def exchange(one: Path, other: Path) -> None:
    """Two names change places in one moment, so that neither is ever missing."""
    names = os.fsencode(one), os.fsencode(other)
    done = ctypes.CDLL(None).renameat2(-100, names[0], -100, names[1], 2)
    assert done == 0


@contextmanager
def exchanging(one: Path, other: Path) -> Iterator[None]:
    """Another thread exchanges two names again and again."""
    if not hasattr(ctypes.CDLL(None), "renameat2"):
        pytest.skip("this system cannot exchange names")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            exchange(one, other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def outcomes(call: Callable[[], object], *, expected: set[str]) -> set[str]:
    """What happens in many rounds, and in more until everything expected was seen."""
    seen: set[str] = set()
    for n in range(MOST_ROUNDS):
        try:
            seen.add(str(call()))
        except ErrorAnswer as error:
            seen.add("refused" if SECRET.strip() not in str(error) else "told")
        if n >= ROUNDS and seen >= expected:
            break
    return seen


@both_ways
def test_a_file_that_is_exchanged_for_a_link_is_never_followed(use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place, files_in(place.root, use_kernel=use_kernel) as files:
        name, link = place.root / "name", place.root / "link"
        name.write_text("inside")
        link.symlink_to(place.outside / "secret.txt")
        elsewhere = place.elsewhere()
        with exchanging(name, link):
            for call, inside in (
                (lambda: files.read(str(name)).text, "inside"),
                (lambda: files.read_range(str(name)).data, "b'inside'"),
                (lambda: files.stat(str(name)).size, "6"),
            ):
                assert outcomes(call, expected={inside, "refused"}) == {inside, "refused"}
        assert place.elsewhere() == elsewhere


@both_ways
def test_a_link_that_comes_before_a_write_is_never_followed(use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place, files_in(place.root, use_kernel=use_kernel) as files:
        name, link = place.root / "name", place.root / "link"
        elsewhere, seen = place.elsewhere(), set()
        for _ in range(20):  # afresh, because a write that comes between replaces the link
            for path in (name, link):
                path.unlink(missing_ok=True)
            name.write_text("inside")
            link.symlink_to(place.outside / "secret.txt")
            with exchanging(name, link):
                for _ in range(20):
                    done = attempt(
                        lambda files, path: files.write(path, FileDraft("inside")), files, str(name)
                    )
                    seen.add(done.partition("(")[0].partition(" ")[0])
        assert place.elsewhere() == elsewhere
        assert seen <= {"WriteResult", "refused"}
        assert "WriteResult" in seen


@both_ways
def test_a_folder_that_is_exchanged_for_a_link_is_never_followed(use_kernel: bool, tmp_path: Path) -> None:
    with site(tmp_path) as place, files_in(place.root, use_kernel=use_kernel) as files:
        name, link = place.root / "name", place.root / "link"
        name.mkdir()
        (name / "secret.txt").write_text("inside")
        link.symlink_to(place.outside)
        (place.outside / "only-here.txt").write_text(SECRET)
        elsewhere = place.elsewhere()
        with exchanging(name, link):
            path, new = str(name / "secret.txt"), str(name / "new/new.txt")
            read = outcomes(lambda: files.read(path).text, expected={"inside", "refused"})
            written = outcomes(
                lambda: type(files.write(new, FileDraft("mine"))).__name__,
                expected={"WriteResult", "refused"},
            )
            found = outcomes(lambda: files.search("*/only-here.txt").matches, expected=set())
        assert read == {"inside", "refused"}
        assert written == {"WriteResult", "refused"}
        assert found == {"[]"}
        assert place.elsewhere() == elsewhere


def test_nothing_stays_open(tmp_path: Path) -> None:
    with site(tmp_path) as place:
        before = len(os.listdir("/dev/fd"))
        for use_kernel in (False, kernel.can_open_beneath()):
            for attack in ATTACKS[:60:3]:
                with files_in(place.root, use_kernel=use_kernel) as files:
                    for call in CALLS.values():
                        attempt(call, files, place.fill(attack.path))
        assert len(os.listdir("/dev/fd")) == before


def test_a_closed_session_serves_nothing(tmp_path: Path) -> None:
    roots = Roots(str(tmp_path))
    roots.close()
    roots.close()
    with pytest.raises(ErrorAnswer, match="closed"), roots.place(str(tmp_path / "file")):
        pass
