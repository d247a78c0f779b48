"""How policies are read, and put in layers; `policy_paths` knows where they are.

Only reads. A project is trusted if the user's file says so (`trust = ["~/work/mine"]`), never
because it says so itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from dragoman.system.files import open_regular
from dragoman_local.workspace.policy import globs
from dragoman_local.workspace.policy.policy import Approve, Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_parser import PolicyError, Rulebook, read_policy
from dragoman_local.workspace.policy.policy_paths import policy_paths, project_file

MOST_BYTES: Final = 1_048_576
"""A larger file is no policy, and reading it would be a way to stop us."""

PARSED: Final = 256
"""Texts whose rules are remembered: to parse one takes a hundred times as long as to read it."""

_NOTHING: Final = Rulebook((), None, ())


def load_policy(
    *,
    roots: Sequence[str] = (),
    file: str | None = None,
    rules: Rulebook | None = None,
    approve: Approve | None = None,
    environ: Mapping[str, str] | None = None,
) -> Policy:
    """Every layer that there is; a file that is named must be there, unless its `rules` were read before."""
    where = policy_paths(environ)
    layers: list[PolicyLayer] = []
    if file is not None:
        layers.append(_layer(file, read_file(file) if rules is None else rules))
    user = read_if_there(where.policy)
    project = project_file(roots)
    if project is not None:
        book = read_if_there(project)
        is_project_trusted = is_trusted(roots[0], user.trust, home=where.home)
        layers.append(_layer(project, book, only_stricter=not is_project_trusted))
    layers.append(_layer(where.policy, user))
    protected_paths = [
        where.config,
        *(f"{root.rstrip('/')}/.dragoman" for root in roots),
        *([file] if file else []),
    ]
    return Policy(
        layers=tuple(layer for layer in layers if layer.rules or layer.default is not None),
        remembered_rules=read_if_there(where.remembered_file).rules,
        approve=approve,
        protected_paths=tuple(each for path in protected_paths for each in _and_below(path)),
    )


def is_trusted(folder: str, trust: Sequence[str], *, home: str) -> bool:
    """Whether a folder, its links resolved, is one that the user named."""
    real = os.path.realpath(folder)
    return any(
        globs.permits([glob], real, roots=(), home=home) for glob in trust if glob.startswith(("/", "~/"))
    )


def read_text(path: str) -> str | None:
    """A file's text, or None if there is none. Only plain files are read: others might never end."""
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PolicyError(path, 0, f"cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise PolicyError(path, 0, f"is larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(path, data[: error.start].count(b"\n") + 1, "is not UTF-8 text") from None


def read_file(path: str) -> Rulebook:
    """What a file says; `PolicyError` if there is none or it cannot be used."""
    text = read_text(path)
    if text is None:
        raise PolicyError(path, 0, "there is no such file")
    return _parse(text, path)


def read_if_there(path: str) -> Rulebook:
    text = read_text(path)
    return _NOTHING if text is None else _parse(text, path)


_parse = lru_cache(maxsize=PARSED)(read_policy)
"""A file is read for every decision, so that a change counts at once; the same text is parsed once."""


def _layer(name: str, book: Rulebook, *, only_stricter: bool = False) -> PolicyLayer:
    return PolicyLayer(name=name, rules=book.rules, default=book.default, only_stricter=only_stricter)


def _and_below(path: str) -> Sequence[str]:
    place = globs.literal(os.path.abspath(path))
    return (place, f"{place}/**")
