"""Ways out of a workspace that agents, or those who whisper to them, may try. None may succeed.

Each attack is data: what is put on the disk beforehand, and the path that is then asked for. `{root}` is
the session's folder, `{outside}` one beside it with a secret in it, `{base}` the folder of both, `{fd}` the
number of a descriptor of ours that is open on the secret. Links are (where, target), relative to the root.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECRET = "the secret of the house\n"
METHODS = ("read", "range", "stat", "write")


@dataclass(frozen=True)
class Attack:
    name: str
    path: str
    links: tuple[tuple[str, str], ...] = ()
    fifo: str = ""
    sock: str = ""
    device: str = ""
    methods: tuple[str, ...] = METHODS
    """What must fail. A harmless name may be written, and a folder looked at."""


READING = ("read", "range", "stat")
OPENING = ("read", "range", "write")
TO_SECRET = "{outside}/secret.txt"


def _link(name: str, target: str, path: str = "{root}/link") -> Attack:
    return Attack(name, path, links=(("link", target),))


ATTACKS = (
    # Plainly elsewhere.
    Attack("an absolute path outside", TO_SECRET),
    Attack("a file of the system", "/etc/passwd"),
    Attack("a new file outside", "{outside}/new.txt"),
    Attack("the root's parent", "{base}"),
    Attack("the root of the system", "/"),
    Attack("a file in a parent folder", "{base}/AGENTS.md"),
    # Upwards.
    Attack("up and over", "{root}/../outside/secret.txt"),
    Attack("up from below", "{root}/sub/../../outside/secret.txt"),
    Attack("up with dots", "{root}/./.././outside/./secret.txt"),
    Attack("up with doubled slashes", "{root}//..//outside//secret.txt"),
    Attack("up through a missing folder", "{root}/none/../../outside/secret.txt"),
    Attack("up through two missing folders", "{root}/no/ne/../../../outside/new.txt"),
    Attack("up through a file", "{root}/file.txt/../../outside/secret.txt"),
    Attack("down again elsewhere", "{base}/outside/../root/../outside/secret.txt"),
    Attack("above everything", "/../../../..{outside}/secret.txt"),
    Attack("far above and back", "{root}/../../../../../../../../../../../..{outside}/secret.txt"),
    Attack("up after the secret's name", "{root}/../outside/sub/../secret.txt"),
    # Twins.
    Attack("a twin whose name goes on", "{root}c/secret.txt"),
    Attack("a twin with a suffix", "{root}-old/secret.txt"),
    Attack("a file that begins like the root", "{root}.txt"),
    Attack("a twin in capitals", "{base}/ROOT/secret.txt"),
    Attack("a link to a twin", "{root}/link/secret.txt", links=(("link", "{root}c"),)),
    # Not absolute.
    Attack("a relative path", "secret.txt"),
    Attack("a relative path upwards", "../outside/secret.txt"),
    Attack("a relative path with a dot", "./file.txt"),
    Attack("an empty path", ""),
    Attack("a home", "~/.ssh/id_rsa"),
    Attack("an address", "file://{outside}/secret.txt"),
    Attack("a path of Windows", "C:\\Windows\\win.ini"),
    Attack("a share", "\\\\server\\share\\secret.txt"),
    Attack("a space in front", " {outside}/secret.txt"),
    # Characters.
    Attack("NUL at the end", "{root}/file.txt\0"),
    Attack("NUL before the way out", "{root}/file.txt\0/../../outside/secret.txt"),
    Attack("NUL in front", "\0{outside}/secret.txt"),
    Attack("half a character", "{root}/\ud800"),
    Attack("percent signs", "{root}/%2e%2e/outside/secret.txt", methods=READING),
    Attack("wide dots", "{root}/．．/outside/secret.txt", methods=READING),
    Attack("backslashes", "{root}/..\\outside\\secret.txt", methods=READING),
    Attack("three dots", "{root}/.../outside/secret.txt", methods=READING),
    Attack("dots and a space", "{root}/.. /outside/secret.txt", methods=READING),
    # Sizes.
    Attack("a name of 256 characters", "{root}/" + "a" * 256),
    Attack("a name of 256 bytes", "{root}/" + "ü" * 128),
    Attack("a path of 5000 characters", "{root}/" + "a/" * 2500),
    Attack("a path of 300 names", "{root}/" + "a/" * 300 + "b"),
    # Links.
    _link("a link to the secret", TO_SECRET),
    _link("a relative link to the secret", "../outside/secret.txt"),
    _link("a link to the folder", "{outside}", "{root}/link/secret.txt"),
    _link("a relative link to the folder", "../outside", "{root}/link/secret.txt"),
    _link("a new file behind a link", "{outside}", "{root}/link/new.txt"),
    _link("a new folder behind a link", "{outside}", "{root}/link/new/new.txt"),
    _link("a link to the parent", "..", "{root}/link/outside/secret.txt"),
    _link("a link to everything", "/", "{root}/link{outside}/secret.txt"),
    _link("a link to here, and up", ".", "{root}/link/../outside/secret.txt"),
    _link("a link that goes down first", "sub/../../outside/secret.txt"),
    _link("a link with many slashes", "//{outside}//secret.txt"),
    _link("a link to the parent, from below", "sub/../..", "{root}/link/outside/secret.txt"),
    _link("a dangling link out", "{outside}/new.txt"),
    _link("a dangling relative link out", "../outside/new.txt"),
    _link("a dangling link to a folder out", "{outside}/new", "{root}/link/new.txt"),
    _link("a link to itself", "link"),
    _link("a link to itself, as a folder", "link", "{root}/link/file.txt"),
    Attack("two links in a circle", "{root}/one", links=(("one", "two"), ("two", "one"))),
    Attack("a chain of links", "{root}/one", links=(("one", "two"), ("two", "three"), ("three", TO_SECRET))),
    Attack(
        "a link in a folder, out by another",
        "{root}/sub/one",
        links=(("sub/one", "../two"), ("two", TO_SECRET)),
    ),
    Attack(
        "links that climb one by one",
        "{root}/sub/one/outside/secret.txt",
        links=(("sub/one", "../two"), ("two", "three/.."), ("three", ".")),
    ),
    Attack(
        "sixty links to a file inside",
        "{root}/l0",
        links=(*((f"l{n}", f"l{n + 1}") for n in range(60)), ("l60", "file.txt")),
    ),
    _link("a link to a secret's twin root", "{base}/root/../outside/secret.txt"),
    # Things that are no files.
    Attack("a FIFO", "{root}/pipe", fifo="pipe"),
    Attack("a link to a FIFO", "{root}/link", fifo="pipe", links=(("link", "pipe"),)),
    Attack("a file in a FIFO", "{root}/pipe/x", fifo="pipe"),
    Attack("a socket", "{root}/sock", sock="sock"),
    Attack("a device", "{root}/zero", device="zero"),
    _link("a link to a device", "/dev/zero"),
    _link("a link to standard input", "/dev/stdin"),
    _link("a link to the terminal", "/dev/tty"),
    Attack("a device by its own path", "/dev/zero"),
    # What the kernel makes up.
    Attack("our environment", "/proc/self/environ"),
    _link("a link to our environment", "/proc/self/environ"),
    _link("a link to our processes", "/proc/self", "{root}/link/environ"),
    _link("a magic link to everything", "/proc/self/root", "{root}/link{outside}/secret.txt"),
    _link("a magic link to an open file", "/proc/self/fd/{fd}"),
    _link("a magic link to open files", "/proc/self/fd", "{root}/link/{fd}"),
    Attack("a magic link by its own path", "/proc/self/fd/{fd}"),
    Attack("another way to an open file", "/dev/fd/{fd}"),
    Attack("the root through everything", "/proc/self/root{root}/file.txt"),
    # Folders where files are meant.
    Attack("a folder", "{root}/sub", methods=OPENING),
    Attack("the root itself", "{root}", methods=OPENING),
    Attack("the root with a slash", "{root}/", methods=OPENING),
    Attack("a folder and back", "{root}/sub/..", methods=OPENING),
    Attack("a file with a slash", "{root}/file.txt/"),
    Attack("a file with a dot", "{root}/file.txt/."),
    Attack("a file as a folder", "{root}/file.txt/below"),
)


@dataclass(frozen=True)
class Site:
    """A disk with a workspace on it, and what must not be touched beside it."""

    base: Path
    fd: int

    @property
    def root(self) -> Path:
        return self.base / "root"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def fill(self, text: str) -> str:
        names = {"root": self.root, "outside": self.outside, "base": self.base, "fd": self.fd}
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def elsewhere(self) -> dict[str, bytes | None]:
        """Everything beside the root."""
        return {
            str(path): path.read_bytes() if path.is_file() else None
            for path in sorted(self.base.rglob("*"))
            if self.root not in (path, *path.parents)
        }

    def inside(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}


@contextmanager
def site(base: Path) -> Iterator[Site]:
    base = base.resolve()
    for folder in ("root", "root/sub", "outside", "outside/sub", "rootc", "root-old", "ROOT"):
        (base / folder).mkdir()
    (base / "root/file.txt").write_text("inside\n")
    for name in ("outside", "rootc", "root-old", "ROOT"):
        (base / name / "secret.txt").write_text(SECRET)
    (base / "root.txt").write_text(SECRET)
    (base / "AGENTS.md").write_text(SECRET)
    fd = os.open(base / "outside/secret.txt", os.O_RDONLY)
    try:
        yield Site(base, fd)
    finally:
        os.close(fd)


@contextmanager
def prepared(place: Site, attack: Attack) -> Iterator[str]:
    """The path to ask for, with everything laid out for it."""
    for where, target in attack.links:
        (place.root / where).symlink_to(place.fill(target))
    if attack.fifo:
        os.mkfifo(place.root / attack.fifo)
    if attack.device:
        os.mknod(place.root / attack.device, 0o666 | 0o020000, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as listener:
        if attack.sock:
            _bind(listener, place.root / attack.sock)
        yield place.fill(attack.path)


def _bind(listener: socket.socket, path: Path) -> None:
    # The name of a socket may be no longer than a hundred bytes or so; a test's folder may be.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        listener.bind(path.name)
    finally:
        os.chdir(before)
