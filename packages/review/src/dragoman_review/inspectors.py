"""Our own worker processes: each inspects one text at a time, within a deadline.

An `Inspector` starts its process when the first text comes, and a new one after a text that took too long or
brought it down.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman.text.json_values import as_text
from dragoman_review.finding import Finding
from dragoman_review.programs import ToolFailed, end
from dragoman_review.rules import ReviewRule, own_rules
from dragoman_review.worker_messages import LONGEST_LINE, WorkerAnswer, WorkerRequest, WorkerSetup

_LONGEST_ANSWER = 64 * 1024 * 1024
_STALLED = 300.0
"""Seconds by the clock, beside its deadline, after which a worker is given up. It ends by itself when a text
has taken too much of the processor; this is for one that does not run at all."""

_OUT_OF_TIME = (-signal.SIGPROF,) if sys.platform != "win32" else (1,)
"""How a worker ends whose text took too long."""

_decode = json_decoder(WorkerAnswer).decode


def _at(path: str, finding: Finding) -> Finding:
    return replace(finding, place=replace(finding.place, path=path))


class Inspector:
    """One worker process. Not for two tasks at a time."""

    def __init__(self, rules: tuple[ReviewRule, ...], *, deadline: float) -> None:
        self._setup = WorkerSetup(rules=rules, deadline=deadline)
        self._process: asyncio.subprocess.Process | None = None

    async def inspect(
        self, path: str, text: str, *, has_ruff: bool, longest: int = LONGEST_LINE
    ) -> WorkerAnswer:
        """Return the findings in one text. After `ToolFailed` it can inspect the next text."""
        name = as_text(path)  # the worker needs it for its suffix, and JSON holds nothing else
        ask = msgspec.json.encode(WorkerRequest(path=name, text=text, has_ruff=has_ruff, longest=longest))
        try:
            async with asyncio.timeout(self._setup.deadline + _STALLED):
                line = await self._exchange(ask)
        except TimeoutError:
            await self.aclose()
            raise ToolFailed("rules", "do not answer") from None
        except (ConnectionError, ValueError):  # it went away while we wrote; an answer beyond all measure
            line = b""
        if not line.endswith(b"\n"):
            raise ToolFailed("rules", await self._failure())
        answer = _decode(line)
        return answer if name == path else replace(answer, findings=[_at(path, f) for f in answer.findings])

    async def _failure(self) -> str:
        """Why the process gave no answer. It is ended if it has not ended by itself."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        status = await process.wait() if process.stdout.at_eof() else None
        await self.aclose()
        if status in _OUT_OF_TIME:
            return f"took longer than {self._setup.deadline:g} seconds of processor time"
        return "ended without an answer"

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await end(process)

    async def _exchange(self, ask: bytes) -> bytes:
        if self._process is None:
            self._process = await _start()
            assert self._process.stdin is not None
            self._process.stdin.write(msgspec.json.encode(self._setup) + b"\n")
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ask + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()


async def _start() -> asyncio.subprocess.Process:
    # -P: the working directory may be the project under review, and nothing of it shall be imported.
    specs = (find_spec(name) for name in ("dragoman", "dragoman_local", "dragoman_review"))
    packages = dict.fromkeys(str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin)
    python_path = [
        entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)
    ]
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "dragoman_review.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # a panic of the library speaks there, and we say it better
            env={**os.environ, "PYTHONPATH": os.pathsep.join((*packages, *python_path))},
            limit=_LONGEST_ANSWER,
            start_new_session=sys.platform != "win32",
        )
    except OSError as error:
        raise ToolFailed("rules", f"cannot be started: {error}") from None


def own_inspector(*, deadline: float) -> Inspector:
    """Return an inspector with our own rules."""
    return Inspector(own_rules(), deadline=deadline)
