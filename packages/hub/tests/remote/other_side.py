"""The other side of a test: a real sshd of our own on loopback, or a program that enters as docker does.

The server runs as the current user on a free port of 127.0.0.1, with keys and a configuration in a folder of
its own; what we bring along goes into a cache below that folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.sdk.remote_place import RemotePlace
from dragoman.testing.pace import patience
from dragoman_hub.remote.reach import RemoteAccess
from tests.ports import KeptPort

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin:/usr/bin")
SEPARATION = Path("/run/sshd")
"""Where sshd of the system's administrator locks its unprivileged part in; it must exist."""


def why_no_sshd() -> str:
    """Why no server can be started here; empty if one can."""
    if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "no sshd: install openssh-server and openssh-client"
    if os.getuid() == 0:
        try:
            SEPARATION.mkdir(mode=0o755, exist_ok=True)
        except OSError as error:
            return f"sshd cannot run: {error}"
    return ""


needs_sshd = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd())


class SshServer:
    """A server that runs from `start` to `stop`. `access()` reaches it, directly or through another port."""

    def __init__(self, folder: Path, *, cache: Path | None = None) -> None:
        self.folder = folder
        self._kept_port = KeptPort()
        self.port = self._kept_port.number
        self.cache = cache or folder / "cache-there"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        for name in ("host", "user"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(words, check=True)
        config = self.folder / "sshd_config"
        config.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            # A shell of ssh reads ~/.bashrc, which may do anything, unless it believes to be in another one.
            f"MaxStartups 100\nSetEnv XDG_CACHE_HOME={self.cache} SHLVL=2\n"
        )
        assert SSHD is not None
        with (self.folder / "sshd.log").open("wb") as log:
            self._process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log)
        ends = time.monotonic() + patience(10.0)
        while time.monotonic() < ends:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
                return
            except OSError:
                time.sleep(0.01)
        self.stop()
        raise AssertionError((self.folder / "sshd.log").read_text())

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def config(self, *, port: int | None = None) -> Path:
        """A configuration of ssh for the host `there`."""
        number = port or self.port
        key = (self.folder / "host.pub").read_text().split()
        (self.folder / f"known-{number}").write_text(f"[127.0.0.1]:{number} {key[0]} {key[1]}\n")
        path = self.folder / f"config-{number}"
        path.write_text(
            f"Host there\n HostName 127.0.0.1\n Port {number}\n IdentityFile {self.folder}/user\n"
            f" IdentitiesOnly yes\n UserKnownHostsFile {self.folder}/known-{number}\n"
            " GlobalKnownHostsFile none\n"
        )
        return path

    def access(self, *, port: int | None = None, shares: bool = False) -> RemoteAccess:
        return RemoteAccess(
            place=RemotePlace(kind="ssh", name="there"),
            ssh_config=str(self.config(port=port)),
            python=sys.executable,
            shares=shares,
        )


FAKE_DOCKER = """\
#!/bin/sh
# Enters a "container" as docker does, exec -i NAME COMMAND…: a process with a home and a cache of its own.
test "$1" = exec && test "$2" = -i || exit 125
test "$3" = box || echo "Error response from daemon: No such container: $3" >&2
test "$3" = box || exit 1
shift 3
exec env -i HOME={home} PATH={path} XDG_CACHE_HOME={cache} INSIDE=box "$@"
"""


def make_fake_docker(folder: Path, cache: Path, *, name: str = "docker") -> Path:
    """A folder for PATH whose `docker` enters the container `box`."""
    programs, home = folder / "bin", folder / "box"
    programs.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    program = programs / name
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program.write_text(FAKE_DOCKER.format(home=home, path=path, cache=cache))
    program.chmod(0o755)
    return programs
