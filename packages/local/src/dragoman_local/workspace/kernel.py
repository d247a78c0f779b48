"""Linux functions that the standard library lacks: a bounded open, naming a file system, freeing memory.

`open_beneath` has the kernel resolve a path that may not leave a folder. `is_kernel_made` tells files that
the kernel makes up as they are read (`/proc`, `/sys` and their kin): they look like files and hold the
secrets of processes. Elsewhere than on Linux both say that they do not know. `free_large_blocks` concerns
memory that Python has freed and C keeps.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from functools import cache

_SYS_OPENAT2 = 437  # the same number on every architecture that Python is built for
_NO_MAGIC_LINKS = 0x02
_BENEATH = 0x08
_MMAP_THRESHOLD = -3
LARGE_BLOCK = 1024 * 1024
_STATFS_ROOM = 512  # larger than any `struct statfs`; its first word is the type

_KERNEL_MADE = frozenset(
    {
        0x9FA0,  # proc
        0x62656572,  # sysfs
        0x27E0EB,  # cgroup
        0x63677270,  # cgroup2
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0xCAFE4A11,  # bpf
        0x62656570,  # configfs
        0xDE5E81E4,  # efivarfs
        0x6165676C,  # pstore
        0x1CD1,  # devpts
        0x42494E4D,  # binfmt_misc
        0xF97CFF8C,  # selinux
        0x19800202,  # mqueue
        0x6E736673,  # nsfs
    }
)

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
"""Flags for opening a folder on the way; it need not be readable."""


@cache
def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    text = ctypes.c_char_p
    libc.syscall.argtypes = (ctypes.c_long, ctypes.c_int, text, text, ctypes.c_size_t)
    libc.fstatfs.argtypes = (ctypes.c_int, text)
    return libc


@cache
def can_open_beneath() -> bool:
    """Whether this kernel has and permits the call, and `/proc` can show the result."""
    try:
        probe = os.open("/", FOLDER)
        try:
            fd = open_beneath(probe, ".")
            try:
                return location(fd) == "/"
            finally:
                os.close(fd)
        finally:
            os.close(probe)
    except OSError:  # an old kernel, a sandbox, or another system
        return False


def open_beneath(folder: int, path: str) -> int:
    """Return a descriptor of a folder below `folder`, through any links on the way. EXDEV if it leads out."""
    libc = _libc()
    if libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    how = struct.pack("=QQQ", FOLDER | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGIC_LINKS)
    fd = int(libc.syscall(_SYS_OPENAT2, folder, os.fsencode(path), how, len(how)))
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def location(fd: int) -> str:
    """Return the current path of a folder, for people and for comparison; never for opening it."""
    return os.readlink(f"/proc/self/fd/{fd}")


def is_kernel_made(fd: int) -> bool:
    libc = _libc()
    if libc is None:
        return False
    room = ctypes.create_string_buffer(_STATFS_ROOM)
    if libc.fstatfs(fd, room) != 0:
        return False
    return (ctypes.c_long.from_buffer(room).value & 0xFFFF_FFFF) in _KERNEL_MADE


def free_large_blocks() -> None:
    """From now on the system gets large blocks of memory back when they are freed.

    Otherwise each thread may keep some 30 MiB of them: after the first large message, the C library raises
    its limit for what it keeps.
    """
    libc = _libc()
    if libc is not None and hasattr(libc, "mallopt"):
        libc.mallopt(_MMAP_THRESHOLD, LARGE_BLOCK)
