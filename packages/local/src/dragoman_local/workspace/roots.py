"""The folders of a session: its `cwd` and additional directories, kept open as descriptors.

A path is opened from the descriptor of the root that it begins with, and never judged by its text (`beneath`
does that). A root that is itself a link is resolved once, when it is opened; if somebody removes or replaces
it later, everything under it is refused rather than served from a folder that the path no longer names.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_local.workspace import kernel
from dragoman_local.workspace.path_resolver import WorkspaceRoot, resolve_path
from dragoman_local.workspace.paths import Route, join_names, parse, split_path
from dragoman_local.workspace.places import FilePlace, FolderMissing
from dragoman_local.workspace.refusals import FORBIDDEN, from_system, not_a_file, refusal, special_file

_TRIES = 10
"""A root that is exchanged while it is being opened is looked at again this often."""


class Roots:
    """Opens the folders at once, and raises an error for a path that is not a folder."""

    def __init__(
        self, cwd: str, additional_directories: Sequence[str] = (), *, use_kernel: bool | None = None
    ) -> None:
        """`use_kernel=False` walks every path by hand, as is done where the kernel cannot help."""
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
        """Where it really is."""
        return join_names(self._roots[0].real)

    @property
    def folders(self) -> tuple[str, ...]:
        """All roots, where they really are; the first is `cwd`."""
        return tuple(join_names(root.real) for root in self._roots)

    @contextmanager
    def place(
        self, path: str, *, make_folders: bool = False, may_be_folder: bool = False
    ) -> Iterator[FilePlace]:
        """Where a path leads: below a root, in a folder that is open, with a last name that is no link.

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
        """Where a path leads, links resolved, whether or not something is there."""
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
        """Close the folders as soon as they are unused. Nothing is served any more."""
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
