"""A machine of its own for the person of `breakout_stage`: with its own processes, network, names and memory.

What an attempt does without a sandbox then happens to nobody else. An ordinary user has no such machine, and
those attempts that would reach others are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path
from typing import Any

from dragoman_local.sandbox.plan import boundary_for
from dragoman_local.sandbox.wall import confined
from tests.boxes import ROOT
from tests.sandbox import breakouts
from tests.sandbox.stage import python_for

PROGRAMS = [Path(__file__).with_name(name) for name in ("breakout_stage.py", "breakouts.py")]
NAMESPACES = (
    0x20000 | 0x20000000 | 0x8000000 | 0x4000000 | 0x40000000
)  # mounts, processes, IPC, names, network
PLACES = ("/srv", "/mnt", "/opt", "/media")
SECONDS = 100


def person(uid: int, on: str, profile: str) -> dict[str, Any]:
    """What came of the attempts for this stage, in the sandbox of this profile, as this user. `PORT` in
    it is the port of the server that a filtered network permits.
    """
    if os.getuid():
        with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="breakouts-") as folder:
            return _tried(Path(folder), uid, on, profile)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            _enter(writer, uid, on, profile)
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(told)
    return found


def _enter(writer: int, uid: int, on: str, profile: str) -> None:
    breakouts.call(272, NAMESPACES)
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        os._exit(0)
    breakouts.call(165, b"", b"/", b"", 0x4000 | 1 << 18, 0)
    _mount("proc", "/proc")
    base = Path(next(filter(os.path.isdir, PLACES)))
    for place in ("/run", "/dev/shm", str(base)):
        _mount("tmpfs", place)
    hosts = base / "hosts"
    hosts.write_text("127.0.0.1 localhost allowed.dragoman.test\n::1 localhost\n")
    breakouts.call(165, str(hosts).encode(), b"/etc/hosts", b"", 0x1000, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        ioctl(line, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
    words = ("ip", "address", "add", "10.77.0.1/32", "dev", "lo")
    subprocess.run(words, check=False, capture_output=True)
    os.environ.update(ALONE="1", ADDRESS="10.77.0.1")
    (base / "person").mkdir()
    os.chown(base / "person", uid, uid)
    os.write(writer, json.dumps(_tried(base / "person", uid, on, profile)).encode())
    os._exit(0)


def _mount(kind: str, place: str) -> None:
    options = b"mode=1777" if place == "/dev/shm" else b"mode=755" if kind == "tmpfs" else b""
    breakouts.call(165, kind.encode(), place.encode(), kind.encode(), 0, options)


def _tried(base: Path, uid: int, on: str, profile: str) -> dict[str, Any]:
    python = python_for(uid) if uid != os.getuid() else sys.executable
    for program in PROGRAMS:
        shutil.copy(program, base)
    words = [python, "-I", "-S", "-B", str(base / "breakout_stage.py"), str(base), on]
    who: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": []} if uid != os.getuid() else {}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **who) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            stage = json.loads(process.stdout.readline())
            command = _wall(stage, python, uid, profile.replace("PORT", str(stage["good"])))
            told, _ = process.communicate(json.dumps(command) + "\n", timeout=SECONDS)
        finally:
            process.kill()
    found: dict[str, Any] = json.loads(told)
    return found


def _wall(stage: dict[str, Any], python: str, uid: int, profile: str) -> Sequence[str]:
    """What stands before a command; the plan of a user is made by that user."""
    if profile == "off":
        return ()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            if uid != os.getuid():
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            environ = {
                "HOME": stage["home"],
                "PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}:{ROOT}/packages/local/src",
            }
            words = confined(["-"], boundary_for(profile, [stage["work"]], environ=environ))
            os.write(writer, json.dumps([python, *words[1:-1]]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        made: list[str] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return made
