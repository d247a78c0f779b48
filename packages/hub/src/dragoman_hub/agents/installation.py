"""Installs agents for an administrator at a client: only those in the list of `dragoman agents install`.

An installation is that very command in a process of its own, with the plan that the administrator has seen:
if the list says something else by then, nothing is done. One runs at a time, for a bounded time; it can be
cancelled, and ends with the hub. What it says on standard error is its progress, and its last words if it
fails. Neither install scripts nor archives without a hash can be allowed from here, and no command is taken
from a client. Everything that is begun is in the audit log before.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.runtime.owner import run_to_end
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.policy.audit import AuditLog, attempt_entry

if TYPE_CHECKING:
    from dragoman_hub.agents import addable
else:
    addable = DeferredModule("dragoman_hub.agents.addable")

log = logging.getLogger(__name__)

SECONDS = 600.0
"""The most seconds for an installation: some agents are hundreds of megabytes."""

ENDING_SECONDS = 20.0
"""The most seconds for a cancelled installation to remove its files, which may be thousands."""

SAID = 16_000
"""The most bytes of an installation's output to keep, from its end."""

LINES = 40

COMMAND = (sys.executable, "-m", "dragoman", "agents", "install")
MISTAKES = ("dragoman agents install: ", "dragoman: ")
"""The prefixes of the command's error lines."""

JobState: TypeAlias = Literal["running", "installed", "failed", "cancelled"]


class InstallJob(Struct, kw_only=True):
    """One installation, kept until long after its end."""

    agent: str
    title: str
    version: str
    plan: str
    by: str
    began: float
    state: JobState = "running"
    said: bytes = b""
    failure: str = ""
    ended: float | None = None

    def describe(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "title": self.title,
            "version": self.version,
            "plan": self.plan,
            "by": self.by,
            "began": self.began,
            "ended": self.ended,
            "state": self.state,
            "lines": self.lines(),
            "failure": self.failure,
        }

    def lines(self) -> list[str]:
        """The last lines of its output."""
        lines = redact(self.said.decode(errors="replace")).splitlines()
        return [line.rstrip() for line in lines if line.strip()][-LINES:]

    def settle(self, state: JobState, failure: str = "") -> None:
        self.state, self.failure, self.ended = state, failure, time.time()


class AgentInstaller:
    """Installs and removes agents for clients. `gate` has checked the scopes."""

    def __init__(
        self, *, offer: Callable[[], None], refusal: str = "", audit: str = "", seconds: float = SECONDS
    ) -> None:
        """`offer` lets the hub search for its agents again. `audit` is a file, or None."""
        self.refusal = refusal
        """Why nothing is installed or removed for clients; empty if it is."""
        self.job: InstallJob | None = None
        self._offer = offer
        self._audit = audit
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()
        self._is_cancelled = False
        self._removal = ""

    async def listed(self, offered: Container[str]) -> dict[str, Any]:
        """Return agents that can be added, and added ones; `offered` are names of agents that are available
        already.
        """
        return await asyncio.to_thread(addable.listed, offered)

    def check(self) -> None:
        """Raise `LocalMistake` if this hub installs and removes no agents for clients."""
        if self.refusal:
            raise LocalMistake(self.refusal)

    def _check_idle(self) -> None:
        """Raises `LocalMistake` while an agent is being installed or removed."""
        if self.job is not None and self.job.state == "running":
            raise LocalMistake(f"{self.job.agent} is being installed: try again when that is done")
        if self._removal:
            raise LocalMistake(f"{self._removal} is being removed: try again when that is done")

    async def begin(self, agent: str, *, plan: str, by: str) -> InstallJob | None:
        """Return a job for `run`; None if the running job is the same. Raises `LocalMistake`."""
        self.check()
        title, version = await asyncio.to_thread(addable.checked_plan, agent, plan)
        if self.job is not None and self.job.state == "running" and self.job.plan == plan:
            return None
        self._check_idle()
        job = InstallJob(agent=agent, title=title, version=version, plan=plan, by=by, began=time.time())
        self.job, self._is_cancelled = job, False
        self._ended.clear()
        try:
            await self.write_down("install", agent, f"install {title} {version}", by=by)
        except LocalMistake as mistake:
            job.settle("failed", str(mistake))
            self._ended.set()
            raise
        return job

    async def run(self, job: InstallJob) -> None:
        """Install to the end; the result is in the job."""
        try:
            status = await self._run(job)
            if status == 0:
                job.settle("installed")
                self._offer()
            elif self._is_cancelled:
                job.settle("cancelled")
            else:
                job.settle("failed", _failure(job.lines(), status))
        except TimeoutError:
            job.settle("failed", f"it took longer than {self._seconds:g} seconds, and was ended")
        except OSError as error:
            job.settle("failed", f"it could not be started: {error.strerror or error}")
        except LocalMistake as mistake:  # of the settings, which were changed meanwhile
            job.failure = f"it is installed, but the hub cannot offer it yet: {mistake}"
        finally:
            if job.state == "running":
                job.settle("cancelled")
            self._ended.set()
            log.info("agent %s %s: %s, asked for by %s", job.agent, job.version, job.state, job.by)

    async def _run(self, job: InstallJob) -> int:
        words = (
            *COMMAND,
            job.agent,
            "--yes",
            "--json",
            "--plan",
            job.plan,
            "--timeout",
            f"{self._seconds:g}",
        )
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        try:
            if self._is_cancelled:  # while it was being started
                process.terminate()
            async with asyncio.timeout(self._seconds + ENDING_SECONDS):
                assert process.stderr is not None
                while data := await process.stderr.read(4096):
                    job.said = (job.said + data)[-SAID:]
                return await process.wait()
        finally:
            self._process = None
            await run_to_end(_end(process))

    async def cancel(self) -> None:
        """Cancel the running job, and wait until its files are removed."""
        if self.job is None or self.job.state != "running":
            return
        self._is_cancelled = True
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
        await self._ended.wait()

    async def remove(self, agent: str, *, by: str, end: Callable[[], Any]) -> str:
        """Remove an installed agent; return its version, or nothing if it was not installed. `end` ends its
        process. Raises `LocalMistake`.
        """
        self.check()
        version = await asyncio.to_thread(addable.installed_version, agent)
        if not version:
            return ""
        self._check_idle()
        self._removal = agent
        try:
            await self.write_down("uninstall", agent, f"remove {agent} {version}", by=by)
            await end()
            await asyncio.to_thread(addable.uninstall, agent)
        finally:
            self._removal = ""
        self._offer()
        log.info("agent %s %s: removed, asked for by %s", agent, version, by)
        return version

    async def write_down(self, act: str, agent: str, title: str, *, by: str, is_allowed: bool = True) -> None:
        """Write one line to the audit log. Raises `LocalMistake` if that fails: then nothing is done."""
        if not self._audit:
            return
        entry = attempt_entry(
            f"_dragoman/hub/agents/{act}",
            title,
            outcome="allow" if is_allowed else "deny",
            why="an administrator asked for it" if is_allowed else self.refusal,
            by="person" if is_allowed else "policy",
            person=by,
            agent=agent,
            kind="execute",
            command=f"dragoman agents {act} {agent}",
        )
        try:
            await asyncio.to_thread(AuditLog(self._audit).append, entry)
        except OSError as error:
            log.exception("the audit log cannot be written")
            raise LocalMistake(f"the audit log cannot be written: {error.strerror or error}") from None


def _failure(lines: list[str], status: int) -> str:
    """The last words of the command about its failure."""
    for number in reversed(range(len(lines))):
        mistake = next((start for start in MISTAKES if lines[number].startswith(start)), "")
        if mistake:
            return "\n".join([lines[number].removeprefix(mistake), *lines[number + 1 :]])
    return lines[-1] if lines else f"it ended with status {status}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """It is asked to end, so that it removes what is not complete; then it is ended."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(ENDING_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
