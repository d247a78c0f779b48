"""Attempts to get through the wall, each a few lines. Run as a program: it tries all, and says which worked.

`python3 -I -S escapes.py CONTEXT` prints a JSON object: `true` for an attempt that had its effect, else why
not. Each attempt runs in a process of its own and raises, or returns whether it saw its effect. It uses the
standard library alone, because it also runs as a user who cannot read our environment.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

Attempt: TypeAlias = Callable[[], bool]

ATTEMPTS: dict[str, Attempt] = {}
NETWORK: set[str] = set()
ROOT_ONLY: set[str] = set()
KERNEL_MAY_REFUSE: set[str] = set()
CONTEXT: dict[str, Any] = {}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number: int, *arguments: Any) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def attempt(function: Attempt) -> Attempt:
    ATTEMPTS[function.__name__] = function
    return function


def as_root(function: Attempt) -> Attempt:
    """Without the wall, root alone can do it."""
    ROOT_ONLY.add(function.__name__)
    return attempt(function)


def may_fail(function: Attempt) -> Attempt:
    """Some kernels refuse it without any wall."""
    KERNEL_MAY_REFUSE.add(function.__name__)
    return attempt(function)


def over_network(function: Attempt) -> Attempt:
    """Nobody may who has a filtered network; `workspace` alone leaves the network as it is."""
    NETWORK.add(function.__name__)
    return attempt(function)


def victim(name: str = "") -> str:
    """A file outside that no other attempt touches."""
    return str(Path(CONTEXT["outside"], name or sys._getframe(1).f_code.co_name))


def inside(name: str) -> str:
    return str(Path(CONTEXT["workspace"], name))


def fresh(name: str) -> str:
    """A name inside that no earlier run has used."""
    return inside(f"{name}-{CONTEXT['run']}")


def home(name: str) -> str:
    return str(Path(CONTEXT["home"], name))


def says(path: str, text: str) -> bool:
    return text in Path(path).read_text("utf-8")


# Files outside.


@attempt
def open_to_write() -> bool:
    Path(victim()).write_text("taken")
    return says(victim(), "taken")


@attempt
def open_to_append() -> bool:
    with open(victim(), "a") as file:
        file.write("taken")
    return says(victim(), "taken")


@attempt
def create_a_file() -> bool:
    Path(victim("new-file")).write_text("taken")
    return True


@attempt
def openat_from_inside() -> bool:
    folder = os.open(CONTEXT["workspace"], os.O_RDONLY)
    fd = os.open(os.path.relpath(victim(), CONTEXT["workspace"]), os.O_WRONLY, dir_fd=folder)
    return os.write(fd, b"taken") == 5


@attempt
def openat2_to_write() -> bool:
    how = struct.pack("QQQ", os.O_WRONLY, 0, 0)
    return os.write(call(437, -100, victim().encode(), how, len(how)), b"taken") == 5


@attempt
def truncate_by_path() -> bool:
    os.truncate(victim(), 0)
    return os.path.getsize(victim()) == 0


@attempt
def truncate_on_open() -> bool:
    os.close(os.open(victim(), os.O_RDONLY | os.O_TRUNC))
    return os.path.getsize(victim()) == 0


@attempt
def rename_what_is_outside() -> bool:
    os.rename(victim(), victim() + "-moved")
    return True


@attempt
def rename_over_what_is_outside() -> bool:
    Path(inside("planted")).write_text("taken")
    os.rename(inside("planted"), victim())
    return says(victim(), "taken")


@attempt
def exchange_by_renameat2() -> bool:
    Path(inside("planted2")).write_text("taken")
    call(316, -100, inside("planted2").encode(), -100, victim().encode(), 2)
    return says(victim(), "taken")


@attempt
def link_to_outside() -> bool:
    Path(inside("linked")).write_text("taken")
    os.link(inside("linked"), victim("new-link"))
    return True


@attempt
def write_through_a_hard_link() -> bool:
    os.link(victim(), inside("hard"))
    Path(inside("hard")).write_text("taken")
    return says(victim(), "taken")


@attempt
def symlink_outside() -> bool:
    os.symlink("/etc", victim("new-symlink"))
    return True


@attempt
def write_through_a_symlink() -> bool:
    os.symlink(victim(), fresh("soft"))
    Path(fresh("soft")).write_text("taken")
    return says(victim(), "taken")


@may_fail  # on a busy machine nobody wins it
def race_with_a_symlink() -> bool:
    target = inside("racing")
    child = os.fork()
    while not child:
        with suppress(OSError):
            Path(target).touch()
            os.unlink(target)
            os.symlink(victim("race_with_a_symlink"), target)
            os.unlink(target)
    try:
        for _ in range(1000):
            with suppress(OSError):
                Path(target).write_text("taken")
            if says(victim(), "taken"):
                return True
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return False


@attempt
def unlink_what_is_outside() -> bool:
    os.unlink(victim())
    return True


@attempt
def remove_a_folder() -> bool:
    os.rmdir(victim("folder"))
    return True


@attempt
def make_a_folder() -> bool:
    os.mkdir(victim("new-folder"))
    return True


@attempt
def change_a_mode() -> bool:
    os.chmod(victim(), 0o777)
    return os.stat(victim()).st_mode & 0o777 == 0o777


@attempt
def change_times() -> bool:
    os.utime(victim(), (1, 1))
    return True


@attempt
def set_an_attribute() -> bool:
    os.setxattr(victim(), "user.note", b"taken")
    return True


@attempt
def make_a_pipe() -> bool:
    os.mkfifo(victim("new-pipe"))
    return True


@attempt
def make_a_socket() -> bool:
    socket.socket(socket.AF_UNIX).bind(victim("new-socket"))
    return True


@attempt
def link_an_unnamed_file() -> bool:
    fd = os.open(CONTEXT["outside"], os.O_TMPFILE | os.O_WRONLY, 0o600)
    return os.write(fd, b"taken") == 5


@attempt
def write_by_a_mapping() -> bool:
    with open(victim(), "r+b") as file, mmap.mmap(file.fileno(), 4) as view:
        view[:4] = b"take"
    return says(victim(), "take")


@attempt
def allocate_space() -> bool:
    fd = os.open(victim(), os.O_RDWR)
    os.posix_fallocate(fd, 0, 1 << 16)
    return True


@attempt
def copy_a_range() -> bool:
    Path(inside("source")).write_text("taken")
    source, target = os.open(inside("source"), os.O_RDONLY), os.open(victim(), os.O_WRONLY)
    return os.copy_file_range(source, target, 5) == 5


@attempt
def by_root_of_proc() -> bool:
    Path("/proc/self/root" + victim()).write_text("taken")
    return True


@attempt
def by_cwd_of_proc() -> bool:
    Path("/proc/self/cwd", os.path.relpath(victim(), CONTEXT["workspace"])).write_text("taken")
    return True


@attempt
def by_root_of_another_process() -> bool:
    Path(f"/proc/{CONTEXT['victim']}/root{victim()}").write_text("taken")
    return True


@attempt
def by_cwd_of_another_process() -> bool:
    Path(f"/proc/{CONTEXT['victim']}/cwd/by_cwd_of_another_process").write_text("taken")
    return True


@attempt
def by_an_inherited_descriptor() -> bool:
    fd = os.open("by_an_inherited_descriptor", os.O_WRONLY, dir_fd=CONTEXT["descriptor"])
    return os.write(fd, b"taken") == 5


@attempt
def by_the_descriptor_of_another_process() -> bool:
    folder = f"/proc/{CONTEXT['victim']}/fd/{CONTEXT['descriptor']}"
    Path(folder, "by_the_descriptor_of_another_process").write_text("taken")
    return True


@attempt
def by_a_program_in_memory() -> bool:
    program = os.memfd_create("program")
    os.write(program, Path("/bin/sh").resolve().read_bytes())
    line = f"echo taken > '{victim()}'"
    words = [f"/proc/self/fd/{program}", "-c", line]
    subprocess.run(words, pass_fds=[program], check=True, stderr=subprocess.DEVNULL)
    return says(victim(), "taken")


@attempt
def by_a_shell_without_environment() -> bool:
    subprocess.run(
        ["/usr/bin/env", "-i", "/bin/sh", "-c", f"echo taken > '{victim()}'"], stderr=subprocess.DEVNULL
    )
    return says(victim(), "taken")


@as_root
def change_an_owner() -> bool:
    os.chown(victim(), 12345, 12345)
    return os.stat(victim()).st_uid == 12345


@as_root
def open_by_handle() -> bool:
    handle, mount_id = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)), ctypes.c_int()
    call(303, -100, victim().encode(), handle, ctypes.byref(mount_id), 0)
    fd = call(304, os.open("/", os.O_RDONLY), handle, os.O_WRONLY)
    return os.write(fd, b"taken") == 5


@as_root
def write_a_setting_of_the_kernel() -> bool:
    path = Path("/proc/sys/kernel/core_pattern")
    path.write_text(path.read_text())
    return True


@as_root
def make_a_control_group() -> bool:
    for folder in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        if os.path.isdir(folder):
            os.mkdir(f"{folder}/escape-{os.getpid()}")
            os.rmdir(f"{folder}/escape-{os.getpid()}")
            return True
    return True


@may_fail
@as_root
def read_the_disk() -> bool:
    names = [name for name in os.listdir("/dev") if name.startswith(("vd", "sd", "nvme"))]
    if not names:
        raise OSError(errno.ENOENT, "there is no disk")
    os.close(os.open(f"/dev/{names[0]}", os.O_RDONLY))
    return True


@as_root
def make_a_device() -> bool:
    os.mknod(inside("device"), 0o600 | 0o020000, os.makedev(1, 1))
    return True


@as_root
def write_to_the_log_of_the_kernel() -> bool:
    os.close(os.open("/dev/kmsg", os.O_WRONLY))
    return True


@as_root
def read_the_log_of_the_kernel() -> bool:
    return call(103, 3, ctypes.create_string_buffer(4096), 4096) >= 0


@attempt
def by_a_descriptor_that_may_read() -> bool:
    fd = os.open(victim(), os.O_RDONLY)
    return os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"taken") == 5


@attempt
def by_a_descriptor_that_may_nothing() -> bool:
    fd = os.open(victim(), os.O_PATH)
    os.chmod(f"/proc/self/fd/{fd}", 0o777)
    return os.stat(victim()).st_mode & 0o777 == 0o777


@attempt
def by_sendfile() -> bool:
    source = os.open("/etc/passwd", os.O_RDONLY)
    return os.sendfile(os.open(victim(), os.O_WRONLY), source, 0, 5) == 5


@attempt
def by_splice() -> bool:
    reading, writing = os.pipe()
    os.write(writing, b"taken")
    return os.splice(reading, os.open(victim(), os.O_WRONLY), 5) == 5


@attempt
def by_asynchronous_writing() -> bool:
    aio, fd = ctypes.c_ulong(), os.open(victim(), os.O_WRONLY)
    call(206, 1, ctypes.byref(aio))
    room = ctypes.create_string_buffer(b"taken")
    block = ctypes.create_string_buffer(
        struct.pack("QIIHhIQQQ", 0, 0, 0, 1, 0, fd, ctypes.addressof(room), 5, 0), 64
    )
    return call(209, aio.value, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(block)))) == 1


@attempt
def by_a_folder_that_was_moved_in() -> bool:
    os.rename(victim("folder-to-move"), fresh("folder-moved"))
    return True


@attempt
def by_a_new_name_in_the_parent() -> bool:
    os.mkdir(os.path.join(CONTEXT["workspace"], "..", "sibling"))
    return True


@attempt
def change_times_by_a_descriptor() -> bool:
    os.utime(os.open(victim(), os.O_RDONLY), (1, 1))
    return True


# Mounts and namespaces.


@as_root
def mount_a_file_system() -> bool:
    call(165, b"tmpfs", inside("folder").encode(), b"tmpfs", 0, b"")
    call(166, inside("folder").encode(), 0)
    return True


@as_root
def make_the_root_writable() -> bool:
    call(165, b"none", b"/", b"", 0x1000 | 0x20, b"")  # a remount of the bind, as it is
    return True


@as_root
def mount_by_the_new_calls() -> bool:
    os.close(call(430, b"tmpfs", 0))
    return True


@as_root
def copy_a_tree_of_mounts() -> bool:
    os.close(call(428, -100, b"/", 1))
    return True


@as_root
def change_the_root() -> bool:
    call(161, b"/")
    return True


@as_root
def enter_a_namespace() -> bool:
    fd = os.open(f"/proc/{CONTEXT['victim']}/ns/ipc", os.O_RDONLY)
    call(308, fd, 0)
    return True


@attempt
def make_a_user_namespace() -> bool:
    call(272, 0x10000000)
    return True


@attempt
def clone_into_a_user_namespace() -> bool:
    pid = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@attempt
def clone3_into_a_user_namespace() -> bool:
    arguments = struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call(435, arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@as_root
def uncover_a_secret() -> bool:
    if os.path.ismount(home(".ssh")):
        call(166, home(".ssh").encode(), 2)
    return says(home(".ssh/id_ed25519"), "secret")


@attempt
def own_mounts_below_a_user_namespace() -> bool:
    call(272, 0x10000000 | 0x20000)
    call(165, b"tmpfs", inside("folder").encode(), b"tmpfs", 0, b"")
    return True


# Other processes.


@attempt
def signal_a_process() -> bool:
    os.kill(CONTEXT["victim"], signal.SIGCONT)
    return True


@attempt
def signal_by_descriptor() -> bool:
    signal.pidfd_send_signal(os.pidfd_open(CONTEXT["victim"]), signal.SIGCONT)
    return True


@attempt
def signal_everybody() -> bool:
    """Somebody outside must be among them: the first process that is not ours to end."""
    if os.path.exists(f"/proc/{CONTEXT['victim']}/stat"):
        os.kill(CONTEXT["victim"], 0)
        return True
    raise OSError(errno.ESRCH, "nobody is there")


@attempt
def trace_a_process() -> bool:
    call(101, 16, CONTEXT["victim"], 0, 0)
    os.waitpid(CONTEXT["victim"], 0x40000000)
    call(101, 17, CONTEXT["victim"], 0, 0)
    return True


@attempt
def read_memory_of_a_process() -> bool:
    room = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(room), 8)
    call(310, CONTEXT["victim"], vector, 1, struct.pack("QQ", CONTEXT["address"], 8), 1, 0)
    return True


@attempt
def write_memory_of_a_process() -> bool:
    fd = os.open(f"/proc/{CONTEXT['victim']}/mem", os.O_RDWR)
    return len(os.pread(fd, 8, CONTEXT["address"])) == 8


@attempt
def read_the_environment_of_a_process() -> bool:
    return b"VICTIM=" in Path(f"/proc/{CONTEXT['victim']}/environ").read_bytes()


@attempt
def take_a_descriptor_of_a_process() -> bool:
    os.close(call(438, os.pidfd_open(CONTEXT["victim"]), CONTEXT["descriptor"], 0))
    return True


@attempt
def limit_a_process() -> bool:
    call(302, CONTEXT["victim"], 4, struct.pack("QQ", 0, 0), 0)
    return True


@attempt
def bind_a_process_to_a_processor() -> bool:
    os.sched_setaffinity(CONTEXT["victim"], {0})
    return True


@attempt
def slow_a_process_down() -> bool:
    os.setpriority(os.PRIO_PROCESS, CONTEXT["victim"], 19)
    return True


@attempt
def trace_a_child() -> bool:
    """Who may trace may also change what a program of the system does."""
    child = os.fork()
    if child == 0:
        os._exit(libc.ptrace(0, 0, 0, 0) != 0)
    return os.waitpid(child, 0)[1] == 0


@attempt
def signal_a_thread() -> bool:
    call(234, CONTEXT["victim"], CONTEXT["victim"], signal.SIGCONT)
    return True


@attempt
def signal_a_group() -> bool:
    os.killpg(CONTEXT["victim"], signal.SIGCONT)
    return True


@attempt
def signal_with_a_value() -> bool:
    call(129, CONTEXT["victim"], signal.SIGCONT, struct.pack("iii", signal.SIGCONT, 0, -1).ljust(128, b"\0"))
    return True


@attempt
def signal_by_a_socket_that_has_news() -> bool:
    """The system signals whoever is named as the owner."""
    ours, _ = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, CONTEXT["victim"])
    return bool(fcntl.fcntl(ours, fcntl.F_GETOWN) == CONTEXT["victim"])


@attempt
def have_a_process_ended_for_its_memory() -> bool:
    Path(f"/proc/{CONTEXT['victim']}/oom_score_adj").write_text("1000")
    return True


@attempt
def schedule_a_process() -> bool:
    os.sched_setscheduler(CONTEXT["victim"], os.SCHED_BATCH, os.sched_param(0))
    return True


@attempt
def slow_the_disk_of_a_process() -> bool:
    call(251, 1, CONTEXT["victim"], 3 << 13)
    return True


@attempt
def move_the_memory_of_a_process() -> bool:
    call(279, CONTEXT["victim"], 0, 0, 0, 0, 0)
    return True


@may_fail
def compare_with_a_process() -> bool:
    return call(312, os.getpid(), CONTEXT["victim"], 1, 0, 0) >= 0


@attempt
def ask_for_a_namespace_of_a_process() -> bool:
    os.close(os.open(f"/proc/{CONTEXT['victim']}/ns/net", os.O_RDONLY))
    return True


# Doors of the kernel.


@attempt
def add_a_key() -> bool:
    return call(248, b"user", b"escape", b"secret", 6, -2) > 0


@attempt
def read_a_keyring() -> bool:
    return call(250, 0, -5, 0) != 0


@may_fail
def use_io_uring() -> bool:
    os.close(call(425, 4, ctypes.create_string_buffer(120)))
    return True


@may_fail
def watch_page_faults() -> bool:
    os.close(call(323, 1))
    return True


@as_root
def load_a_kernel_program() -> bool:
    attributes = struct.pack("IIIII", 2, 4, 4, 1, 0) + bytes(100)
    os.close(call(321, 0, attributes, len(attributes)))
    return True


@may_fail
def measure_the_machine() -> bool:
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    os.close(call(298, attributes, 0, -1, -1, 0))
    return True


@may_fail
def type_into_a_terminal() -> bool:
    _, theirs = os.openpty()
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    fcntl.ioctl(theirs, termios.TIOCSTI, b"x")
    return True


@may_fail
def reach_the_ciphers_of_the_kernel() -> bool:
    socket.socket(38, socket.SOCK_SEQPACKET)
    return True


@may_fail
def reach_the_host_of_the_machine() -> bool:
    socket.socket(40, socket.SOCK_STREAM)
    return True


@as_root
def read_packets() -> bool:
    socket.socket(17, socket.SOCK_RAW)
    return True


@attempt
def listen_to_the_kernel() -> bool:
    socket.socket(16, socket.SOCK_RAW, 15)
    return True


@as_root
def rename_the_machine() -> bool:
    name = socket.gethostname().encode()
    call(170, name, len(name))
    return True


@as_root
def change_files_of_others_by_watching() -> bool:
    os.close(call(300, 0, 0))
    return True


# Sockets and memory that others share.


@attempt
def reach_an_abstract_socket() -> bool:
    socket.socket(socket.AF_UNIX).connect("\0" + CONTEXT["abstract"])
    return True


@attempt
def reach_a_socket_in_tmp() -> bool:
    socket.socket(socket.AF_UNIX).connect(CONTEXT["socket"])
    return True


@as_root
def reach_a_socket_in_run() -> bool:
    socket.socket(socket.AF_UNIX).connect(CONTEXT["run_socket"])
    return True


@attempt
def read_a_temporary_file() -> bool:
    return says(CONTEXT["temporary_file"], "secret")


@attempt
def read_shared_memory() -> bool:
    return says(CONTEXT["shared_memory"], "secret")


@attempt
def attach_shared_memory() -> bool:
    return call(30, CONTEXT["segment"], 0, 0) > 0


@attempt
def open_a_queue_of_messages() -> bool:
    os.close(call(240, CONTEXT["queue"].encode(), os.O_RDWR, 0, 0))
    return True


# The network. A program outside says `served` to whoever reaches it, at all addresses of this machine. The
# proxy permits `api.example`, which is this machine, at that port; without the wall there is no proxy.


def is_served(link: socket.socket, *said: bytes) -> bool:
    link.settimeout(5)
    for data in said:
        link.sendall(data)
        if b"served" in (answer := link.recv(1000)):
            return True
        if b" 200 " not in answer:
            raise OSError(errno.EACCES, answer[:60].decode("latin-1"))
    return False


def reached(host: str) -> bool:
    return is_served(socket.create_connection((host, CONTEXT["port"]), 5), b"hello")


def by_proxy(request: str, *then: bytes) -> bool:
    proxy = os.environ.get("HTTP_PROXY", f"http://127.0.0.1:{CONTEXT['port']}").rpartition(":")[2]
    said = request.replace("PORT", str(CONTEXT["port"])).encode() + b"\r\n\r\n"
    return is_served(socket.create_connection(("127.0.0.1", int(proxy)), 5), said, *then)


def netlink_answer(kind: int, flags: int, body: bytes) -> int:
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    return int(struct.unpack("i", link.recv(1000)[16:20])[0])


def hello_for(name: str) -> bytes:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name or None).do_handshake()
    return outgoing.read()


@over_network
def reach_this_machine() -> bool:
    return reached("127.0.0.1")


@over_network
def reach_this_machine_by_another_loopback() -> bool:
    return reached("127.9.9.9")


@over_network
def reach_this_machine_by_name() -> bool:
    return reached("localhost")


@over_network
def reach_this_machine_by_ipv6() -> bool:
    return reached("::1")


@over_network
def reach_this_machine_by_a_mapped_address() -> bool:
    return reached("::ffff:127.0.0.1")


@over_network
def reach_this_machine_by_no_address() -> bool:
    return reached("0.0.0.0")


@over_network
def reach_this_machine_by_its_address_in_the_network() -> bool:
    return reached(CONTEXT["own_address"])


@over_network
def reach_a_permitted_name_without_the_proxy() -> bool:
    return reached("api.example")


@over_network
def reach_this_machine_with_the_first_packet() -> bool:
    link = socket.socket()
    link.sendto(b"hello", 0x20000000, ("127.0.0.1", CONTEXT["port"]))  # MSG_FASTOPEN
    link.settimeout(5)
    return b"served" in link.recv(100)


@over_network
def send_a_datagram() -> bool:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.connect(("127.0.0.1", CONTEXT["port"]))
    link.settimeout(3)
    return link.send(b"hello") == 5 and link.recv(100) == b"served"


@over_network
def send_a_datagram_by_ipv6() -> bool:
    link = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    link.connect(("::1", CONTEXT["port"]))
    link.settimeout(3)
    return link.send(b"hello") == 5 and link.recv(100) == b"served"


@over_network
def send_a_datagram_into_the_network() -> bool:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.connect((CONTEXT["own_address"], 53))
    return True


@over_network
def reach_a_socket_in_the_home_folder() -> bool:
    link = socket.socket(socket.AF_UNIX)
    link.connect(CONTEXT["home_socket"])
    return True


@attempt
def use_an_inherited_connection() -> bool:
    link = socket.socket(fileno=CONTEXT["connection"])
    link.sendall(b"hello")
    return True


@may_fail
@over_network
def ping() -> bool:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    link.settimeout(3)
    link.sendto(bytes((8, 0, 0xF7, 0xFF, 0, 0, 0, 0)), (CONTEXT["own_address"], 0))
    return bool(link.recv(100))


@as_root
@over_network
def ping_by_a_raw_socket() -> bool:
    link = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    link.sendto(bytes((8, 0, 0xF7, 0xFF, 0, 0, 0, 0)), (CONTEXT["own_address"], 0))
    return True


@as_root
@over_network
def write_packets_of_another_protocol() -> bool:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)
    return True


@as_root
@over_network
def change_an_interface() -> bool:
    fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 1 | 1 << 6))
    return True


@as_root
@over_network
def give_an_interface_an_address() -> bool:
    """One that it has: that is told to whoever may."""
    body = struct.pack("BBBBI", 2, 8, 0, 254, 1) + struct.pack("HH4B", 8, 2, 127, 0, 0, 1)
    return netlink_answer(20, 1 | 4 | 0x600, body) == -errno.EEXIST


@as_root
@over_network
def make_a_pair_of_interfaces() -> bool:
    """To somebody else's network; here it is made without its other half, which is a mistake or refused."""
    return netlink_answer(16, 1 | 4 | 0x600, struct.pack("BxHiII", 0, 0, 0, 0, 0)) != -errno.EPERM


@as_root
@over_network
def enter_the_network_of_a_process() -> bool:
    call(308, os.open(f"/proc/{CONTEXT['victim']}/ns/net", os.O_RDONLY), 0x40000000)
    return True


@as_root
@over_network
def leave_for_another_network() -> bool:
    call(272, 0x40000000)
    return True


@as_root
@over_network
def bridge_by_a_device() -> bool:
    os.close(os.open("/dev/net/tun", os.O_RDWR))
    return True


@may_fail
@over_network
def listen_to_the_neighbours_in_netlink() -> bool:
    return bool(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4))  # what sockets there are


@may_fail
@over_network
def reach_by_fast_packets() -> bool:
    return bool(socket.socket(44, socket.SOCK_RAW))


@may_fail
@over_network
def reach_by_bluetooth() -> bool:
    return bool(socket.socket(31, socket.SOCK_RAW, 1))


@may_fail
@over_network
def reach_by_infiniband() -> bool:
    return bool(socket.socket(21, socket.SOCK_SEQPACKET))


@may_fail
@over_network
def reach_by_shared_memory() -> bool:
    return bool(socket.socket(43, socket.SOCK_STREAM))


@over_network
def ask_the_proxy_for_an_address() -> bool:
    return by_proxy("CONNECT 127.0.0.1:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_a_short_address() -> bool:
    return by_proxy("CONNECT 127.1:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_a_number() -> bool:
    return by_proxy("CONNECT 2130706433:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_an_octal_address() -> bool:
    return by_proxy("CONNECT 0177.0.0.1:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_an_address_of_ipv6() -> bool:
    return by_proxy("CONNECT [::1]:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_a_mapped_address() -> bool:
    return by_proxy("CONNECT [::ffff:127.0.0.1]:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_this_machine() -> bool:
    return by_proxy("CONNECT localhost:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_another_name_of_this_machine() -> bool:
    return by_proxy("CONNECT evil.example:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_a_name_below_a_permitted_one() -> bool:
    return by_proxy("CONNECT x.api.example:PORT HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_another_port() -> bool:
    return by_proxy("CONNECT api.example:22 HTTP/1.1", b"hello")


@over_network
def ask_the_proxy_for_a_user_before_a_host() -> bool:
    return by_proxy("GET http://api.example:PORT@127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT")


@over_network
def ask_the_proxy_for_a_page_at_an_address() -> bool:
    return by_proxy("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT")


@over_network
def ask_the_proxy_for_a_page_of_another_host() -> bool:
    return by_proxy("GET http://api.example:PORT/ HTTP/1.1\r\nHost: evil.example:PORT")


@over_network
def ask_the_proxy_with_a_host_behind_a_lone_line_break() -> bool:
    return by_proxy(
        "GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nX: a\nHost: evil.example"
    )


@over_network
def ask_the_proxy_with_chunks_behind_a_length() -> bool:
    head = "POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nContent-Length: 5\r\n"
    return by_proxy(head + "Transfer-Encoding: chunked\r\n\r\n0")


@over_network
def speak_to_another_name_in_a_tunnel() -> bool:
    return by_proxy("CONNECT api.example:PORT HTTP/1.1", hello_for("evil.example"))


@over_network
def speak_without_a_name_in_a_tunnel() -> bool:
    return by_proxy("CONNECT api.example:PORT HTTP/1.1", hello_for(""))


@over_network
def speak_another_protocol_in_a_tunnel() -> bool:
    return by_proxy("CONNECT api.example:PORT HTTP/1.1", b"SSH-2.0-escape\r\n\r\n")


@over_network
def speak_to_another_host_in_a_tunnel() -> bool:
    return by_proxy("CONNECT api.example:PORT HTTP/1.1", b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")


@over_network
def speak_to_the_proxy_as_socks() -> bool:
    return by_proxy("\5\1\0\5\1\0\1\x7f\0\0\1", b"hello")


# Secrets of the home folder.


@attempt
def read_a_key() -> bool:
    return says(home(".ssh/id_ed25519"), "secret")


@attempt
def read_a_password() -> bool:
    return says(home(".netrc"), "secret")


@attempt
def read_credentials_of_a_cloud() -> bool:
    return says(home(".aws/credentials"), "secret")


@attempt
def read_a_token_of_npm() -> bool:
    return says(home(".npmrc"), "secret")


@attempt
def read_tokens_of_the_hub() -> bool:
    return says(home(".local/share/dragoman/tokens.json"), "secret")


@attempt
def read_a_key_by_proc() -> bool:
    return says("/proc/self/root" + home(".ssh/id_ed25519"), "secret")


@attempt
def read_a_key_by_a_symlink() -> bool:
    os.symlink(home(".ssh"), fresh("keys"))
    return says(fresh("keys") + "/id_ed25519", "secret")


@attempt
def read_a_key_by_a_hard_link() -> bool:
    os.link(home(".ssh/id_ed25519"), inside("key"))
    return says(inside("key"), "secret")


@as_root
def read_passwords_of_the_machine() -> bool:
    return len(Path("/etc/shadow").read_text()) > 0


# What others obey.


@attempt
def plant_a_hook() -> bool:
    Path(inside(".git/hooks/pre-commit")).write_text("#!/bin/sh\n")
    return True


@attempt
def write_the_configuration_of_git() -> bool:
    with open(inside(".git/config"), "a") as file:
        file.write("[core]\n\tfsmonitor = evil\n")
    return True


@attempt
def replace_the_configuration_of_git() -> bool:
    Path(inside(".git/config.new")).write_text("")
    os.rename(inside(".git/config.new"), inside(".git/config"))
    return True


@attempt
def remove_the_configuration_of_git() -> bool:
    os.unlink(inside("other/.git/config"))
    return True


@attempt
def move_the_hooks_away() -> bool:
    os.rename(inside("other/.git/hooks"), inside("other/.git/gone"))
    return True


@attempt
def make_the_missing_hooks() -> bool:
    os.makedirs(inside("bare/.git/hooks"), exist_ok=True)
    Path(inside("bare/.git/hooks/pre-commit")).write_text("")
    return True


@attempt
def move_the_repository_away() -> bool:
    os.rename(inside(".git"), inside("gone"))
    os.rename(inside("gone"), inside(".git"))
    return True


@attempt
def configure_by_git_itself() -> bool:
    words = ["git", "-C", CONTEXT["workspace"], "config", "core.pager", "evil"]
    return subprocess.run(words, capture_output=True).returncode == 0


@attempt
def point_a_work_tree_elsewhere() -> bool:
    Path(CONTEXT["workspace"], "linked-tree/.git").write_text("gitdir: /tmp/evil")
    return True


@attempt
def write_the_policy() -> bool:
    Path(inside(".dragoman/policy.toml")).write_text("")
    return True


@attempt
def move_the_policy_away() -> bool:
    os.rename(inside(".dragoman"), inside("old-policy"))
    os.rename(inside("old-policy"), inside(".dragoman"))
    return True


@attempt
def write_settings_of_an_agent() -> bool:
    Path(inside(".claude/settings.json")).write_text("{}")
    return True


@attempt
def replace_the_folder_of_settings() -> bool:
    os.rename(inside(".claude"), fresh("old-settings"))
    os.rename(fresh("old-settings"), inside(".claude"))
    return True


@attempt
def replace_the_folder_of_a_work_tree() -> bool:
    os.rename(inside(".git/worktrees"), inside(".git/old"))
    os.rename(inside(".git/old"), inside(".git/worktrees"))
    return True


@attempt
def write_a_start_up_file() -> bool:
    with open(home(".bashrc"), "a") as file:
        file.write("evil")
    return True


@attempt
def set_the_user_on_execution() -> bool:
    Path(inside("program")).touch()
    os.chmod(inside("program"), 0o4755)
    return bool(os.stat(inside("program")).st_mode & 0o4000)


@attempt
def create_with_the_user_on_execution() -> bool:
    os.close(os.open(inside("program2"), os.O_CREAT | os.O_WRONLY, 0o4755))
    return bool(os.stat(inside("program2")).st_mode & 0o4000)


@attempt
def gain_privileges() -> bool:
    return bool(libc.prctl(39, 0, 0, 0, 0) == 0)  # whether programs with such a bit would still be obeyed


def run(function: Attempt) -> bool | str:
    """What came of an attempt, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            outcome: bool | str = bool(function())
        except Exception as error:  # noqa: BLE001  # whatever it raises, it did not work
            outcome = f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writing)
    text = b"".join(iter(lambda: os.read(reading, 65536), b""))
    os.close(reading)
    os.waitpid(child, 0)
    outcome = json.loads(text) if text else "it was killed"
    assert isinstance(outcome, bool | str)
    return outcome


if __name__ == "__main__":
    CONTEXT.update(json.loads(sys.argv[1]))
    names = [name for name in CONTEXT["names"] if CONTEXT["is_root"] or name not in ROOT_ONLY]
    CONTEXT["run"] = os.getpid() if os.getpid() > 9 else "wall"
    print(json.dumps({name: run(ATTEMPTS[name]) for name in names}))
