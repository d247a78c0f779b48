"""A program that sandboxes itself and then runs another: `launcher BOUNDARY PROGRAM [ARGUMENT …]`.

`BOUNDARY` is a `boundary.Boundary` as JSON; a `PROGRAM` without a slash is looked for along PATH, inside.

Three processes come of it. The first makes the namespaces, waits outside of the new PID namespace, and ends
as the command ends: the same status, the same signal. The second is the first of the PID namespace: it reaps,
and the kernel kills everything in the namespace when it dies, which it does with the first. The third takes
Landlock, loses its capabilities, takes the filter of system calls, and becomes the command. A filtered
network takes a fourth, which stays outside of the namespaces and dies with the first: the proxy.

A step that fails ends the start: nothing runs behind half a sandbox. It is run with `-I -S` and imports what
is quick to import; no thread and no code of ours stands between it and the command.
"""

from __future__ import annotations

import _socket  # `socket` takes longer to import than all of the rest
import os
import resource
import stat
import sys
import time
from _json import make_scanner
from fcntl import ioctl

from dragoman_local.sandbox import system_calls as kernel
from dragoman_local.sandbox.reserved import absent, set_aside

TYPE_CHECKING = False  # `typing` and `signal` take longer to import than all of the rest
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal

REFUSED = 125
"""The exit status if the sandbox could not be built; 126 and 127 mean, as in shells, that the command could
not be started.
"""

HEAD = "dragoman: no sandbox: "

OLDEST_LANDLOCK = 2
"""The oldest usable version: with the first one no file can be moved to another folder, which git does for
every commit.
"""

PROCESSES_COUNTED = (6, 14)
"""The version of Linux from which a PID namespace has its own limit of processes, which also applies to root.
Before, that file is the whole machine's, and root would change it.
"""

_WAITED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Whoever ends a tree signals all of it: the first two wait for what the command makes of it."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_RUNNING = ("systemd/resolve", "resolvconf", "NetworkManager/resolv.conf", "current-system", "opengl-driver")
"""What stays of /run: names of hosts, and programs of NixOS. Its sockets are doors of other programs."""

_SET_FLAGS, _UP = 0x8914, (1 | 1 << 6).to_bytes(2, sys.byteorder).ljust(24, b"\0")
"""SIOCSIFFLAGS with IFF_UP and IFF_RUNNING: loopback is down in a new network."""

_TO_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_NOT_TO_PROXY = dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")

_at = ["its arguments"]


def main() -> NoReturn:
    try:
        _main(read_json(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _stop(f"{_at[0]}: {error.strerror}{where} [{error.errno}]", REFUSED)


def read_json(text: str) -> Any:
    """Parse JSON: importing `json` takes ten milliseconds, for expressions that only its pure half needs."""
    settings: Any = _JsonSettings  # the scanner takes what has these names
    return make_scanner(settings)(text, 0)[0]


class _JsonSettings:
    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float, parse_int = float, int
    memo: dict[str, str] = {}  # noqa: RUF012  # the scanner asks for one


def _main(boundary: dict[str, Any], command: list[str]) -> NoReturn:
    handlers = {number: signal.getsignal(number) for number in _WAITED}
    for number in _WAITED:
        signal.signal(number, signal.SIG_IGN)
    os.umask(os.umask(0o022))
    here, folder = os.getcwd(), os.stat(".")
    boundary["reserved"] = absent(boundary["reserved"])
    _step("no_new_privs")
    kernel.call(kernel.PRCTL, kernel.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    network = boundary["network"]
    proxy = _Proxy(boundary) if network else None
    _enter_namespaces(kernel.NEW_NETWORK if network else 0)
    if proxy:
        boundary["proxy"] = proxy.listen(network["ports"])
    _Mounts(boundary).build()
    _step("the folder of the command")
    os.chdir(here)
    if not os.path.samestat(os.stat("."), folder):
        _stop(f"{here} is another folder than the one that the command was given", REFUSED)
    _step("a process")
    answers, tells = os.pipe()
    first = os.fork()
    if first:
        os.close(tells)
        _end_like(first, answers, proxy, boundary)
    os.close(answers)
    _lead(boundary, command, handlers, tells)


def _step(name: str) -> None:
    _at[0] = name


def _stop(why: str, status: int) -> NoReturn:
    os.write(2, f"{HEAD}{why}\n".encode(errors="replace"))
    os._exit(status)


# The namespaces.


def _enter_namespaces(more: int) -> None:
    """Enter a new user namespace, with the same user as before. Root keeps all users, or files of others
    would be nobody's; only a process outside may write that map, so a copy of us does.
    """
    _step("a user namespace")
    user, group, pid = os.getuid(), os.getgid(), os.getpid()
    ready_end, ready = os.pipe()
    writer = os.fork() if user == 0 else 0
    if writer or user:
        kernel.call(kernel.UNSHARE, kernel.NEW_NAMESPACES | more)
        os.close(ready)
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        _write("/proc/self/uid_map", f"{user} {user} 1")
    elif writer:
        if os.waitpid(writer, 0)[1]:
            _stop("the map of users: a security module refuses it [1]", REFUSED)
    else:
        os.close(ready)
        os.read(ready_end, 1)  # the other has its namespaces, or has failed
        try:
            _write(f"/proc/{pid}/uid_map", "0 0 4294967295")
            _write(f"/proc/{pid}/gid_map", "0 0 4294967295")
        except OSError:
            os._exit(1)
        os._exit(0)
    os.close(ready_end)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


# The network.


class _Proxy:
    """The process that stays outside, and its sockets inside."""

    def __init__(self, boundary: dict[str, Any]) -> None:
        """Start it, before the namespaces: its network is the one that we had."""
        _step("the proxy of the network")
        self._control, theirs = _socket.socketpair()
        launcher = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._control.close()
            _be_proxy(theirs.detach(), boundary, launcher)
        theirs.close()

    def listen(self, ports: list[int]) -> str:
        """In the new network: loopback, the proxy's port and those of this machine. The proxy's address."""
        _step("loopback")
        any_socket = _socket.socket()
        ioctl(any_socket.fileno(), _SET_FLAGS, b"lo".ljust(16, b"\0") + _UP)
        any_socket.close()
        _step("the ways out of the network")
        listeners = [self._listener(port) for port in (0, *ports)]
        numbers = b"".join(listener.fileno().to_bytes(4, sys.byteorder) for listener in listeners)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)
        self._control.sendmsg([b"x"], [rights])
        address = f"http://127.0.0.1:{listeners[0].getsockname()[1]}"
        for listener in (*listeners, self._control):
            listener.close()
        return address

    def _listener(self, port: int) -> Any:
        listener = _socket.socket()
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        return listener

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _be_proxy(control: int, boundary: dict[str, Any], launcher: int) -> NoReturn:
    kernel.call(kernel.PRCTL, kernel.SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != launcher:
        os._exit(0)  # it ended before we could hear of it
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(control, 3)
    kernel.call(kernel.CLOSE_RANGE, 4, 0xFFFFFFFF, 0)
    os.chdir("/")
    from dragoman_local.sandbox import proxy  # the command does not wait for it

    try:
        network = boundary["network"]
        proxy.run(3, network["places"], network["ports"], boundary["profile"])
    except OSError as error:
        os.write(2, f"{HEAD}the proxy of the network: {error}\n".encode(errors="replace"))
    os._exit(0)


# The mounts.


class _Mounts:
    """First the copies of what stays, then everything read-only, then the copies on top, outer ones first."""

    def __init__(self, boundary: dict[str, Any]) -> None:
        self._boundary = boundary
        self._trees: list[tuple[str, int, os.stat_result]] = []

    def build(self) -> None:
        _step("mounts of its own")
        kernel.call(kernel.MOUNT, b"", b"/", b"", kernel.RECURSIVE | kernel.PRIVATE, 0)
        for place in self._boundary["writable"]:
            self._copy_writable(place)
        for path in self._boundary["read_only"]:
            self._copy_read_only(path)
        devices = [(f"/dev/{name}", kernel.clone_tree(f"/dev/{name}")) for name in _DEVICES]
        kept = [(path, self._frozen(path)) for name in _RUNNING if os.path.exists(path := f"/run/{name}")]
        _step("a temporary folder of its own")
        source = self._boundary["temporary"]
        if not source:
            source = "/tmp"
            kernel.mount("tmpfs", source, kernel.NO_SUID | kernel.NO_DEV, "mode=1777")
        copies = [(path, kernel.clone_tree(source)) for path in ("/tmp", "/var/tmp")]
        _step("a read-only view")
        kernel.set_read_only("/")
        for path, tree in copies:
            _put(path, tree)
        _step("devices of its own")
        self._make_devices(devices)
        self._cover_folder("/run", 0o755)
        for path, tree in kept:
            _put(path, tree)
        self._attach_all()

    def _copy_writable(self, place: dict[str, Any]) -> None:
        path = place["path"]
        _step(f"the writable {path}")
        tree = kernel.clone_tree(path)
        found = os.fstat(tree)
        if (found.st_dev, found.st_ino) != (place["device"], place["inode"]):
            _stop(f"{path} is another file than the one that the boundary was made for", REFUSED)
        self._trees.append((path, tree, found))

    def _copy_read_only(self, path: str) -> None:
        _step(f"the read-only {path}")
        if os.path.lexists(path):
            tree = self._frozen(path)
            self._trees.append((path, tree, os.fstat(tree)))

    def _frozen(self, path: str) -> int:
        tree = kernel.clone_tree(path)
        kernel.set_read_only("", folder=tree)
        return tree

    def _make_devices(self, devices: list[tuple[str, int]]) -> None:
        kernel.mount("tmpfs", "/dev", kernel.NO_SUID | kernel.NO_EXEC, "mode=755,size=1m")
        for path, tree in devices:
            _put(path, tree)
        for name, target in _LINKS.items():
            os.symlink(target, f"/dev/{name}")
        os.mkdir("/dev/pts")
        kernel.mount(
            "devpts", "/dev/pts", kernel.NO_SUID | kernel.NO_EXEC, "newinstance,ptmxmode=666,mode=620"
        )
        os.mkdir("/dev/shm")
        kernel.mount("tmpfs", "/dev/shm", kernel.NO_SUID | kernel.NO_DEV, "mode=1777")
        os.close(os.open("/dev/.empty", os.O_CREAT | os.O_WRONLY, 0o444))

    def _attach_all(self) -> None:
        """A folder that is covered, and what lies below it and is not, meet in the order of their depth."""
        work: list[tuple[str, int, os.stat_result | None]] = [*self._trees]
        work += [(path, -1, None) for path in self._boundary["hidden"]]
        covers = ["/run", "/dev"]
        for path, tree, expected in sorted(work, key=lambda entry: (entry[0].count("/"), entry[0])):
            _step(f"{'the view of' if expected else 'the cover of'} {path}")
            if expected is not None:
                _put(path, tree)
                if not os.path.samestat(os.stat(path), expected):
                    _stop(f"{path} was exchanged while the sandbox was built", REFUSED)
            elif os.path.isdir(path):
                self._cover_folder(path, 0o755)
                covers.append(path)
            elif os.path.exists(path):
                kernel.attach(kernel.clone_tree("/dev/.empty"), path)
        _step("a read-only view")
        for path in covers:
            kernel.set_read_only(path, below=False)

    def _cover_folder(self, path: str, mode: int) -> None:
        kernel.mount("tmpfs", path, kernel.NO_SUID | kernel.NO_DEV | kernel.NO_EXEC, f"mode={mode:o},size=1m")


def _put(path: str, tree: int) -> None:
    """Attach a copy at its path; where that is covered, there is room to make the path again."""
    if not os.path.lexists(path):
        is_folder = stat.S_ISDIR(os.fstat(tree).st_mode)
        os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
        if not is_folder:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.attach(tree, path)
    os.close(tree)


# The three processes.


def _end_like(first: int, answers: int, proxy: _Proxy | None, boundary: dict[str, Any]) -> NoReturn:
    """Wait for the namespace to be gone, and end as its command ended."""
    tell = os.dup(2)
    _leave_files()
    os.waitpid(first, 0)
    if proxy:
        proxy.end()
    for sentence in set_aside(boundary["reserved"], renames=boundary["sets_aside"]):
        try:
            os.write(tell, f"{sentence}\n".encode(errors="replace"))
        except OSError:  # nobody listens any more
            break
    told = os.read(answers, 16).strip()
    status = int(told) if told else int(signal.SIGKILL)
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _lead(boundary: dict[str, Any], command: list[str], handlers: dict[Any, Any], tells: int) -> NoReturn:
    """Be the first of the PID namespace."""
    kernel.call(kernel.PRCTL, kernel.SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    os.write(tells, b" ")  # fails if the launcher had ended before: its number cannot be asked in here
    _step("a /proc of its own")
    kernel.mount("proc", "/proc", kernel.NO_SUID | kernel.NO_DEV | kernel.NO_EXEC)
    if tuple(map(int, os.uname().release.split(".")[:2])) >= PROCESSES_COUNTED:
        _write("/proc/sys/kernel/pid_max", str(boundary["limits"]["NPROC"]))
    _write("/proc/self/oom_score_adj", "500")
    for path in _for_root_alone() if os.getuid() == 0 else ():
        kernel.attach(kernel.clone_tree("/dev/.empty"), path)
    kernel.set_read_only("/proc", below=False)
    child = os.fork()
    if not child:
        os.close(tells)
        _become(boundary, command, handlers)
    _leave_files()
    kernel.call(kernel.PRCTL, kernel.SET_DUMPABLE, 0, 0, 0, 0)
    kernel.keep_capabilities(0)
    status = _reap_until(child)
    os.write(tells, str(status).encode())
    _end_leftovers(boundary["leftovers"])
    os._exit(0)


def _for_root_alone() -> list[str]:
    """Files of the machine that the kernel shows to root without asking for a capability."""
    with os.scandir("/proc") as entries:
        files = [
            entry for entry in entries if not entry.name.isdigit() and entry.is_file(follow_symlinks=False)
        ]
        return [entry.path for entry in files if not entry.stat().st_mode & 0o004]


def _reap_until(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _end_leftovers(seconds: float) -> None:
    """Ask what the command left running, and wait a moment; our own end kills the rest."""
    deadline = time.monotonic() + seconds
    try:
        os.kill(-1, signal.SIGTERM)
        os.kill(-1, signal.SIGCONT)
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
    except (ProcessLookupError, ChildProcessError):  # nobody is left
        return


def _leave_files() -> None:
    """Hold none of the command's pipes: who closes its output must be seen to have closed it."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.close(nothing)
    os.chdir("/")


def _become(boundary: dict[str, Any], command: list[str], handlers: dict[Any, Any]) -> NoReturn:
    os.setsid()
    _step("limits")
    for name, value in boundary["limits"].items():
        _limit(getattr(resource, f"RLIMIT_{name}"), value)
    _step("Landlock")
    version = kernel.landlock_version()
    if version < OLDEST_LANDLOCK:
        found = f"the kernel has version {version} of it" if version else "the kernel has none, or it is off"
        _stop(f"Landlock: {found}; Linux 5.19 with `lsm=landlock` is needed", REFUSED)
    writable = [place["path"] for place in boundary["writable"]]
    kernel.restrict_writes(["/tmp", "/var/tmp", "/dev", *writable], version)
    _step("capabilities")
    kernel.keep_capabilities(kernel.FILE_CAPABILITIES if os.getuid() == 0 else 0)
    for number in (*handlers, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, handlers.get(number) or signal.SIG_DFL)
    kernel.call(kernel.CLOSE_RANGE, 3, 0xFFFFFFFF, 0)
    environment = {**boundary["environment"], **os.environ}
    environment |= {name: "/tmp" for name in ("TMPDIR", "TMP", "TEMP") if name in os.environ}
    if boundary["network"]:
        environment |= (
            dict.fromkeys(_TO_PROXY, boundary["proxy"]) | _NOT_TO_PROXY | {"NODE_USE_ENV_PROXY": "1"}
        )
    _step("the filter of system calls")
    kernel.install_filter()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        missing = error.errno == 2
        why = "there is no such program in the sandbox" if missing else error.strerror
        os.write(2, f"dragoman: cannot start {command[0]!r}: {why}\n".encode(errors="replace"))
        os._exit(127 if missing else 126)


def _limit(kind: int, value: int) -> None:
    """Set a limit, unless a lower one is already set."""
    soft, hard = (
        value if bound == resource.RLIM_INFINITY else min(value, bound) for bound in resource.getrlimit(kind)
    )
    resource.setrlimit(kind, (soft, hard))
