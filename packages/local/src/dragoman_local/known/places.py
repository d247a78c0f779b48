"""The paths of configuration files on each system: Dragoman's, and those of products with agents to import.

Pure: system, environment and home folder are given, so that every system is tested on every system.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from msgspec import Struct, field

ACPX_PROJECT = ".acpxrc.json"
"""The acpx file in the working directory, which overrides the one in the home folder."""


class Machine(Struct, frozen=True):
    """The facts about a machine that decide where files are."""

    platform: str = field(default_factory=lambda: sys.platform)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: str = field(default_factory=lambda: str(Path.home()))

    def path(self, *parts: str) -> PurePath:
        return (PureWindowsPath if self.platform == "win32" else PurePosixPath)(*parts)

    def folder(self, variable: str, *default: str) -> PurePath:
        """Return the folder in a variable; a relative one is invalid by the rules of XDG, and ignored."""
        value = self.environ.get(variable, "")
        if value and self.path(value).is_absolute():
            return self.path(value)
        return self.path(self.home, *default)


def our_config(machine: Machine) -> PurePath:
    """Return `dragoman/config.toml` in the configuration folder."""
    return _settings_folder(machine) / "dragoman" / "config.toml"


def zed_settings(machine: Machine) -> list[PurePath]:
    """Return Zed's settings, which are in ~/.config on macOS too."""
    if machine.platform == "win32":
        return [machine.folder("APPDATA", "AppData", "Roaming") / "Zed" / "settings.json"]
    flatpak = machine.path(machine.home, ".var", "app", "dev.zed.Zed", "config", "zed", "settings.json")
    return [machine.folder("XDG_CONFIG_HOME", ".config") / "zed" / "settings.json", flatpak]


def jetbrains_acp(machine: Machine) -> list[PurePath]:
    """Return the one file for all IDEs, in the home folder of every system."""
    return [machine.path(machine.home, ".jetbrains", "acp.json")]


def acpx_config(machine: Machine) -> list[PurePath]:
    return [machine.path(machine.home, ".acpx", "config.json")]


def _settings_folder(machine: Machine) -> PurePath:
    if machine.platform == "win32":
        return machine.folder("APPDATA", "AppData", "Roaming")
    return machine.folder("XDG_CONFIG_HOME", ".config")
