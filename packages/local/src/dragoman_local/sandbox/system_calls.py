"""The launcher's requests to the kernel: raw calls, the filter of system calls, Landlock, capabilities.

Imported by `launcher` in a process of its own, and so made of little: `ctypes`, `os`, `struct`. A call that
fails raises `OSError`. Numbers are those of x86-64; `wall.can_hold` refuses other processors.
"""

from __future__ import annotations

import ctypes
import os
from struct import pack

TYPE_CHECKING = False  # `collections.abc` takes longer to import than all of the rest
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEW_NAMESPACES = 0x20000 | 0x08000000 | 0x10000000 | 0x20000000  # mount, IPC, user, PID

NEW_NETWORK = 0x40000000

UNSHARE, MOUNT = 272, 165
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
PRCTL, CAPSET, CLOSE_RANGE = 157, 126, 436

AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
CLONE_TREE = 1 | os.O_CLOEXEC
MOVE_FROM_DESCRIPTOR = 4
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC = 1, 2, 4, 8
"""The same flags of `mount` and attributes of `mount_setattr`."""
RECURSIVE, PRIVATE = 0x4000, 1 << 18

SET_DEATH_SIGNAL, SET_DUMPABLE, SET_SECCOMP, DROP_BOUNDING, SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38

FILE_CAPABILITIES = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7
"""The capabilities of root in its own user namespace: to own, open and change files of others as far as
mounts and Landlock allow (CHOWN, DAC_OVERRIDE, FOWNER), to signal (KILL), to become another user (SETGID,
SETUID).
"""

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long


def call(number: int, *arguments: int | bytes) -> int:
    words = [
        ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_char_p(argument)
        for argument in arguments
    ]
    result = int(_syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def mount(kind: str, path: str, flags: int, options: str = "") -> None:
    call(MOUNT, kind.encode(), os.fsencode(path), kind.encode(), flags, options.encode())


def clone_tree(path: str) -> int:
    """Return a descriptor of a copy of the mounts at a path and below, for attaching it somewhere."""
    return call(OPEN_TREE, AT_FDCWD, os.fsencode(path), CLONE_TREE | AT_RECURSIVE)


def set_read_only(path: str, *, folder: int = AT_FDCWD, below: bool = True) -> None:
    """Make a mount read-only, with mounts `below` it; without a path, at the descriptor."""
    attributes = pack("QQQQ", READ_ONLY, 0, 0, 0)
    where = (AT_RECURSIVE if below else 0) | (0 if path else AT_EMPTY_PATH)
    call(MOUNT_SETATTR, folder, os.fsencode(path), where, attributes, len(attributes))


def attach(tree: int, path: str) -> None:
    call(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(path), MOVE_FROM_DESCRIPTOR)


# Landlock.

_WRITES = 1 << 1 | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_OF_FILES = 1 << 1 | _TRUNCATE | _IOCTL_DEVICE
_SCOPES = 1 | 2  # abstract sockets, signals


def landlock_version() -> int:
    """Return the version of Landlock; 0 without it."""
    try:
        return call(LANDLOCK_CREATE, 0, 0, 1)
    except OSError:
        return 0


def restrict_writes(paths: Sequence[str], version: int) -> None:
    """Allow writes only below these paths; if the kernel supports it, no signals and no abstract sockets
    outside the sandbox.
    """
    handled = _WRITES | _REFER
    handled |= (_TRUNCATE if version >= 3 else 0) | (_IOCTL_DEVICE if version >= 5 else 0)
    attributes = pack("QQQ", handled, 0, _SCOPES if version >= 6 else 0)
    ruleset = call(LANDLOCK_CREATE, attributes, len(attributes) if version >= 6 else 8, 0)
    for path in paths:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = handled & (~_MAKE_DEVICES if os.path.isdir(path) else _OF_FILES)
        call(LANDLOCK_ADD, ruleset, 1, pack("=Qi", allowed, parent), 0)
        os.close(parent)
    call(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


# Capabilities.


def keep_capabilities(kept: int) -> None:
    for number in range(64):
        if not kept >> number & 1:
            try:
                call(PRCTL, DROP_BOUNDING, number, 0, 0, 0)
            except OSError:  # the kernel knows no more of them
                break
    low, high = kept & 0xFFFFFFFF, kept >> 32
    call(CAPSET, pack("Ii", 0x20080522, 0), pack("IIIIII", low, low, 0, high, high, 0))


# The filter of system calls: a program for the kernel's small machine.

_EPERM, _ENOSYS, _NO_FAMILY, _NO_PROTOCOL = 1, 38, 97, 93
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X86_64 = 0xC000003E
_NAMESPACE_BITS = 0x7E020000
_SET_USER_ID = 0o4000
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE

REFUSED = (
    *(101, 310, 311, 312, 438, 440),  # ptrace, process_vm_*, kcmp, pidfd_getfd, process_madvise
    *(248, 249, 250),  # keyrings
    *(165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 467),  # mounts, pivot_root, chroot
    *(308, 304),  # setns, open_by_handle_at
    *(425, 426, 427),  # io_uring, whose work no filter sees
    *(321, 298, 323, 300),  # bpf, perf_event_open, userfaultfd, fanotify_init
    *(246, 320, 169, 175, 176, 313, 167, 168, 163, 179, 443),  # kexec, reboot, modules, swap, acct, quota
    *(172, 173, 154, 103, 153, 180, 212, 134),  # ports, modify_ldt, syslog, vhangup, and what died out
    *(164, 227, 159, 305, 170, 171),  # clocks and names of the machine
)
"""System calls that fail with EPERM."""

ABSENT = (435, 437)
"""System calls that fail with ENOSYS: `clone3` and `openat2` hide their flags in memory, where no filter
looks. Every libc has a fallback.
"""

_MODES = ((90, 1), (91, 1), (268, 2), (452, 2), (85, 1), (133, 1), (259, 2))
"""Calls that set a mode, and the argument with it."""


def filter_program() -> bytes:
    return b"".join(_instructions())


def _instructions() -> Iterator[bytes]:
    yield _step(_LOAD, 4)
    yield _step(_EQUAL, _X86_64, if_true=1)
    yield _refuse(_ENOSYS)  # calls of 32-bit programs have other numbers
    yield _step(_LOAD, 0)
    yield _step(_AT_LEAST, 0x40000000, if_false=1)
    yield _refuse(_ENOSYS)
    for number in REFUSED:
        yield from _when(number, _refuse(_EPERM))
    for number in ABSENT:
        yield from _when(number, _refuse(_ENOSYS))
    yield from _when(56, *_if_any(0, _NAMESPACE_BITS))  # clone
    yield from _when(272, *_if_any(0, _NAMESPACE_BITS | 0x80))  # unshare, which also knows time namespaces
    yield from _when(16, _argument(1), *_if_equal(0x5412), *_if_equal(0x541C))  # TIOCSTI, TIOCLINUX
    yield from _when(72, _argument(1), *_if_equal(0x400))  # a lease holds up whoever opens the file
    yield from _when(41, *_socket())
    for number, place in _MODES:
        yield from _when(number, *_if_any(place, _SET_USER_ID))
    for number, place in ((2, 1), (257, 2)):  # open, openat
        made = (_argument(place), _step(_ANY_BIT, _CREATES, if_false=3), *_if_any(place + 1, _SET_USER_ID))
        yield from _when(number, *made)
    yield _step(_RETURN, _ALLOW)


def _socket() -> tuple[bytes, ...]:
    """Permit local sockets, IPv4, IPv6, and netlink for routes and addresses."""
    return (
        _argument(0),
        _step(_EQUAL, 1, if_true=7),
        _step(_EQUAL, 2, if_true=6),
        _step(_EQUAL, 10, if_true=5),
        _step(_EQUAL, 16, if_true=1),
        _refuse(_NO_FAMILY),
        _argument(2),
        _step(_EQUAL, 0, if_true=1),
        _refuse(_NO_PROTOCOL),
    )


def _when(number: int, *steps: bytes) -> Iterator[bytes]:
    """The number of the call is loaded; if it is this one, do these steps, and allow what they let pass."""
    ends = steps if len(steps) == 1 else (*steps, _step(_RETURN, _ALLOW))
    yield _step(_EQUAL, number, if_false=len(ends))
    yield from ends


def _if_any(place: int, bits: int) -> tuple[bytes, ...]:
    return (_argument(place), _step(_ANY_BIT, bits, if_false=1), _refuse(_EPERM))


def _if_equal(value: int) -> tuple[bytes, ...]:
    return (_step(_EQUAL, value, if_false=1), _refuse(_EPERM))


def _argument(place: int) -> bytes:
    """Its lower half, which is all that the kernel reads of flags and modes."""
    return _step(_LOAD, 16 + 8 * place)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def _step(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return pack("HBBI", code, if_true, if_false, value)


def install_filter() -> None:
    program = ctypes.create_string_buffer(filter_program())
    count = (len(program) - 1) // 8
    header = pack("HxxxxxxQ", count, ctypes.addressof(program))
    call(PRCTL, SET_SECCOMP, 2, header, 0, 0)
