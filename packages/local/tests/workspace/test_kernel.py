"""What Linux is asked for, tried against the real kernel."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_local.workspace import kernel
from tests.every import every

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has this")


def test_the_kernel_keeps_a_path_below_its_folder(tmp_path: Path) -> None:
    if not kernel.can_open_beneath():
        pytest.skip("this kernel, or a sandbox, does not")
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/up").symlink_to("..")
    (tmp_path / "root/all").symlink_to("/")
    (tmp_path / "root/in").symlink_to("sub")
    root = os.open(tmp_path / "root", os.O_RDONLY)
    try:
        for path, place in (("sub", "sub"), ("in", "sub"), (".", ""), ("sub/..", "")):
            fd = kernel.open_beneath(root, path)
            assert Path(kernel.location(fd)) == tmp_path / "root" / place
            assert not os.get_inheritable(fd)
            os.close(fd)
        for path in ("..", "up", "all", "/", "sub/../.."):
            with pytest.raises(OSError) as caught:  # noqa: PT011
                kernel.open_beneath(root, path)
            assert caught.value.errno == errno.EXDEV
    finally:
        os.close(root)


def test_magic_links_are_not_followed() -> None:
    if not kernel.can_open_beneath():
        pytest.skip("this kernel, or a sandbox, does not")
    root = os.open("/", os.O_RDONLY)
    try:
        with pytest.raises(OSError) as caught:  # noqa: PT011
            kernel.open_beneath(root, "proc/self/root")
        assert caught.value.errno in (errno.ELOOP, errno.EXDEV)
    finally:
        os.close(root)


@every(("path", "expected"), [("/proc", True), ("/sys", True), ("/", False), ("/tmp", False)])
def test_files_that_the_kernel_makes_up_are_told_from_files(path: str, expected: bool) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        assert kernel.is_kernel_made(fd) is expected
    finally:
        os.close(fd)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library frees as it likes")
def test_large_blocks_that_were_freed_go_back_to_the_system() -> None:
    program = """
import sys
from pathlib import Path
from threading import Thread
from dragoman_local.workspace.kernel import free_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def use():
    for _ in range(3):
        bytes(15 * 1024 * 1024).replace(b"\\0", b" ")
    print(resident())

if sys.argv[1] == "now":
    free_large_blocks()
print(resident())
worker = Thread(target=use)
worker.start()
worker.join()
"""
    kept = {}
    for when in ("now", "never"):
        output = subprocess.check_output([sys.executable, "-c", program, when], text=True)
        before, after = map(int, output.split())
        kept[when] = after - before
    assert kept["now"] < 2 * kernel.LARGE_BLOCK
    assert kept["never"] > 10 * kernel.LARGE_BLOCK
