"""`dragoman run` with a faulty agent, watched from outside.

`running` and `complete` start a process, whose memory is watched. `complete_in_fork` forks a process that has
imported the command (`tests/fork_server.py`): for tests that ask for the outcome alone, which are most of
them. Whatever a test tries, `Result.check` also checks what must hold after every run: standard output holds
events and nothing else, no traceback is shown, and no process, no temporary file is left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.testing import RawPeer
from dragoman.testing.pace import pace, patience
from tests.faults.watch import eventually, peak
from tests.fork_server import CommandForks

ROOT = Path(__file__).parents[3]
IN_TIME = 15.0
DRAGOMAN = (sys.executable, "-m", "dragoman")

AT_ONCE = ("--end-timeout", "0.2")
"""For agents that will not end by themselves, so that nobody waits for what is known. CLI-07 waits."""
WELL = "all is well"

fork_server: CommandForks | None = None
"""Set by `conftest.py` where a process can fork."""


class Folder:
    """Where a run takes place: the workspace, a home, a place outside of both, and what the agent noted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.work = place / "work"
        self.outside = place / "outside"
        self.temporary = place / "tmp"
        self.report = place / "report.ndjson"
        for folder in (self.work, self.outside, self.temporary):
            folder.mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        home = {"HOME": str(self.place), "XDG_STATE_HOME": str(self.place / "state")}
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
        return {**kept, "TERM": "xterm", **home, "TMPDIR": str(self.temporary)}

    @property
    def notes(self) -> list[dict[str, Any]]:
        if not self.report.exists():
            return []
        return [json.loads(text) for text in self.report.read_text("utf-8").splitlines()]

    def noted(self, name: str) -> Any:
        """The last fact of this name."""
        return [note[name] for note in self.notes if name in note][-1]

    def strays(self) -> dict[int, str]:
        """Every process that belongs to this place: by its working folder, its words or its environment."""
        found, here = {}, f"{self.place}/"
        for name in filter(str.isdigit, os.listdir("/proc")):
            if int(name) != os.getpid():
                try:
                    where = os.readlink(f"/proc/{name}/cwd")
                    words, variables = _contents(f"/proc/{name}/cmdline"), _contents(f"/proc/{name}/environ")
                except OSError:  # gone, or a zombie
                    continue
                if here in f"{where}/" or here.encode() in words + variables:
                    found[int(name)] = words.replace(b"\0", b" ").decode(errors="replace")
        return found


def _contents(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


class Result:
    """How a run went, and what it left behind."""

    def __init__(self, folder: Folder, format_: str) -> None:
        self.folder = folder
        self.format = format_
        self.status = -1
        self.out: list[bytes] = []
        """The lines of standard output."""
        self.unfinished = b""
        """What came behind its last newline."""
        self.err = ""
        self.seconds = 0.0
        self._pace = pace()

    def took_at_most(self, seconds: float) -> bool:
        """Whether it ended in time, on a machine that is as busy as it was at the start or as it is now."""
        return self.seconds < seconds * max(self._pace, pace())

    def check(self) -> None:
        """What must hold after every run."""
        assert self.folder.strays() == {}
        left = [str(path.relative_to(self.folder.temporary)) for path in self.folder.temporary.rglob("*")]
        assert left == [], (left, self.status, self.out, self.err)
        assert "Traceback" not in self.err, self.err
        if self.format == "json":
            assert self.unfinished == b""
            assert not self.out or self.events[-1]["event"] == "end"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(text, parse_constant=_no_constant) for text in self.out]

    @property
    def text(self) -> str:
        return "".join(event["text"] for event in self.events if event["event"] == "text")

    @property
    def outcome(self) -> str:
        return str(self.events[-1]["outcome"])


class Run(Result):
    """A run in a process of its own. `done` waits for its end."""

    def __init__(self, peer: RawPeer, folder: Folder, format_: str) -> None:
        super().__init__(folder, format_)
        self.peer = peer
        self.peak = 0.0
        """The most memory that it had, in MiB."""
        self._began = time.monotonic()
        self._watch = asyncio.create_task(self._sample(), name="memory of the run")

    async def _sample(self) -> None:
        while self.peer.returncode is None:
            try:
                self.peak = max(self.peak, peak(self.peer.pid))
            except OSError:  # it just ended
                return
            await asyncio.sleep(0.02)

    async def stop_watching(self) -> None:
        self._watch.cancel()
        await asyncio.wait((self._watch,))

    async def noted(self, name: str, *, seconds: float = IN_TIME) -> Any:
        """A fact that the agent notes while it runs."""
        await eventually(lambda: any(name in note for note in self.folder.notes), seconds=seconds)
        return self.folder.noted(name)

    async def gone(self, *, seconds: float) -> None:
        """Wait until no process is left of it."""
        await eventually(lambda: not self.folder.strays(), seconds=seconds)

    async def done(self, *, seconds: float = IN_TIME) -> Run:
        """Wait for its end, `seconds` at most from now, and look at what it left behind."""
        self.out += await self.peer.read_rest(seconds=seconds)
        self.status = await self.peer.wait(seconds=seconds)
        self.seconds = time.monotonic() - self._began
        await self._watch
        self.unfinished, self.err = self.peer.partial_line, self.peer.stderr
        self.check()
        return self

    @property
    def growth(self) -> float:
        """How much memory the client took after the agent noted `before`, in MiB."""
        return self.peak - float(self.folder.noted("before"))


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def agent_command(program: str, fault: str, folder: Folder) -> str:
    return f"{sys.executable} -m tests.faults.client.agents.{program} {fault} {folder.report}"


def arguments(
    program: str,
    fault: str,
    folder: Folder,
    options: Sequence[str],
    *,
    format_: str = "json",
    words: Sequence[str] = ("hello",),
    command: str | None = None,
) -> list[str]:
    """What `dragoman` is started with: a run with the agent of this fault, or with another command."""
    agent = command or agent_command(program, fault, folder)
    asked = ["--agent", agent, "--env", f"PYTHONPATH={ROOT}", "--cwd", str(folder.work), "--format", format_]
    return ["run", *asked, "--no-history", *options, *words]


@asynccontextmanager
async def running(
    program: str,
    fault: str,
    place: Path,
    *options: str,
    format_: str = "json",
    words: Sequence[str] = ("hello",),
    command: str | None = None,
    dragoman: Sequence[str] = DRAGOMAN,
    env: dict[str, str] | None = None,
) -> AsyncIterator[Run]:
    """A run with the agent of this fault; what is still there when the block is left is ended."""
    folder = Folder(place)
    given = arguments(program, fault, folder, options, format_=format_, words=words, command=command)
    full = [*dragoman, *given]
    async with RawPeer(full, cwd=folder.work, env={**folder.environment, **(env or {})}) as peer:
        run = Run(peer, folder, format_)
        try:
            yield run
        finally:
            await run.stop_watching()


async def complete(program: str, fault: str, place: Path, *options: str, **more: Any) -> Run:
    """A whole run in a process of its own, from its start to its end."""
    async with running(program, fault, place, *options, **more) as run:
        run.peer.close_stdin()
        return await run.done()


async def complete_in_fork(
    program: str,
    fault: str,
    place: Path,
    *options: str,
    format_: str = "json",
    words: Sequence[str] = ("hello",),
    command: str | None = None,
    env: dict[str, str] | None = None,
) -> Result:
    """A whole run in a fork, which starts in a third of the time; in a process where nothing can fork."""
    if fork_server is None:
        return await complete(
            program, fault, place, *options, format_=format_, words=words, command=command, env=env
        )
    folder = Folder(place)
    result = Result(folder, format_)
    given = arguments(program, fault, folder, options, format_=format_, words=words, command=command)
    began = time.monotonic()
    done = await asyncio.to_thread(
        fork_server.run,
        given,
        given=b"",
        cwd=folder.work,
        env={**folder.environment, **(env or {})},
        timeout=patience(IN_TIME),
    )
    result.seconds = time.monotonic() - began
    *result.out, result.unfinished = done.stdout.split(b"\n")
    result.status, result.err = done.returncode, done.stderr.decode(errors="replace")
    result.check()
    return result
