"""Decides in which folder a session may work: by the command line and by the client's own roots.

A folder must be inside of every list that there is, links resolved. Where neither names a folder, the working
folder of the gateway is the only one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman_app.apps.console import UsageMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRules:
    """The settings from the command line."""

    cwd: str
    roots: Sequence[str] = ()

    def choose(self, name: str | None, client_roots: Sequence[str] = ()) -> str:
        """Return the folder of a new session; `name` is the caller's wish. Raises `UsageMistake`. Reads the
        disk.
        """
        limits = [roots for roots in (self.roots, client_roots) if roots] or [(self.cwd,)]
        if name is None:
            choices = (self.cwd, *client_roots, *self.roots)
            folder = next((choice for choice in choices if _is_inside_all(choice, limits)), None)
            if folder is None:
                raise UsageMistake("no folder is allowed by both sides", "name a root that both allow")
            return folder
        if "\0" in name:
            raise UsageMistake("a folder's name can't contain a NUL character", "check the path")
        folder = os.path.normpath(os.path.join(self.cwd, name))
        # Whether something is there is told only of places where a session may be.
        if not _is_inside_all(folder, limits):
            root_names = ", ".join(dict.fromkeys(root for roots in limits for root in roots))
            raise UsageMistake(
                f"{name!r} is outside of the folders that are allowed here", f"choose one in {root_names}"
            )
        if not os.path.isdir(folder):
            raise UsageMistake(f"{name!r} is not a folder", "check the path")
        return folder


def _is_inside_all(folder: str, limits: Sequence[Sequence[str]]) -> bool:
    real = os.path.realpath(folder)
    return all(any(_is_inside(real, os.path.realpath(root)) for root in roots) for roots in limits)


def _is_inside(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)


def resolve_folder(path: str | None) -> str:
    """Return a folder from the command line, or the current one; raises `UsageMistake`."""
    folder = os.path.abspath(path or os.getcwd())
    if not os.path.isdir(folder):
        raise UsageMistake(f"{path!r} is not a folder", "check the path")
    return folder
