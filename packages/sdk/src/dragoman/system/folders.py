"""The folders where this user's programs keep their files, by the conventions of the operating system.

The XDG variables count on every system, if they are absolute, as their specification asks. Without them
Windows has a folder of its own for what stays on the machine, macOS one for caches, and everybody else the
defaults of that specification.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

FolderKind: TypeAlias = Literal["cache", "config", "data", "state"]

_VARIABLES = {
    "cache": "XDG_CACHE_HOME",
    "config": "XDG_CONFIG_HOME",
    "data": "XDG_DATA_HOME",
    "state": "XDG_STATE_HOME",
}
_DEFAULTS = {"cache": ".cache", "config": ".config", "data": ".local/share", "state": ".local/state"}


def home_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def user_folder(kind: FolderKind, environ: Mapping[str, str] | None = None) -> Path:
    """Return our folder for files of this kind, without creating it."""
    env = os.environ if environ is None else environ
    return _base(kind, env) / "dragoman"


def _base(kind: FolderKind, environ: Mapping[str, str]) -> Path:
    folder = environ.get(_VARIABLES[kind], "")
    if os.path.isabs(folder):
        return Path(folder)
    if sys.platform == "win32" and kind in ("cache", "data") and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"])
    if sys.platform == "darwin" and kind == "cache":
        return home_folder(environ) / "Library" / "Caches"
    return home_folder(environ) / _DEFAULTS[kind]
