"""A person's machine on which each attempt of `breakouts` has something to win, and what came of it outside.

`python breakout_stage.py FOLDER ON` is the person: it makes a home folder with secrets, a workspace with
repositories, sockets, terminals, shared memory and servers, and says where they are. It reads the words that
stand before a command in the sandbox, runs `breakouts` behind them, then works in the repositories as people
do, and says which attempts got through.
"""

import contextlib
import ctypes
import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import breakouts  # type: ignore[import-not-found]  # beside this file, wherever it is run

BENIGN = "#!/bin/sh\nexit 0\n"
SCRIPTS = Path(__file__).parent
SHARED = (".npmrc", ".m2/settings.xml", ".nuget/NuGet/NuGet.Config")
"""Files with settings in which a secret may be."""
PRIVATE = (".some-new-tool/token", ".config/some-new-tool/login.json", ".another-tool")
"""What no list names; only the person may read it."""


def write(path: Path, text: str = "# intact\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def git(folder: Path, *words: str, check: bool = True) -> None:
    done = subprocess.run(("git", *words), cwd=folder, capture_output=True, check=False, timeout=20)
    assert not check or not done.returncode, done.stderr


class Person:
    """Everything that is outside, and the process that has it."""

    def __init__(self, base: Path, on: str) -> None:
        self.on = on
        self.home, self.out = base / "home", base / "out"
        self.work = self.home if on == breakouts.HOME else base / "work"
        self.linked = base / "linked"
        self.tag = f"dragoman-person-{os.getpid()}"
        self.token = f"secret-of-{self.tag}"
        self.names = breakouts.for_stage(on)
        for folder in (self.work / "folder", self.out, self.home / ".cache", self.linked):
            folder.mkdir(parents=True)
        os.environ.update(HOME=str(self.home), SECRET=self.token, GIT_AUTHOR_NAME="p", GIT_AUTHOR_EMAIL="p@x",
                          GIT_COMMITTER_NAME="p", GIT_COMMITTER_EMAIL="p@x")  # fmt: skip
        self.log = os.open(base / "log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self.log_path = base / "log"
        self.tmp = Path(tempfile.mkdtemp(prefix="dragoman-person-", dir="/tmp"))
        self.shm = Path(f"/dev/shm/{self.tag}")
        self.made: list[Path] = [self.tmp, self.shm, Path(f"{self.shm}-written")]

    def furnish(self) -> dict[str, object]:
        for name in self.names:
            place = self.out / breakouts.folder_of(name)
            (place / "folder").mkdir(parents=True)
            os.symlink("file", place / "link")
            os.chmod(write(place / "file"), 0o644)
            with contextlib.suppress(OSError):
                os.setxattr(place / "file", "user.kept", b"1")
        secret = write(self.out / "secret", self.token)
        for path in (*breakouts.SECRETS, *breakouts.STARTS):
            text = f"_authToken={self.token}\n<password>apikeys" if path in SHARED else self.token
            if path in breakouts.SECRETS or not path.startswith((".git-templates", ".local/bin")):
                write(self.home / path, text if path in breakouts.SECRETS else "# intact\n")
            if path in PRIVATE:
                os.chmod(self.home / path, 0o600)
        write(
            self.home / ".gitconfig",
            f"[init]\n templateDir = {self.home}/.git-templates\n"
            "[safe]\n directory = *\n[maintenance]\n auto = no\n",
        )
        write(self.home / ".config/git/config", "")
        for path in (*breakouts.SETTINGS, *breakouts.MOVED) if self.on != breakouts.HOME else ():
            write(self.work / path)
        git(self.work, "init", "-q", ".")
        git(self.work, "config", "core.hooksPath", ".husky/_")
        write(self.work / ".husky/_/pre-commit", BENIGN)
        write(self.tmp / "secret", self.token)
        write(self.tmp / "written")
        write(self.shm, self.token)
        write(Path(f"{self.shm}-written"))
        if self.on == breakouts.WORKSPACE:
            self.repositories()
        os.mkfifo(self.out / "pipe")
        self.apart = subprocess.Popen(("sleep", "infinity"), start_new_session=True)
        self.nice = os.getpriority(os.PRIO_PROCESS, self.apart.pid)
        self.memory = ctypes.create_string_buffer(self.token.encode(), 4096)
        self.scratch = ctypes.create_string_buffer(8192)
        held = os.open(secret, os.O_RDONLY)
        os.chdir(self.out)
        return {
            "on": self.on, "work": str(self.work), "out": str(self.out), "home": str(self.home),
            "tag": self.tag,
            "token": self.token, "pid": os.getpid(), "tmp": str(self.tmp), "shm": str(self.shm),
            "address": ctypes.addressof(self.memory), "scratch": ctypes.addressof(self.scratch) + 4096,
            "secret_fd": held, "log_fd": self.log, "disk": os.stat("/").st_dev,
            "alone": os.environ.get("ALONE") == "1",
            "address_of_machine": os.environ.get("ADDRESS", "127.0.0.1"),
            **self.sockets(), **self.queues(), **self.terminals(), **self.inherited(), **self.helpers(),
        }  # fmt: skip

    def repositories(self) -> None:
        template = self.work.parent / "template"
        template.mkdir()
        git(template, "init", "-q", "-b", "main", "--template=", ".")
        (template / ".git/hooks").mkdir()
        (template / ".git/info").mkdir(exist_ok=True)
        os.chmod(write(template / ".git/hooks/post-checkout", BENIGN), 0o755)
        os.chmod(write(template / ".githooks/pre-commit", BENIGN), 0o755)
        os.chmod(write(template / "linked-hooks/pre-commit", BENIGN), 0o755)
        write(template / "shared.gitconfig", "")
        for text in ("one", "two"):
            write(template / "tracked", text)
            git(template, "add", "-A")
            git(template, "commit", "-q", "-m", text)
        (template / ".git/modules").mkdir()
        (template / "sub").mkdir()
        git(template / "sub", "init", "-q", "--template=", "--separate-git-dir", "../.git/modules/sub", ".")
        (template / ".git/modules/sub/hooks").mkdir()
        write(template / "sub/.git", "gitdir: ../.git/modules/sub\n")
        git(template / "sub", "config", "core.worktree", "../../../sub")
        git(template / "sub", "commit", "-q", "--allow-empty", "-m", "one")
        with (template / ".git/config").open("a") as file:
            file.write(
                "[core]\n repositoryformatversion = 1\n[extensions]\n worktreeConfig = true\n"
                "[include]\n path = ../shared.gitconfig\n"
                '[includeIf "gitdir:**"]\n path = ../later.gitconfig\n'
            )
        script = 'from=$1; shift; for one; do cp -r "$from" "$one"; done'
        subprocess.run(["sh", "-c", script, "sh", template, *breakouts.GIT], cwd=self.work, check=True)
        for name in breakouts.GIT:
            here = self.work / name
            linked = self.linked / name
            write(linked / ".git", f"gitdir: {here}/.git/worktrees/linked\n")
            for part, text in (
                ("HEAD", "ref: refs/heads/linked\n"),
                ("commondir", "../..\n"),
                ("gitdir", f"{linked}/.git\n"),
            ):
                write(here / ".git/worktrees/linked" / part, text)
            if name == "git_missing_hooks":
                shutil.rmtree(here / ".git/hooks")
            if "folder_of_hooks" in name:
                git(here, "config", "core.hooksPath", ".githooks")
            if "hooks_that_are_a_link" in name:
                shutil.rmtree(here / ".git/hooks")
                os.symlink("../linked-hooks", here / ".git/hooks")
            if "rebase" in name:
                git(
                    here,
                    "-c",
                    "advice.detachedHead=false",
                    "rebase",
                    "-q",
                    "-x",
                    "false",
                    "HEAD~1",
                    check=False,
                )

    def sockets(self) -> dict[str, object]:
        run = Path("/run/dragoman-person")
        with contextlib.suppress(OSError):
            if os.environ.get("ALONE") == "1":
                run.mkdir(exist_ok=True, mode=0o777)
        places: dict[str, str] = {
            "abstract": f"\0{self.tag}", "socket_tmp": f"{self.tmp}/s", "socket_run": f"{run}/s",
            "socket_ssh": f"{self.home}/.ssh/agent.sock", "socket_gpg": f"{self.home}/.gnupg/S.gpg-agent",
            "socket_home": f"{self.home}/app.sock", "socket_out": f"{self.out}/peer.sock",
        }  # fmt: skip
        self.listeners: list[Any] = []
        for place in places.values():
            line = socket.socket(socket.AF_UNIX)
            with contextlib.suppress(OSError):
                line.bind(place)
                line.listen(64)
                self.listeners.append(line)
        datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagram.bind(f"\0{self.tag}-datagram")
        ports = []
        for _ in range(2):
            line = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=200)
            self.listeners.append(line)
            ports.append(line.getsockname()[1])
        udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        udp.bind(("::", 0))
        self.readers = [datagram, udp]
        with contextlib.suppress(OSError):  # a light datagram has a table of ports of its own
            light = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
            light.bind(("0.0.0.0", udp.getsockname()[1]))
            self.readers.append(light)
        return {
            **{name: place.replace("\0", "@") for name, place in places.items()},
            "datagram": f"@{self.tag}-datagram", "port": ports[0], "good": ports[1],
            "udp": udp.getsockname()[1],
        }  # fmt: skip

    def queues(self) -> dict[str, object]:
        key = 0x5D000000 | os.getpid() & 0xFFFFFF
        libc = breakouts.LIBC
        libc.shmat.restype = ctypes.c_void_p
        shm = breakouts.call(29, key, 4096, 0o1600)
        ctypes.memmove(libc.shmat(shm, None, 0), self.token.encode(), len(self.token))
        queue, semaphore = breakouts.call(68, key, 0o1600), breakouts.call(64, key, 1, 0o1600)
        self.system_v = [(31, shm, 0), (71, queue, 0), (66, semaphore, 0, 0)]
        with contextlib.suppress(OSError):
            breakouts.call(240, self.tag.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        with contextlib.suppress(OSError):
            breakouts.call(248, b"user", self.tag.encode(), self.token.encode(), len(self.token), -4)
        return {"shmid": shm, "key": key, "queue": self.tag}

    def terminals(self) -> dict[str, object]:
        os.setsid()
        self.master, self.terminal = pty.openpty()
        ioctl(self.terminal, termios.TIOCSCTTY, 0)
        self.other, slave = pty.openpty()
        return {"other_tty": os.ttyname(slave)}

    def helpers(self) -> dict[str, object]:
        self.group = subprocess.Popen(("sleep", "infinity"))
        return {"helper": self.group.pid}

    def inherited(self) -> dict[str, object]:
        self.socket_here, there = socket.socketpair()
        self.passed = [
            os.open(self.log_path, os.O_WRONLY | os.O_APPEND),
            os.open(self.out, os.O_RDONLY),
            there.detach(),
        ]
        return {
            "inherited_log": self.passed[0],
            "inherited_folder": self.passed[1],
            "inherited_socket": self.passed[2],
        }

    def says(self, text: str) -> None:
        os.write(self.log, text.encode(errors="replace") + b"\n")

    def listen(self, until: int) -> None:
        """Whatever arrives at any socket, terminal, pipe of the person is in the log."""
        pipe = os.open(self.out / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.open(self.out / "pipe", os.O_WRONLY)
        lines: list[Any] = [until, pipe, self.master, self.other, self.socket_here, *self.readers]
        talks: dict[Any, bytes] = {}
        while True:
            ready, _, _ = select.select([*lines, *self.listeners, *talks], [], [])
            for one in ready:
                if one in self.listeners:
                    talks[one.accept()[0]] = b""
                elif one in talks:
                    said = b""
                    with contextlib.suppress(OSError):
                        said = one.recv(65536)
                    talks[one] += said
                    if not said:
                        self.says(talks.pop(one).decode("latin-1"))
                        one.close()
                    elif said == b"give\n":
                        socket.send_fds(one, [b"here"], [os.open(self.out, os.O_RDONLY)])
                    else:
                        with contextlib.suppress(OSError):
                            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                elif one == until:
                    for said in talks.values():
                        self.says(said.decode("latin-1"))
                    return
                else:
                    said = os.read(one if isinstance(one, int) else one.fileno(), 65536)
                    self.says(said.decode("latin-1"))
                    if not said:
                        lines.remove(one)

    def snapshot(self) -> dict[str, object]:
        return {path: what for top in (self.out, self.home, self.tmp) for path, what in entries(top)} | {
            str(path): path.read_text() if path.is_file() and not path.is_symlink() else "another"
            for path in (
                *(
                    self.work / name
                    for name in (*breakouts.SETTINGS, *breakouts.MOVED)
                    if self.on != breakouts.HOME
                ),
                Path(f"{self.shm}-written"),
            )
        }

    def works_in_the_repositories(self) -> None:
        """As a person who comes back: nothing of this is in a sandbox."""
        if self.on != breakouts.WORKSPACE:
            return
        commit = ("commit", "-q", "--allow-empty", "-m", "x")  # it asks monitors of files, too
        for name in breakouts.GIT:
            here = self.work / name
            git(here, *commit, check=False)
            for folder, word in ((here / "sub", "submodule"), (self.linked / name, "elsewhere_gets")):
                if word in name and folder.is_dir():
                    git(folder, *commit, check=False)
        git(self.work / "git_a_changed_hook", "checkout", "-q", "-b", "y", check=False)
        git(self.work / "git_attributes_and_a_filter", "add", "-A", check=False)
        git(self.work / "git_a_rebase_that_the_person_goes_on_with", "rebase", "--continue", check=False)
        fresh = self.work.parent / "fresh"
        fresh.mkdir()
        git(fresh, "init", "-q", check=False)
        git(fresh, *commit, check=False)

    def run(self) -> dict[str, object]:
        stage = self.furnish()
        write(self.work / "stage.json", json.dumps(stage))
        print(json.dumps({"good": stage["good"], "work": str(self.work), "home": str(self.home)}), flush=True)
        command = json.loads(sys.stdin.readline())
        for name, number in breakouts.SIGNALS.items():
            signal.signal(number, lambda *_, name=name: self.says(f"signal {name}"))
        reader, writer = os.pipe()
        listener = threading.Thread(target=self.listen, args=(reader,), daemon=True)
        listener.start()
        before = self.snapshot()
        with (self.work.parent / "output").open("wb") as output:
            done = subprocess.run(
                [*command, sys.executable, shutil.copy(SCRIPTS / "breakouts.py", self.work),
                 str(self.work / "stage.json")],
                cwd=self.work, stdin=self.terminal, stdout=output, stderr=output, pass_fds=self.passed,
                check=False,
            )  # fmt: skip
        left = list(self.left_behind())
        os.set_blocking(self.terminal, False)
        with contextlib.suppress(OSError):
            while typed := os.read(self.terminal, 4096):
                self.says(typed.decode())
        self.works_in_the_repositories()
        os.write(writer, b"!")
        listener.join()
        after = self.snapshot()
        told = json.loads((self.work / "told.json").read_text()) if (self.work / "told.json").exists() else {}
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        heard = self.log_path.read_text(errors="replace")
        nice = {"renice_the_group": os.getpriority(os.PRIO_PROCESS, self.group.pid) == 19,
                "renice_whatever_the_user_runs": os.getpriority(os.PRIO_PROCESS, self.apart.pid) != self.nice,
                "lower_the_group_in_the_queue_of_the_disk":
                    breakouts.call(252, 1, self.group.pid) == (2 << 13 | 6)}  # fmt: skip
        for child in (self.group, self.apart):
            child.kill()
            child.wait()
        through = {}
        for name in self.names:
            watched = tuple(self.watched(name))
            place = f"{self.out}/{breakouts.folder_of(name)}"
            if touched := [path for path in changed if path.startswith(watched) or path == place]:
                through[name] = f"changed {touched[0]}"
            elif (
                name in heard
                or name.replace("_", "-") in heard
                or nice.get(name)
                or f"-outlives-{name}" in left
            ):
                through[name] = "seen outside"
            elif "through" in told.get(name, ()):
                through[name] = told[name]["through"]
            changed = [path for path in changed if not path.startswith(watched)]
        own = {str(self.work / name) for name in ("stage.json", "told.json", "breakouts.py")} | {
            str(self.out / "pipe")
        }
        strangers = [path for path in changed if path not in own and not Path(path).is_dir()]
        strangers = [path for path in strangers if "-made-inside-" not in path]
        return {
            "through": through, "told": told, "strangers": strangers, "status": done.returncode,
            "output": (self.work.parent / "output").read_text(errors="replace")[-2000:],
        }  # fmt: skip

    def watched(self, name: str) -> Iterator[str]:
        yield f"{self.out}/{breakouts.folder_of(name)}/"
        how, _, path = name.rpartition(" ")
        if path.startswith("~/"):
            yield str(self.home / path[2:])
        elif how in ("write", "replace", "move away"):
            yield str(self.work / path)
        elsewhere = {
            "a_new_name_beside_the_workspace": f"{self.work.parent}/a-sibling",
            "write_to_shared_memory": f"{self.shm}-written",
            "write_to_a_file_in_tmp": f"{self.tmp}/written",
            "make_a_name_in_tmp_that_others_will_use": f"{self.tmp}/new",
            "git_templates_of_the_person": f"{self.home}/.git-templates/hooks",
        }
        if name in elsewhere:
            yield elsewhere[name]

    def left_behind(self) -> Iterator[str]:
        """Processes of attempts that are still there, which are ended."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if len(words) > 2 and f"{self.tag}-outlives-".encode() in words[2]:
                    yield words[2].decode().partition(f"{self.tag}")[2].partition(";")[0]
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def leave(self) -> None:
        for number in getattr(self, "system_v", ()):
            with contextlib.suppress(OSError):
                breakouts.call(*number)
        with contextlib.suppress(OSError):
            breakouts.call(241, self.tag.encode())
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)


def entries(top: Path) -> Iterator[tuple[str, object]]:
    for folder, names, files in os.walk(top):
        for name in (*names, *files, ""):
            path = os.path.join(folder, name) if name else folder
            with contextlib.suppress(OSError):
                seen = os.lstat(path)
                yield (
                    path,
                    (
                        seen.st_mode,
                        seen.st_uid,
                        seen.st_gid,
                        seen.st_size,
                        seen.st_mtime_ns,
                        seen.st_ctime_ns,
                    ),
                )


def main() -> None:
    person = Person(Path(sys.argv[1]), sys.argv[2])
    try:
        print(json.dumps(person.run()), flush=True)
    finally:
        person.leave()


if __name__ == "__main__":
    main()
