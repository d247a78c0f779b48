"""How to reach a remote machine: the command lines of `ssh`, `docker` or `podman`.

The remote command is always the same words; everything else goes through standard input, so that nothing has
to be quoted for a shell that we do not know, and nothing secret stands on a command line. No agent, no
display, no port and no variable is forwarded, whatever the user's configuration of ssh says; how hosts are
checked is that configuration's alone. Without a terminal ssh asks nobody anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.remote_place import CLIENT_VARIABLES, RemotePlace
from dragoman.system.folders import user_folder

START = "exec(open(0,'rb',0,closefd=False).readline())"
"""The whole command line on the other side: run the first program from the input. Any shell leaves it
unchanged.
"""

CHOOSE_PYTHON = f"""
import json, os, shutil, sys
if sys.version_info >= (3, 11):
    exec(open(0, "rb", 0, closefd=False).readline())
else:
    for minor in range(20, 10, -1):
        path = shutil.which("python3.%d" % minor)
        if path:
            os.execv(path, [path, "-Ic", {START!r}])
    reason = "the other machine has Python %d.%d, but Dragoman needs 3.11 or later" % sys.version_info[:2]
    next_step = "install python3.11 or later there, or name one with --python"
    print(json.dumps({{"error": reason, "next": next_step}}))
"""
"""Runs first, on any Python 3: searches for one that is new enough, which continues from there."""

WARM_SECONDS = 300
"""The seconds for which a connection stays open for the next one that shares it."""

LONGEST_SOCKET = 80
"""The most bytes of a path to which ssh can add a name and still have a valid socket address."""

ALIVE_SECONDS, ALIVE_COUNT = 5, 3
"""The seconds and the number of checks without data after which a connection counts as broken."""


class RemoteAccess(Struct, frozen=True, kw_only=True):
    """A place, and how this user reaches it."""

    place: RemotePlace
    ssh_config: str = ""
    """A configuration of ssh, if not the user's own."""
    python: str = "python3"
    """The Python program on the other side."""
    shares: bool = True
    """Whether connections of ssh are shared, so that the second one is fast."""

    def words(self, *, shares: bool = True) -> list[str]:
        """Return the command that runs Dragoman's first program there. Raises `LocalMistake` if there is no
        client.
        """
        if self.place.kind != "ssh":
            command = [self.python, "-Ic", START]
            return [self._client(self.place.kind), "exec", "-i", self.place.name, *command]
        return [*self._ssh(shares=shares), "-o", "BatchMode=yes", "--", self.place.name, self._shell_line()]

    def _shell_line(self) -> str:
        return f'{self.python} -Ic "{START}"'

    def _client(self, name: str) -> str:
        path = shutil.which(name)
        if path is None:
            raise LocalMistake(
                f"{name} is not installed here, but is needed to reach {self.place}. Install it"
            )
        return path

    def _ssh(self, *, shares: bool) -> list[str]:
        words = [self._client("ssh"), "-T", "-a", "-x"]
        if self.ssh_config:
            words += ["-F", self.ssh_config]
        folder = sharing_folder() if shares and self.shares else None
        options = {
            "ClearAllForwardings": "yes",
            "ForwardAgent": "no",
            "PermitLocalCommand": "no",
            "RequestTTY": "no",
            "ConnectTimeout": "10",
            "ServerAliveInterval": str(ALIVE_SECONDS),
            "ServerAliveCountMax": str(ALIVE_COUNT),
            "ControlMaster": "no" if folder is None else "auto",
            "ControlPath": "none" if folder is None else f"{folder}/%C",
            "ControlPersist": "no" if folder is None else str(WARM_SECONDS),
        }
        return [*words, *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]

    def log_in(self) -> bool:
        """Open a connection for later ones to share, in the foreground: ssh may ask for a password or about a
        host at this terminal. False if it failed; ssh has shown the reason.
        """
        if self.place.kind != "ssh" or not self.shares or sharing_folder() is None:
            return True
        ssh = self._ssh(shares=True)
        check = [*ssh, "-O", "check", "--", self.place.name]
        quiet = subprocess.DEVNULL
        if (
            subprocess.run(check, env=self.environment(), stdout=quiet, stderr=quiet, stdin=quiet).returncode
            == 0
        ):
            return True
        words = [*ssh, "-o", "ControlMaster=yes", "-N", "-f", "--", self.place.name]
        return subprocess.run(words, env=self.environment(), stdin=quiet).returncode == 0

    def hang_up(self) -> None:
        """Close the shared connection, if there is one."""
        if self.place.kind == "ssh" and self.shares and sharing_folder() is not None:
            words = [*self._ssh(shares=True), "-O", "exit", "--", self.place.name]
            quiet = subprocess.DEVNULL
            subprocess.run(words, env=self.environment(), stdout=quiet, stderr=quiet, stdin=quiet)

    def environment(self) -> Mapping[str, str]:
        """Return the environment of the client program. Language settings are left out: many configurations
        of ssh send them.
        """
        env = agent_environment(allow=CLIENT_VARIABLES)
        return {
            name: value
            for name, value in env.items()
            if name not in ("LANG", "LANGUAGE") and not name.startswith("LC_")
        }


def sharing_folder() -> Path | None:
    """Return the private folder of shared connections; None if its path is too long for a socket."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime) / "dragoman-ssh" if os.path.isabs(runtime) else user_folder("cache") / "ssh"
    if len(os.fsencode(folder)) > LONGEST_SOCKET - 41:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    return folder if status.st_uid == os.getuid() and not status.st_mode & 0o077 else None
