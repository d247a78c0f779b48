"""Where files lie, for every system on any system."""

import pytest

from dragoman_local.known.places import Machine, acpx_config, jetbrains_acp, our_config, zed_settings
from tests.every import every

LINUX = Machine("linux", {}, "/home/ann")
MAC = Machine("darwin", {}, "/Users/ann")
WINDOWS = Machine("win32", {"APPDATA": r"C:\Users\ann\AppData\Roaming"}, r"C:\Users\ann")


@every(
    ("machine", "path"),
    [
        (LINUX, "/home/ann/.config/dragoman/config.toml"),
        (MAC, "/Users/ann/.config/dragoman/config.toml"),
        (WINDOWS, r"C:\Users\ann\AppData\Roaming\dragoman\config.toml"),
        (Machine("linux", {"XDG_CONFIG_HOME": "/etc/ann"}, "/home/ann"), "/etc/ann/dragoman/config.toml"),
        (
            Machine("linux", {"XDG_CONFIG_HOME": "here"}, "/home/ann"),
            "/home/ann/.config/dragoman/config.toml",
        ),
        (Machine("linux", {"XDG_CONFIG_HOME": ""}, "/home/ann"), "/home/ann/.config/dragoman/config.toml"),
    ],
)
def test_our_own_file(machine: Machine, path: str) -> None:
    assert str(our_config(machine)) == path


@pytest.mark.parametrize(
    ("machine", "path"),
    [
        (LINUX, "/home/ann/.config/zed/settings.json"),
        (MAC, "/Users/ann/.config/zed/settings.json"),
        (WINDOWS, r"C:\Users\ann\AppData\Roaming\Zed\settings.json"),
    ],
)
def test_zed(machine: Machine, path: str) -> None:
    assert str(zed_settings(machine)[0]) == path


@pytest.mark.parametrize("machine", [LINUX, MAC])
def test_the_others_keep_to_the_home_folder(machine: Machine) -> None:
    assert list(map(str, jetbrains_acp(machine))) == [f"{machine.home}/.jetbrains/acp.json"]
    assert list(map(str, acpx_config(machine))) == [f"{machine.home}/.acpx/config.json"]


def test_and_so_they_do_on_windows() -> None:
    assert str(jetbrains_acp(WINDOWS)[0]) == r"C:\Users\ann\.jetbrains\acp.json"
