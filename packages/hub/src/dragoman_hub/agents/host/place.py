"""The location of an agent host: a socket in a private folder, with a secret beside it.

The folder must belong to us and be closed to everybody else, the peer must run as our user, and the secret
must be known: the first two keep others out, the third also keeps out a process of ours that only happens to
connect. Addresses of sockets are short on every system; a long path is reached through its folder, where the
system has a way for that.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.system.files import lock, try_lock

LONGEST = 100
"""The most bytes of a path that every system accepts as an address."""

WAITING = 16
"""The most connections that wait to be accepted."""

_CREDENTIALS = struct.Struct("3i")


class PlaceOccupied(LocalMistake):
    """An agent host listens there already."""


def of(path: Path) -> Path:
    """Return the absolute path, in an existing private folder."""
    absolute = path.absolute()
    make_private(absolute.parent)
    return absolute


def secret_of(path: Path) -> Path:
    return path.with_name(path.name + ".secret")


def read_secret(path: Path) -> bytes:
    """The secret that authenticates us to the agent host; empty if its file is gone, and then the host
    refuses us.
    """
    try:
        return secret_of(path).read_bytes()
    except FileNotFoundError:
        return b""


def listen(path: Path) -> tuple[socket.socket, bytes]:
    """Listen at the path; return the socket and the secret. Files of a dead agent host are replaced."""
    with _alone_in(path.parent):
        if _answers(path):
            raise PlaceOccupied(f"an agent host listens at {path} already; find it, or choose another path")
        remove(path)
        secret = os.urandom(32)
        _write_secret(secret_of(path), secret)
        try:
            return _bind(path), secret
        except BaseException:
            remove(path)
            raise


def _bind(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with reachable(path) as address:
            listener.bind(address)
        listener.listen(WAITING)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def remove_stale(path: Path) -> None:
    """Remove the files of a dead agent host, unless another one listens there now."""
    try:
        with _alone_in(path.parent, wait=False):
            if not _answers(path):
                remove(path)
    except BlockingIOError:
        pass  # an agent host begins to listen in this folder; what is stale then waits for the next look


@contextmanager
def _alone_in(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Nobody else begins to listen, or clears away, meanwhile. Held for as long as a few calls take."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if wait:
            lock(fd)
        elif not try_lock(fd):
            raise BlockingIOError
        yield
    finally:
        os.close(fd)


def remove(path: Path) -> None:
    """Remove the socket and the secret."""
    path.unlink(missing_ok=True)
    secret_of(path).unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Create the folder, or check that no other user can enter an existing one."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    info = folder.stat()
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
        raise LocalMistake(
            f"other users can open {folder}, the folder of an agent host; "
            "`chmod 700` it if it is yours, or choose another"
        )


@contextmanager
def reachable(path: Path) -> Iterator[str]:
    """Return an address for the path, as long as one is needed."""
    name = os.fspath(path)
    if len(os.fsencode(name)) <= LONGEST:
        yield name
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        near = f"/proc/self/fd/{folder}/{path.name}"
        if not os.path.isdir(f"/proc/self/fd/{folder}") or len(os.fsencode(near)) > LONGEST:
            raise LocalMistake(f"{name} is too long for the address of a socket; choose a shorter folder")
        yield near
    finally:
        os.close(folder)


def connect(path: Path) -> socket.socket | None:
    """Return a socket to the process that listens there; None if there is none. Raises `BlockingIOError` if
    its queue is full.
    """
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.setblocking(False)
    try:
        with reachable(path) as address:
            peer.connect(address)
    except OSError as error:
        peer.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR):
            return None
        raise
    return peer


def peer_of(connection: socket.socket) -> tuple[int, int] | None:
    """Return process and user id of the other end; None if the system does not provide them."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(credentials)
    return pid, user


def is_ours(connection: socket.socket) -> bool:
    """Whether the other end runs as our user, as far as the system shows it."""
    peer = peer_of(connection)
    return peer is None or peer[1] == os.getuid()


def _answers(path: Path) -> bool:
    try:
        peer = connect(path)
    except BlockingIOError:
        return True  # a full house is a house
    if peer is None:
        return False
    peer.close()
    return True


def _write_secret(path: Path, secret: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, secret)
    finally:
        os.close(fd)
