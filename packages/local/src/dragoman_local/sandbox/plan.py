"""Computes the boundary of a session's sandbox from its profile, its folders and its home.

It reads names and kinds of files, and changes nothing, but for an empty folder for hooks in a repository
without one (see `git_places`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.system.folders import home_folder, user_folder
from dragoman_local.sandbox import names
from dragoman_local.sandbox.boundary import Boundary, Profile, place_of, read_profile
from dragoman_local.sandbox.git_places import GitPlaces, git_places

TEMPORARY = ("/tmp", "/var/tmp")
"""Folders that are private in the sandbox: files and sockets of others are not visible."""


def boundary_for(
    profile: Profile,
    folders: Sequence[str],
    *,
    state: Sequence[str] = (),
    secrets: Sequence[str] = (),
    temporary: str = "",
    environ: Mapping[str, str] | None = None,
) -> Boundary:
    """Return the boundary. `state` are an agent's own folders and files, below the home folder or absolute;
    missing ones are left out. `secrets` are further paths to hide. Raises `LocalMistake` for folders that no
    sandbox can be built around.
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
        git += git_places(root, home)
    obeyed = [os.path.join(root, name) for root in roots for name in (*names.PROJECT, *_by_ending(root))]
    of_home = [os.path.join(home, name) for name in names.HOME]
    shown = [*of_home, str(user_folder("data", env) / "agents")]
    protected = [*obeyed, *git.read_only, *shown]
    obeyed += of_home if _is_below(home, roots) else []
    sockets = _sockets([*roots, *own]) if parts.network else ()
    search_path = [folder for folder in env.get("PATH", "").split(os.pathsep) if folder]
    kept = [*own, *map(os.path.realpath, search_path), *(root for root in roots if root != home)]
    hidden = _hidden(home, env, [*secrets, *sockets], own, kept)
    writable = _unique([*roots, *own, *git.writable])
    read_only = _unique(
        real
        for path in protected
        if (real := _there(path))
        and _is_below(real, (*writable, *hidden))
        # Links and settings of git may be an earlier command's: they must not show a secret.
        and not (
            _is_below(real, hidden) and (path not in shown or (real != path and _is_below(path, writable)))
        )
    )
    writable += _folders_between(writable, read_only, hidden, {*roots, *own})
    boundary = Boundary(
        profile=profile,
        writable=tuple(place_of(path) for path in _unique(writable) if path not in read_only),
        read_only=tuple(path for path in read_only if path not in hidden),
        reserved=tuple(
            path
            for path in _unique([*obeyed, *git.reserved])
            if not os.path.lexists(path) and _is_below(path, writable) and not _is_below(path, hidden)
        ),
        hidden=tuple(hidden),
        temporary=temporary,
        environment=dict(names.CACHES),
        limits=parts.limits,
        network=parts.network,
    )
    return showing(boundary, [*folders, *map(_installation, search_path)])


def showing(boundary: Boundary, paths: Iterable[str]) -> Boundary:
    """Return the same boundary with these paths visible: those in temporary folders would be hidden."""
    known = (*(place.path for place in boundary.writable), *boundary.read_only)
    missing = _unique(path for path in map(_there, paths) if _is_within(path, TEMPORARY))
    more = [path for path in missing if not _is_below(path, known)]
    return replace(boundary, read_only=(*boundary.read_only, *more)) if more else boundary


def showing_program(boundary: Boundary, program: str) -> Boundary:
    """Return the same boundary, in which this program can be started."""
    return showing(boundary, [_installation(os.path.dirname(program))])


def _installation(folder: str) -> str:
    """The paths that belong to the programs in a folder."""
    prefix = os.path.dirname(folder)
    is_prefix = os.path.basename(folder) == "bin" and _is_within(prefix, TEMPORARY)
    return prefix if is_prefix else folder


def _hidden(
    home: str, env: Mapping[str, str], secrets: Sequence[str], own: Sequence[str], kept: Sequence[str]
) -> list[str]:
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
        held = ((os.path.join(folder, name), words) for name, words in names.SECRET_IF.items())
        candidates += [path for path, words in held if _holds_secret(path, words)]
        shown = [os.path.join(folder, name) for name in (*names.HOME, *names.SECRET_IF)]
        candidates += _private(folder, [*kept, *shown])
    found = _unique(path for path in map(_there, candidates) if path)
    return [path for path in found if not _is_below(path, own)]


def _private(home: str, kept: Sequence[str]) -> list[str]:
    """Paths that only their owner may read, where programs keep personal data: no list knows all their names.
    Where most of it has such a mode, that says nothing. What is `kept`, or around it, is no secret.
    """
    tops = [entry for entry in _entries(home) if entry.name.startswith(".") and entry.name not in names.SHOWN]
    if 2 * sum(map(_is_private, tops)) > len(tops):
        return []
    found = list[str]()
    for entry in (*tops, *_entries(os.path.join(home, ".config"))):
        if _is_private(entry):
            found.append(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            found += [file.path for file in _entries(entry.path) if file.is_file() and _is_private(file)]
    return [
        path for path in found if not _is_below(path, kept) and not any(_is_below(k, [path]) for k in kept)
    ]


def _is_private(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return not mode & 0o077 and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _by_ending(folder: str) -> list[str]:
    return [entry.name for entry in _entries(folder) if entry.name.endswith(names.PROJECT_ENDINGS)]


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
            return list(entries)
    except OSError:
        return []


def _holds_secret(path: str, words: Iterable[bytes]) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read(1 << 16)
    except OSError:
        return False
    return any(word in text for word in words)


def _there(path: str) -> str:
    """Where a path leads; empty if to nothing."""
    real = os.path.realpath(path)
    return real if os.path.exists(real) else ""


def _folders_between(
    writable: Sequence[str], read_only: Sequence[str], hidden: Sequence[str], ends: set[str]
) -> Iterator[str]:
    """Folders around what is read-only or hidden. Each becomes a mount of its own: a folder can be moved away
    with all that is mounted below it, but not if something is mounted on it. A repository ends with its
    `.git`: the folders above a nested one are for moving.
    """
    for path in (*read_only, *hidden):
        parent = os.path.dirname(path)
        while parent not in ends and not parent.endswith("/.git") and _is_below(parent, writable):
            yield from () if _is_below(parent, hidden) else (parent,)
            parent = os.path.dirname(parent)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    """Whether it is below one of them, and not one of them."""
    return path not in folders and _is_below(path, folders)


def _unique(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))
