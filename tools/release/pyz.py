"""Makes `dragoman.pyz`: one file for hosts that have Python and no pip.

    PYTHONPATH=tools python -m release.pyz --lock    # looks up msgspec's wheels anew

Inside are our wheels and msgspec's wheels for each Python and system below, as they were published; which
ones, and their hashes, is in `pyz-wheels.json`. `pyz_main.py` unpacks those that fit. The same wheels make
the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LOCK = HERE / "pyz-wheels.json"
MSGSPEC = "msgspec==0.22.0"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS: dict[str, tuple[str, ...]] = {
    "Linux x86_64": ("manylinux_2_28_x86_64", "manylinux2014_x86_64"),
    "Linux aarch64": ("manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "Linux x86_64 with musl": ("musllinux_1_2_x86_64",),
    "Linux aarch64 with musl": ("musllinux_1_2_aarch64",),
    "macOS arm64": ("macosx_11_0_arm64",),
    "macOS x86_64": ("macosx_10_15_x86_64", "macosx_10_13_x86_64", "macosx_10_9_x86_64"),
}


class PlatformWheel(NamedTuple):
    """A wheel, and what an interpreter must say of itself to load what is compiled in it."""

    name: str
    data: bytes
    suffix: str = ""
    machine: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def main(arguments: list[str]) -> None:
    if arguments != ["--lock"]:
        sys.exit("usage: PYTHONPATH=tools python -m release.pyz --lock")
    with tempfile.TemporaryDirectory() as folder:
        for python in PYTHONS:
            for tags in SYSTEMS.values():
                download(MSGSPEC, python, tags, Path(folder))
        wheels = sorted(Path(folder).glob("*.whl"))
        hashes = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
    LOCK.write_text(json.dumps(hashes, indent=2) + "\n", "utf-8")


def download(requirement: str, python: str, tags: tuple[str, ...], folder: Path) -> None:
    """Fetch the wheel for one Python and one system with pip, from wherever pip gets its packages."""
    systems = [word for tag in tags for word in ("--platform", tag)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", python, *systems, "--dest", str(folder), requirement]
    subprocess.run(command, check=True, timeout=120, stderr=subprocess.DEVNULL)


def locked_wheels(folder: Path) -> list[PlatformWheel]:
    """msgspec's wheels as the lock names them; what is not in the folder yet is fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    hashes: dict[str, str] = json.loads(LOCK.read_text("utf-8"))
    wheels = []
    for name, digest in sorted(hashes.items()):
        distribution, version, tag, _, systems = name.removesuffix(".whl").split("-")
        if not (folder / name).is_file():
            python = f"{tag[2]}.{tag[3:]}"
            download(f"{distribution}=={version}", python, tuple(systems.split(".")), folder)
        wheel = describe_wheel(name, (folder / name).read_bytes())
        if wheel.digest != digest:
            sys.exit(
                f"{folder / name} has SHA-256 {wheel.digest}, the lock says {digest}: remove it and try again"
            )
        wheels.append(wheel)
    return wheels


def describe_wheel(name: str, data: bytes) -> PlatformWheel:
    """Read from a wheel which interpreter can load its compiled part."""
    with zipfile.ZipFile(io.BytesIO(data)) as content:
        compiled = [Path(member).name for member in content.namelist() if member.endswith(".so")]
    if not compiled:
        return PlatformWheel(name, data)
    suffix = "." + compiled[0].split(".", 1)[1]
    # macOS has the same suffix for both machines.
    machine = name.removesuffix(".whl").rsplit("_", 1)[-1] if "darwin" in suffix else ""
    return PlatformWheel(name, data, suffix, "x86_64" if machine == "64" else machine)


def write_pyz(target: Path, wheels: list[PlatformWheel], *, epoch: int) -> None:
    """Write the archive, with a line that lets it be started like a program."""
    contents = {
        "systems": f"Python {', '.join(PYTHONS)} on {', '.join(SYSTEMS)}",
        "wheels": [
            {"name": wheel.name, "sha256": wheel.digest, "suffix": wheel.suffix, "machine": wheel.machine}
            for wheel in wheels
        ],
    }
    members = {
        "__main__.py": (HERE / "pyz_main.py").read_bytes(),
        "contents.json": json.dumps(contents, indent=1).encode(),
        **{f"wheels/{wheel.name}": wheel.data for wheel in wheels},
    }
    date = time.gmtime(max(epoch, 315_532_800))[:6]  # a zip cannot say anything before 1980
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)  # stored: wheels are compressed already
    target.write_bytes(b"#!/usr/bin/env python3\n" + content.getvalue())
    target.chmod(0o755)


if __name__ == "__main__":
    main(sys.argv[1:])
