"""`dragoman sandbox`: prints the boundary of a command's sandbox, and tests it from inside."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman_app.apps.console import say, say_json
from dragoman_local.sandbox.boundary import Profile, parse_profile
from dragoman_local.sandbox.wall import Wall, can_hold, hold_or_refuse

BROKEN = 3
"""The exit status if an attempt got through."""

_PROBES = """
import ctypes, json, os, socket, sys
context = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def write(folder):
    path = os.path.join(folder, ".dragoman-sandbox-%d" % os.getpid())
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    os.unlink(path)
def see(path):
    if os.path.isdir(path):
        names = os.listdir(path)
    else:
        names = open(path, "rb").read(1)
    if not names:
        raise OSError(2, "it is empty here")
probes = [("write to " + path, False, lambda path=path: write(path)) for path in context["writable"]]
probes += [("write to /tmp", False, lambda: write("/tmp"))]
probes += [("write to " + path, True, lambda path=path: write(path)) for path in context["outside"]]
probes += [("read " + path, True, lambda path=path: see(path)) for path in context["hidden"]]
probes += [
    ("signal a process outside", True, lambda: os.kill(context["pid"], 0)),
    ("trace a process", True, lambda: check(libc.ptrace(0, 0, 0, 0))),
    ("make a user namespace", True, lambda: check(libc.unshare(0x10000000))),
    ("mount a file system", True, lambda: check(libc.mount(b"x", b"/tmp", b"tmpfs", 0, None))),
    ("use io_uring", True, lambda: check(libc.syscall(425, 1, ctypes.create_string_buffer(120)))),
    ("read a keyring", True, lambda: check(libc.syscall(250, 0, -5, 0))),
    ("reach another kind of socket", True, lambda: socket.SocketType(40, socket.SOCK_STREAM)),
]
def ask_proxy():
    place = os.environ["HTTPS_PROXY"].rpartition("/")[2].split(":")
    with socket.create_connection((place[0], int(place[1])), 5) as proxy:
        proxy.sendall(b"CONNECT not-permitted.invalid:443 HTTP/1.1\\r\\n\\r\\n")
        answer = proxy.recv(100).decode()
    if " 200 " not in answer:
        raise OSError(13, answer.split(" ", 1)[1].split("\\r")[0])
if context["filtered"]:
    probes += [
        ("reach an address of the network", True, lambda: socket.create_connection(("192.0.2.1", 80), 2)),
        ("send a datagram", True, lambda: socket.SocketType(2, 2).sendto(b"x", ("192.0.2.1", 53))),
        ("look up a name", True, lambda: socket.getaddrinfo("example.invalid", 80)),
        ("reach a name that is not permitted", True, ask_proxy),
    ]
results = []
for name, is_refused, probe in probes:
    try:
        probe()
        why = ""
    except OSError as error:
        why = error.strerror or str(error)
    results.append({"attempt": name, "expected": "refused" if is_refused else "works", "refusal": why,
                    "holds": bool(why) is is_refused})
print(json.dumps(results))
"""
"""Runs in the sandbox, with the standard library alone."""


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt."""

    attempt: str
    expected: str
    refusal: str
    holds: bool


def run_show(args: argparse.Namespace) -> int:
    """Print the boundary without starting a command."""
    profile, reason = _profile(args)
    if profile == "off":
        if args.json:
            say_json({"boundary": {"profile": "off"}, "reason": "", "command": args.command})
        else:
            say("profile    off: no sandbox")
        return 0
    wall = Wall(profile, folders=_folders(args))
    try:
        if args.json:
            boundary = msgspec.to_builtins(wall.boundary)
            say_json({"boundary": boundary, "reason": reason, "command": args.command}, indent=2)
        else:
            say(wall.boundary.text())
            say(f"here       {'not supported: ' + reason if reason else 'supported'}")
    finally:
        wall.close()
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Test the boundary from inside, then run the command in it, if there is one."""
    profile, _ = _profile(args)
    if profile == "off":
        raise LocalMistake("the profile off has no sandbox to verify. Choose workspace or read-only")
    hold_or_refuse(profile)
    folders = _folders(args)
    wall = Wall(profile, folders=folders)
    try:
        results = _try_out(wall, folders[0])
        if args.json:
            say_json({"profile": profile, "results": msgspec.to_builtins(results)}, indent=2)
        else:
            for result in results:
                outcome = f"refused: {result.refusal}" if result.refusal else "works"
                say(f"{'ok    ' if result.holds else 'BROKEN'}  {result.attempt}: {outcome}")
        if not all(result.holds for result in results):
            return BROKEN
        return _run(wall, args.command, folders[0]) if args.command else 0
    finally:
        wall.close()


def _profile(args: argparse.Namespace) -> tuple[Profile, str]:
    profile = parse_profile(args.profile)
    return profile, can_hold(profile) or ""


def _folders(args: argparse.Namespace) -> list[str]:
    return [os.path.realpath(folder) for folder in (args.cwd or os.getcwd(), *args.add_dir)]


def _try_out(wall: Wall, folder: str) -> list[ProbeResult]:
    boundary = wall.boundary
    outside = ("/", "/etc", "/usr", os.path.expanduser("~"))
    context = {
        "writable": [place.path for place in boundary.writable if os.path.isdir(place.path)],
        "outside": [path for path in outside if all(place.path != path for place in boundary.writable)],
        "hidden": [path for path in boundary.hidden if os.access(path, os.R_OK)],
        "pid": os.getpid(),
        "filtered": boundary.network is not None,
    }
    words = [sys.executable, "-I", "-S", "-c", _PROBES, msgspec.json.encode(context).decode()]
    done = subprocess.run(wall.command_line(words), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LocalMistake(f"the attempts could not be made: {done.stderr.strip()}")
    return decode_json(done.stdout.encode(), list[ProbeResult])


def _run(wall: Wall, command: Sequence[str], folder: str) -> int:
    program = shutil.which(command[0])
    if program is None:
        raise LocalMistake(f"no program {command[0]!r} on PATH")
    words = wall.command_line([os.path.abspath(program), *command[1:]])
    status = subprocess.run(words, cwd=folder, check=False).returncode
    return status if status >= 0 else 128 - status
