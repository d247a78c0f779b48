"""Our first program on a remote machine: unpacks the archive of our code and starts the rest.

It is sent as source over the connection and needs nothing but Python 3.11 and its standard library. It reads
one order (a line of JSON), says what it needs, and answers with lines of JSON: `need` asks for the archive,
`progress` says what takes long, `error` with `next` says why it cannot go on. Then the process becomes
`dragoman_hub.remote.attach`, out of the folder that was made.

The archive is compared with its SHA-256 before anything of it is written; its folder appears under its name
when it is whole, and is used only if it is this user's and nobody else can write to it.

What is only needed to unpack is imported there: once the folder is made, each start is waited for.
"""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

if TYPE_CHECKING:
    import zipfile

PIP_SECONDS = 300.0
"""The seconds for installing a compiled package over a slow network."""

PATHS = "paths.json"
"""The file with the module path. It is written last, and shows that the archive is complete."""


def say(**members: object) -> None:
    """Write one line of JSON to the other side."""
    data = json.dumps(members).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def fail(reason: str, next_step: str) -> NoReturn:
    """Report why it is impossible, and exit."""
    say(error=reason, next=next_step)
    sys.exit(3)


def base_folder() -> Path:
    """The folder for all of Dragoman's files on this machine."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "dragoman" / "remote"


def check_owner(folder: Path) -> None:
    """Refuse to run files that other users can write to."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        fail(
            f"other users can change {folder} there, so Dragoman does not run it",
            f"remove it, or `chmod go-w {folder}` if it is yours",
        )


def receive(stdin: BinaryIO, size: int) -> bytes:
    """Receive exactly this many bytes."""
    data = bytearray()
    while len(data) < size:
        chunk = stdin.read(min(size - len(data), 1 << 20))
        if not chunk:
            sys.exit(4)  # whoever sent it is gone
        data += chunk
    return bytes(data)


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def open_zip(data: bytes) -> zipfile.ZipFile:
    import zipfile

    return zipfile.ZipFile(io.BytesIO(data))


def remove_folder(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def python_version() -> str:
    return "{}.{}.{}".format(*sys.version_info)


def system_name() -> str:
    import sysconfig

    return sysconfig.get_platform()


def unpack(data: bytes, folder: Path) -> None:
    """Create the folder of the archive completely or not at all."""
    import tempfile

    draft = Path(tempfile.mkdtemp(prefix=".unpack-", dir=folder.parent))
    try:
        with open_zip(data) as archive:
            contents = json.loads(archive.read("contents.json"))
            for wheel in contents["wheels"]:
                if not wheel["suffix"] or is_loadable(wheel):
                    extract(archive.read(f"wheels/{wheel['name']}"), wheel, draft / "lib")
        paths = ["lib"]
        if not imports_msgspec([str(draft / "lib")]):
            paths.append(find_msgspec(draft, folder, contents))
        (draft / PATHS).write_text(json.dumps({"paths": paths}))
        try:
            draft.rename(folder)
        except OSError:
            if not (folder / PATHS).is_file():  # else another process was faster, and has made the same
                raise
    finally:
        remove_folder(draft)


def is_loadable(wheel: dict[str, str]) -> bool:
    """Whether this interpreter can load the compiled parts of a wheel."""
    suffix, machine = EXTENSION_SUFFIXES[0], os.uname().machine.lower()
    return wheel["suffix"] == suffix and wheel["machine"] in ("", machine)


def extract(data: bytes, wheel: dict[str, str], target: Path) -> None:
    """Unpack one wheel, after checking its hash."""
    digest = sha256(data)
    if digest != wheel["sha256"]:
        fail(f"{wheel['name']} arrived with SHA-256 {digest}, not {wheel['sha256']}", "try again")
    with open_zip(data) as content:
        content.extractall(target)  # zipfile keeps every name below the folder


def imports_msgspec(paths: list[str]) -> bool:
    """Whether these folders contain msgspec in a form that this interpreter can load."""
    import subprocess

    code = "import sys; sys.path[:0] = sys.argv[1:]; import msgspec.json"
    return subprocess.run([sys.executable, "-Ic", code, *paths], capture_output=True).returncode == 0


def find_msgspec(draft: Path, folder: Path, contents: dict[str, Any]) -> str:
    """Find another msgspec, because the bundled one is compiled for another Python: an installed one,
    otherwise one from an index, in our own environment.
    """
    import subprocess

    code = "import os, msgspec.json; print(os.path.dirname(msgspec.__path__[0]))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    place = result.stdout.strip()
    if result.returncode == 0 and place:
        return place
    say(progress="msgspec is installed on the other machine, because its Python or system differs")
    venv, requirement = draft / "venv", contents.get("msgspec", "msgspec>=0.19")
    try:
        subprocess.run(
            [sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True, timeout=120
        )
        pip = [str(venv / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, requirement], check=True, capture_output=True, timeout=PIP_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        words = getattr(error, "stderr", b"") or str(error).encode()
        last = (words.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
        fail(
            f"the other machine has Python {python_version()} on {system_name()}; "
            f"Dragoman has no msgspec for that, and can't install it there: {last}",
            f"`{sys.executable} -m pip install --user '{requirement}'` on the other machine (Debian "
            "also needs python3-venv), or copy a released dragoman.pyz there with --pyz FILE",
        )
    # Environments cannot be moved: only its packages are used, and they can.
    packages = next((venv / "lib").glob("python*/site-packages"))
    return str(folder / packages.relative_to(draft))


def prepare(order: dict[str, Any], stdin: BinaryIO) -> Path:
    """Return the folder of this archive, and create it if necessary."""
    base = base_folder()
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    check_owner(base)
    # Each Python has its own: what is compiled for one, another cannot load.
    folder = base / f"{order['folder']}-{sys.implementation.cache_tag}"
    if not (folder / PATHS).is_file():
        make_folder(folder, order, stdin)
    check_owner(folder)
    return folder


def make_folder(folder: Path, order: dict[str, Any], stdin: BinaryIO) -> None:
    """Request the archive, and unpack it if it is the expected one."""
    say(need=True)
    data = receive(stdin, order["size"])
    digest = sha256(data)
    if digest != order["sha256"]:
        fail(f"what arrived has SHA-256 {digest}, not {order['sha256']}", "try again")
    remove_folder(folder)  # one without `paths.json` is a half of something
    unpack(data, folder)


def remove_all() -> None:
    """Remove all of Dragoman's files."""
    remove_folder(base_folder())
    say(removed=str(base_folder()))


def describe() -> None:
    """List what we have stored here: folders with their sizes, and agents whose host listens."""
    base = base_folder()
    folders = [
        {"name": path.parent.name, "bytes": sum(file.lstat().st_size for file in path.parent.rglob("*"))}
        for path in sorted(base.glob(f"*/{PATHS}"))
    ]
    agents = [path.stem for path in sorted((base / "run").glob("*.sock"))]
    say(
        base=str(base),
        python=python_version(),
        platform=system_name(),
        folders=folders,
        agents=agents,
    )


def main(stdin: BinaryIO) -> None:
    """Run one order."""
    order = json.loads(stdin.readline())
    is_removal = order["act"] == "remove"
    if order["act"] == "status":
        describe()
    elif is_removal and not any((base_folder() / "run").glob("*.sock")):
        remove_all()
    else:
        hand_over(order, stdin, is_removal=is_removal)


def hand_over(order: dict[str, Any], stdin: BinaryIO, *, is_removal: bool) -> None:
    """Continue as the bundled package."""
    try:
        folder = prepare(order, stdin)
        layout = json.loads((folder / PATHS).read_text())
    except OSError as error:
        fail(f"{base_folder()} there cannot be used: {error}", "make room there, or set XDG_CACHE_HOME there")
    paths = [str(folder / path) for path in layout["paths"]]
    if "PYTHONPATH" in os.environ:
        os.environ["DRAGOMAN_AGENT_PYTHONPATH"] = os.environ["PYTHONPATH"]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # for processes of ours; the agent gets the former one
    sys.path[:0] = paths
    from dragoman_hub.remote import attach  # out of the folder: nothing of ours was here before

    if is_removal:
        attach.end_all(base_folder() / "run")
        remove_all()
    else:
        attach.main(order, stdin, run=base_folder() / "run")


if __name__ == "__main__":
    # Unbuffered: what follows belongs to whoever reads next.
    with open(0, "rb", 0, closefd=False) as standard_input:
        main(standard_input)
