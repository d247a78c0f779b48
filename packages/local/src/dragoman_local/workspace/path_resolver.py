"""Resolves paths below a root, with file descriptors, so that no link leads outside.

There are two ways. `resolve_by_kernel` has Linux resolve the folder in one call that cannot leave the root.
What the kernel does not grant outright is walked: name by name, each opened without following links, links
read and resolved here. The walk alone would do, and does on other systems; it also knows what the kernel
refuses to know, a link that leads out of one root and into another.

Both promise the same: the folder of a place was reached from the descriptor of a root by going down only, so
no exchange of names while we look can make it a folder outside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from dragoman_local.workspace import kernel
from dragoman_local.workspace.paths import MOST_NAMES, Names, join_names, names_below, split_path
from dragoman_local.workspace.places import FilePlace, FolderMissing
from dragoman_local.workspace.refusals import (
    FORBIDDEN,
    bad_path,
    path_changed,
    path_missing,
    path_outside,
    refusal,
    root_gone,
)

MOST_STEPS = 40
"""Links that are followed, and surprises that are looked at again, as many as Linux allows."""

_DOWN = kernel.FOLDER | getattr(os, "O_NOFOLLOW", 0)


class WorkspaceRoot(Struct, frozen=True):
    """A folder of the session, kept open."""

    fd: int
    spelled_names: Names
    """As the session was opened with."""
    real: Names
    """The same with its links resolved, once."""
    identity: tuple[int, int]

    def check(self) -> None:
        """The agent means what its path names today; we would serve what it named when we opened it."""
        try:
            today = os.stat(join_names(self.real))
        except OSError as error:
            raise root_gone("removed") from error
        if (today.st_dev, today.st_ino) != self.identity:
            raise root_gone("replaced")


def find_root(roots: Sequence[WorkspaceRoot], names: Names) -> tuple[WorkspaceRoot, Names]:
    """The innermost root that contains a path, and the rest of the path."""
    candidates = [
        (len(begin), root, rest)
        for root in roots
        for begin in (root.spelled_names, root.real)
        if (rest := names_below(names, begin)) is not None
    ]
    if not candidates:
        raise path_outside()
    _, root, rest = max(candidates, key=lambda entry: entry[0])
    root.check()
    return root, rest


def resolve_path(
    roots: Sequence[WorkspaceRoot], names: Names, *, make_folders: bool, use_kernel: bool
) -> FilePlace:
    """The place that a path leads to, with its folders made if they are missing and that is wanted."""
    root, rest = find_root(roots, names)
    place = resolve_by_kernel(root, rest) if use_kernel else None
    return place or PathWalk(roots, root, rest, make_folders=make_folders).run()


def resolve_by_kernel(root: WorkspaceRoot, rest: Names) -> FilePlace | None:
    """The place, if the kernel reaches its folder without leaving the root and the last name is no link."""
    if not rest or rest[-1] == "..":
        return None
    try:
        fd = kernel.open_beneath(root.fd, "/".join(rest[:-1]) or ".")
    except OSError:  # it leads out, is missing, is a loop: the walk finds out, and what to say
        return None
    try:
        folder = kernel.location(fd)
        place = FilePlace(fd, rest[-1], os.path.join(folder, rest[-1]))
        status = place.status()
    except BaseException:
        os.close(fd)
        raise
    if folder.endswith(" (deleted)") or (status is not None and stat.S_ISLNK(status.st_mode)):
        place.close()
        return None
    return place


class PathWalk:
    """One resolution, step by step."""

    def __init__(
        self, roots: Sequence[WorkspaceRoot], root: WorkspaceRoot, rest: Names, *, make_folders: bool
    ) -> None:
        self._roots = roots
        self._root = root
        self._todo = deque(rest)
        self._done_names: list[str] = []  # names below the root, none of them a link
        self._make_folders = make_folders
        self._steps = MOST_STEPS + (len(rest) if make_folders else 0)
        self._fd = os.dup(root.fd)

    def run(self) -> FilePlace:
        try:
            while self._todo:
                name = self._todo.popleft()
                if name == "..":
                    self._up()
                elif self._todo:
                    self._down(name)
                elif self._is_link(name):
                    self._follow(name)
                else:
                    return self._file_place(name)
            return self._file_place(".")
        except BaseException:
            os.close(self._fd)
            raise

    def _file_place(self, name: str) -> FilePlace:
        names = self._done_names if name == "." else [*self._done_names, name]
        return FilePlace(self._fd, name, join_names((*self._root.real, *names)))

    def _down(self, name: str) -> None:
        try:
            fd = os.open(name, _DOWN, dir_fd=self._fd)
        except FileNotFoundError:
            self._make(name)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            if not self._is_link(name, is_folder=True):
                raise
            self._follow(name)
        else:
            self._go_to(fd)
            self._done_names.append(name)
            if len(self._done_names) > MOST_NAMES:
                raise bad_path("the path leads too deep")

    def _make(self, name: str) -> None:
        # The kernel would not look beyond a missing folder, whatever `..` follows; nor do we make one for it.
        if ".." in self._todo:
            raise path_missing()
        if not self._make_folders:
            raise FolderMissing(join_names((*self._root.real, *self._done_names, name, *self._todo)))
        try:
            os.mkdir(name, dir_fd=self._fd)
        except FileExistsError:  # somebody was faster, or it is a link that leads nowhere
            pass
        self._spend()
        self._todo.appendleft(name)

    def _up(self) -> None:
        if self._done_names:
            # Not by opening `..`: if somebody has moved the folder, that is not where we came from.
            self._done_names.pop()
            self._go_to(_descend(self._root, self._done_names))
        elif self._root.real:
            self._jump((*self._root.real[:-1], *self._todo))

    def _is_link(self, name: str, *, is_folder: bool = False) -> bool:
        """`is_folder`: it was not a folder a moment ago; if it has become one, it is looked at again."""
        try:
            mode = os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return False
        if is_folder and stat.S_ISDIR(mode):
            raise path_changed()
        return stat.S_ISLNK(mode)

    def _follow(self, name: str) -> None:
        self._spend()
        try:
            target = os.readlink(name, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):  # no link any more
                raise path_changed() from error
            raise
        if target.startswith("/"):
            self._jump((*split_path(target), *self._todo))
        else:
            self._todo.extendleft(reversed(split_path(target)))
        if len(self._todo) > 2 * MOST_NAMES:
            raise bad_path("the path leads too deep")

    def _jump(self, names: Names) -> None:
        """Go on at an absolute path, if one of the roots has it."""
        root, rest = find_root(self._roots, names)
        self._go_to(os.dup(root.fd))
        self._root, self._todo, self._done_names = root, deque(rest), []

    def _go_to(self, fd: int) -> None:
        os.close(self._fd)
        self._fd = fd

    def _spend(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise refusal(FORBIDDEN, "too_many_links", "the path leads through too many links")


def _descend(root: WorkspaceRoot, names: Sequence[str]) -> int:
    fd = os.dup(root.fd)
    for name in names:
        try:
            next_fd = os.open(name, _DOWN, dir_fd=fd)
        except OSError as error:
            raise path_changed() from error
        finally:
            os.close(fd)
        fd = next_fd
    return fd
