"""Writes a file atomically: at every moment it has the whole old or the whole new content.

A new file is made beside the old one, in the folder that is already open, and takes its name. That name is
never followed: if somebody has put a link there meanwhile, the link is replaced and what it led to stays as
it was. The new file has the mode and, where we may, the owner of the old one. It is a new file all the same:
other hard links to the old one keep the old content.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat

from dragoman_local.workspace.places import FilePlace

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)

_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}
)


class FileAppeared(Exception):
    """A file exists that did not exist a moment ago."""


def create(place: FilePlace, data: bytes, *, fsync: bool) -> None:
    """Create a file that does not exist yet; `FileAppeared` if it exists now."""
    # The system takes the user's mask off this mode; asking for the mask would change it for all threads.
    temporary = _write_temporary_file(place, data, mode=0o666, like=None, fsync=fsync)
    try:
        _give_name(place, temporary)
    finally:
        _remove(place, temporary)
    if fsync:
        _sync_folder(place)


def replace(place: FilePlace, data: bytes, *, old: os.stat_result, fsync: bool) -> None:
    """Replace the old file by a new one."""
    temporary = _write_temporary_file(place, data, mode=0o600, like=old, fsync=fsync)
    try:
        os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        _remove(place, temporary)
        raise
    if fsync:
        _sync_folder(place)


def _write_temporary_file(
    place: FilePlace, data: bytes, *, mode: int, like: os.stat_result | None, fsync: bool
) -> str:
    """Write the whole file under a temporary name; returns that name."""
    name = f".dragoman-{secrets.token_hex(8)}.tmp"
    fd = os.open(name, _FRESH, mode, dir_fd=place.folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if like is not None:
            _take_after(fd, like)
        if fsync:
            os.fsync(fd)
    except BaseException:
        _remove(place, name)
        raise
    finally:
        os.close(fd)
    return name


def _take_after(fd: int, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    ours = os.fstat(fd)
    if (ours.st_uid, ours.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except OSError:  # only root may; but then nobody may run it as the old owner either
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(fd, mode)


def _give_name(place: FilePlace, temporary: str) -> None:
    # A link, unlike a rename, fails if the name is taken.
    try:
        os.link(
            temporary,
            place.name,
            src_dir_fd=place.folder,
            dst_dir_fd=place.folder,
            follow_symlinks=False,
        )
        return
    except FileExistsError:
        raise FileAppeared from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    # A file system without hard links: look, and hope for a moment.
    if place.status() is not None:
        raise FileAppeared
    os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _remove(place: FilePlace, name: str) -> None:
    try:
        os.unlink(name, dir_fd=place.folder)
    except OSError:  # renamed already, or somebody was tidier than we are
        pass


def _sync_folder(place: FilePlace) -> None:
    fd = place.open_own_folder()
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
