"""The folders of a session: its `cwd` and additional directories, kept open as descriptors.

A path is opened from the descriptor of the root that it begins with, and never judged by its text (`beneath`
does that). A root that is itself a link is resolved once, when it is opened; if somebody removes or replaces
it later, everything under it is refused rather than served from a folder that the path no longer names.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from msgspec import Struct

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_local.workspace import kernel
from dragoman_local.workspace.paths import (
    MOST_NAMES,
    Names,
    Route,
    join_names,
    names_below,
    parse,
    split_path,
)
from dragoman_local.workspace.places import FilePlace, FolderMissing
from dragoman_local.workspace.refusals import (
    FORBIDDEN,
    bad_path,
    from_system,
    not_a_file,
    path_changed,
    path_missing,
    path_outside,
    refusal,
    root_gone,
    special_file,
)

_TRIES = 10
"""A root that is exchanged while it is being opened is looked at again this often."""


class Roots:
    """Opens the folders at once; raises an error for a path that is not a folder."""

    def __init__(
        self, cwd: str, additional_directories: Sequence[str] = (), *, use_kernel: bool | None = None
    ) -> None:
        """`use_kernel=False` walks every path by hand, as on kernels without support."""
        if os.open not in os.supports_dir_fd:
            raise LocalMistake("agents can get files only on systems that open files relative to a folder")
        self._use_kernel = kernel.can_open_beneath() if use_kernel is None else use_kernel
        self._roots: list[WorkspaceRoot] = []
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False
        try:
            for path in dict.fromkeys((cwd, *additional_directories)):
                self._add(path)
        except BaseException:
            self.close()
            raise

    def _add(self, path: str) -> None:
        root = _open_root(path)
        if any(
            root.identity == existing.identity and root.spelled_names == existing.spelled_names
            for existing in self._roots
        ):
            os.close(root.fd)
        else:
            self._roots.append(root)

    @property
    def cwd(self) -> str:
        """The real path."""
        return join_names(self._roots[0].real)

    @property
    def folders(self) -> tuple[str, ...]:
        """All roots with their real paths; the first is `cwd`."""
        return tuple(join_names(root.real) for root in self._roots)

    @contextmanager
    def place(
        self, path: str, *, make_folders: bool = False, may_be_folder: bool = False
    ) -> Iterator[FilePlace]:
        """Return the place of a path: below a root, in an open folder, with a last name that is not a link.

        What the system refuses here, or in the block, becomes a refusal.
        """
        route = parse(path)
        if route.is_folder and not may_be_folder:
            raise not_a_file()
        with self._used():
            try:
                with self._resolve(route, make_folders=make_folders) as place:
                    yield place
            except OSError as error:
                raise from_system(error) from error

    def locate(self, path: str, *, may_be_folder: bool = False) -> str:
        """Return the target of a path, with links resolved, even if it does not exist."""
        try:
            with self.place(path, may_be_folder=may_be_folder) as place:
                return place.path
        except ErrorAnswer as error:
            if isinstance(error.__cause__, FolderMissing):
                return error.__cause__.path
            raise

    def _resolve(self, route: Route, *, make_folders: bool) -> FilePlace:
        place = resolve_path(self._roots, route.names, make_folders=make_folders, use_kernel=self._use_kernel)
        if kernel.is_kernel_made(place.folder):
            place.close()
            raise special_file("a file that the kernel makes up")
        return place

    @contextmanager
    def _used(self) -> Iterator[None]:
        # A descriptor that is closed while another thread resolves from it could be anything by then.
        with self._lock:
            if self._is_closed:
                raise refusal(FORBIDDEN, "closed", "this session is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
            self._release()

    def close(self) -> None:
        """Close the folders as soon as they are unused. No more requests are served."""
        self._is_closed = True
        self._release()

    def _release(self) -> None:
        with self._lock:
            if self._is_closed and not self._users:
                while self._roots:
                    os.close(self._roots.pop().fd)

    def __enter__(self) -> Roots:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_root(path: str) -> WorkspaceRoot:
    try:
        spelled_names = parse(path).names
    except ErrorAnswer as error:
        raise LocalMistake(f"{path!r} cannot be a folder of a session: {error.message}") from error
    for _ in range(_TRIES):
        try:
            real = os.path.realpath(path, strict=True)
            fd = os.open(real, kernel.FOLDER | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise LocalMistake(f"{path!r} cannot be a folder of a session: {error.strerror}") from error
        root = _root(fd, real=real, spelled_names=spelled_names)
        if root is not None:
            return root
    raise LocalMistake(f"{path!r} cannot be a folder of a session: it is exchanged all the time")


def _root(fd: int, *, real: str, spelled_names: tuple[str, ...]) -> WorkspaceRoot | None:
    """None when the path no longer leads to what was opened."""
    descriptor_status = os.fstat(fd)
    try:
        path_status = os.stat(real)
    except FileNotFoundError:
        path_status = None
    if path_status is None or not os.path.samestat(descriptor_status, path_status):
        os.close(fd)
        return None
    return WorkspaceRoot(
        fd=fd,
        spelled_names=spelled_names,
        real=split_path(real),
        identity=(descriptor_status.st_dev, descriptor_status.st_ino),
    )


# Resolves paths below a root, with file descriptors, so that no link leads outside.
#
# There are two ways. `resolve_by_kernel` has Linux resolve the folder in one call that cannot leave the
# root. What the kernel does not grant outright is walked: name by name, each opened without following links,
# links read and resolved here. The walk alone would do, and does on other systems; it also knows what the
# kernel refuses to know, a link that leads out of one root and into another.
#
# Both promise the same: the folder of a place was reached from the descriptor of a root by going down only,
# so no exchange of names while we look can make it a folder outside.

MOST_STEPS = 40
"""The most links to follow, and unexpected changes to check again, as many as Linux allows."""

_DOWN = kernel.FOLDER | getattr(os, "O_NOFOLLOW", 0)


class WorkspaceRoot(Struct, frozen=True):
    """A folder of the session, kept open."""

    fd: int
    spelled_names: Names
    """The names with which the session was opened."""
    real: Names
    """The same with its links resolved, once."""
    identity: tuple[int, int]

    def check(self) -> None:
        """Check that the path still leads to the opened folder: the agent means its current target."""
        try:
            today = os.stat(join_names(self.real))
        except OSError as error:
            raise root_gone("removed") from error
        if (today.st_dev, today.st_ino) != self.identity:
            raise root_gone("replaced")


def find_root(roots: Sequence[WorkspaceRoot], names: Names) -> tuple[WorkspaceRoot, Names]:
    """Return the innermost root that contains a path, and the rest of the path."""
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
    """Return the place of a path; missing folders are created if requested."""
    root, rest = find_root(roots, names)
    place = resolve_by_kernel(root, rest) if use_kernel else None
    return place or PathWalk(roots, root, rest, make_folders=make_folders).run()


def resolve_by_kernel(root: WorkspaceRoot, rest: Names) -> FilePlace | None:
    """Return the place, if the kernel reaches its folder without leaving the root and the last name is not a
    link.
    """
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
    """Resolves one path, step by step."""

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
