"""Makes the boundary of a session: one function, from its profile, its folders and its home.

It reads names and kinds of files, and changes nothing, but for an empty folder for hooks in a repository
without one (see `git_places`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.system.folders import home_folder, user_folder
from dragoman_local.sandbox import names
from dragoman_local.sandbox.boundary import Boundary, Place, Profile, place_of, read_profile
from dragoman_local.sandbox.git_places import GitPlaces, git_places

TEMPORARY = ("/tmp", "/var/tmp")
"""Folders that are private behind the wall: others' files and sockets are not in there."""


def boundary_for(
    profile: Profile,
    folders: Sequence[str],
    *,
    state: Sequence[str] = (),
    secrets: Sequence[str] = (),
    temporary: str = "",
    environ: Mapping[str, str] | None = None,
) -> Boundary:
    """`state` are an agent's own folders and files, below the home folder or absolute; those that are not
    there are left out. `secrets` are further paths to hide. Raises `LocalMistake` for folders that no wall
    can be built around.
    """
    parts = read_profile(profile)
    env = os.environ if environ is None else environ
    home = os.path.realpath(home_folder(env))
    roots = [os.path.realpath(folder) for folder in folders] if parts.base == "workspace" else []
    if any(root == "/" for root in roots):
        raise LocalMistake("the session's folder is the whole file system: there is nothing outside of it")
    own = [path for name in state if os.path.exists(path := os.path.realpath(os.path.join(home, name)))]
    git = GitPlaces()
    for root in roots:
        git += git_places(root)
    protected = [os.path.join(root, name) for root in roots for name in names.PROJECT]
    protected += [os.path.join(home, name) for name in names.HOME]
    protected += [*git.read_only, str(user_folder("data", env) / "agents")]
    sockets = _sockets([*roots, *own]) if parts.network else ()
    hidden = _hidden(home, env, [*secrets, *sockets], own)
    writable = _unique([*roots, *own, *git.writable])
    around = (*writable, *hidden)
    read_only = _unique(path for path in map(_there, protected) if path and _is_below(path, around))
    writable = _unique([*writable, *_folders_between(writable, read_only, {*roots, *own})])
    boundary = Boundary(
        profile=profile,
        writable=tuple(_places(path for path in writable if path not in read_only)),
        read_only=tuple(path for path in read_only if path not in hidden),
        reserved=tuple(
            path for root in roots for name in names.PROJECT if not os.path.lexists(path := f"{root}/{name}")
        ),
        hidden=tuple(hidden),
        temporary=temporary,
        environment=dict(names.CACHES),
        limits=parts.limits,
        network=parts.network,
    )
    search_path = filter(None, env.get("PATH", "").split(os.pathsep))
    return showing(boundary, [*folders, *map(_installation, search_path)])


def showing(boundary: Boundary, paths: Iterable[str]) -> Boundary:
    """The same boundary, in which these paths can be seen: those in temporary folders would be hidden."""
    known = (*(place.path for place in boundary.writable), *boundary.read_only)
    missing = _unique(path for path in map(_there, paths) if _is_within(path, TEMPORARY))
    more = [path for path in missing if not _is_below(path, known)]
    return replace(boundary, read_only=(*boundary.read_only, *more)) if more else boundary


def showing_program(boundary: Boundary, program: str) -> Boundary:
    """The same boundary, in which this program can be started."""
    return showing(boundary, [_installation(os.path.dirname(program))])


def _installation(folder: str) -> str:
    """What belongs to the programs in a folder."""
    prefix = os.path.dirname(folder)
    is_prefix = os.path.basename(folder) == "bin" and _is_within(prefix, TEMPORARY)
    return prefix if is_prefix else folder


def _hidden(home: str, env: Mapping[str, str], secrets: Sequence[str], own: Sequence[str]) -> list[str]:
    """Secrets of the home folder; for root, who may read those of others, of every home folder."""
    homes = [home]
    candidates = [
        *secrets,
        *names.SYSTEM_SOCKETS,
        *(str(user_folder(kind, env)) for kind in ("config", "data", "state")),
    ]
    if os.getuid() == 0:
        candidates += names.SYSTEM_SECRETS
        homes += ["/root", *(entry.path for entry in _entries("/home"))]
    for folder in homes:
        candidates += [os.path.join(folder, name) for name in names.SECRETS]
        candidates += [path for name in names.SECRET_IF if _holds_secret(path := os.path.join(folder, name))]
    found = _unique(path for path in map(_there, candidates) if path)
    return [path for path in found if not _is_below(path, own)]


def _sockets(own: Sequence[str]) -> Iterator[str]:
    """Sockets of other programs that have a path and a listener now: each leads to a program that has the
    network. Those below the folders of the session are the session's.
    """
    with suppress(OSError), open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        paths = [line.split(None, 7)[-1].rstrip("\n") for line in file]
        yield from (path for path in paths if path.startswith("/") and not _is_below(path, own))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _holds_secret(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read(1 << 16)
    except OSError:
        return False
    return any(word in text for word in names.SECRET_IF[os.path.basename(path)])


def _there(path: str) -> str:
    """Where a path leads; empty if to nothing."""
    real = os.path.realpath(path)
    return real if os.path.exists(real) else ""


def _folders_between(writable: Sequence[str], read_only: Sequence[str], ends: set[str]) -> Iterator[str]:
    """Folders around what is read-only. Each becomes a mount of its own: a folder can be moved away with all
    that is mounted below it, but not if something is mounted on it. A repository ends with its `.git`: the
    folders above a nested one are for moving.
    """
    for path in read_only:
        parent = os.path.dirname(path)
        while parent not in ends and not parent.endswith("/.git") and _is_below(parent, writable):
            yield parent
            parent = os.path.dirname(parent)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    """Whether it lies below one of them, and is none of them."""
    return path not in folders and _is_below(path, folders)


def _unique(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def _places(paths: Iterable[str]) -> list[Place]:
    return [place_of(path) for path in paths]
