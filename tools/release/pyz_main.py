"""The start of `dragoman.pyz`: unpacks itself once into this user's cache, and runs from there.

The file holds wheels: ours, and msgspec for each interpreter and system that the release knows. msgspec is
compiled, and what is compiled cannot be loaded out of an archive, so that the first start unpacks the wheels
that fit into a folder that is laid out like a virtual environment. Every wheel is compared with its SHA-256
before anything of it is written. The folder appears under its name when it is whole, and is used only if it
is this user's and nobody else can write to it.

This runs before anything is installed: the standard library alone, on any Python that can read it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import stat
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NoReturn

CONTENTS = "contents.json"
LEAST = (3, 11)
PROGRAM = "#!{python}\nimport sys\n\nfrom dragoman_app.cli import main\n\nsys.exit(main())\n"


def fail(reason: str) -> NoReturn:
    """End as every command of ours does that cannot be run as it was asked to."""
    sys.stderr.write(f"dragoman.pyz: {reason}\n")
    sys.exit(2)


def choose_wheels(contents: dict[str, Any]) -> list[dict[str, str]]:
    """The wheels for this interpreter: ours, and the one whose compiled part it can load."""
    suffix, machine = sysconfig.get_config_var("EXT_SUFFIX"), platform.machine().lower()
    chosen = [
        wheel
        for wheel in contents["wheels"]
        if not wheel["suffix"] or (wheel["suffix"] == suffix and wheel["machine"] in ("", machine))
    ]
    if not any(wheel["suffix"] for wheel in chosen):
        fail(
            f"there is no msgspec in it for Python {platform.python_version()} on {sysconfig.get_platform()} "
            f"({suffix}). It is built for: {contents['systems']}. With pip: pip install dragoman"
        )
    return chosen


def cache_folder() -> Path:
    """Where unpacked versions lie."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "dragoman" / "pyz"


def folder_name(contents: bytes, interpreter: str) -> str:
    """Another build and another interpreter have another folder."""
    digest = hashlib.sha256(contents + b"\0" + os.fsencode(interpreter)).hexdigest()
    return f"{sys.version_info[0]}.{sys.version_info[1]}-{digest[:24]}"


def check_owner(folder: Path) -> None:
    """What others can write to is not run."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        fail(
            f"{folder} is not yours alone, and is not run: remove it, or set XDG_CACHE_HOME to another folder"
        )


def unpack(archive: zipfile.ZipFile, wheels: list[dict[str, str]], folder: Path, interpreter: str) -> None:
    """Make the folder, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(prefix=".unpack-", dir=folder.parent))
    try:
        packages = made / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        packages.mkdir(parents=True)
        for wheel in wheels:
            extract(archive.read(f"wheels/{wheel['name']}"), wheel, packages)
        write_environment(made, folder, interpreter)
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster, and has made the same
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def extract(data: bytes, wheel: dict[str, str], packages: Path) -> None:
    """Unpack one wheel, if it is the one that was built."""
    digest = hashlib.sha256(data).hexdigest()
    if digest != wheel["sha256"]:
        fail(f"{wheel['name']} in it has SHA-256 {digest}, not {wheel['sha256']}: the file is damaged")
    with zipfile.ZipFile(io.BytesIO(data)) as content:
        content.extractall(packages)  # zipfile keeps every name below the folder


def write_environment(made: Path, folder: Path, interpreter: str) -> None:
    """What makes the folder an environment: `python -m dragoman` then works in it, also for our children."""
    programs = made / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(interpreter)
    home = os.path.dirname(interpreter)
    (made / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n", "utf-8")
    (programs / "dragoman").write_text(PROGRAM.format(python=folder / "bin/python"), "utf-8")
    (programs / "dragoman").chmod(0o755)


def prepare(file: str) -> Path:
    """The folder of this archive and this interpreter, unpacked now if it was not before."""
    interpreter = os.path.realpath(sys.executable)
    with zipfile.ZipFile(file) as archive:
        raw = archive.read(CONTENTS)
        folder = cache_folder() / folder_name(raw, interpreter)
        if not folder.is_dir():
            unpack(archive, choose_wheels(json.loads(raw)), folder, interpreter)
    check_owner(folder)
    return folder


def main() -> None:
    """Run what was asked for, in the place of this process."""
    if sys.version_info[:2] < LEAST:
        fail(f"Python {LEAST[0]}.{LEAST[1]} or later is needed, this is {platform.python_version()}")
    if os.name != "posix":
        fail("it runs on Linux and macOS. With pip: pip install dragoman")
    try:
        folder = prepare(sys.argv[0])
    except OSError as error:
        fail(f"it cannot be unpacked into {cache_folder()}: {error}. XDG_CACHE_HOME chooses another folder")
    python, program = folder / "bin/python", folder / "bin/dragoman"
    os.execv(python, [str(python), str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
