"""Tries one client: its own command with our echo agent behind it, directly and through a hub.

The client's output is its face: the text has to be in it. The file has to be on the disk. What a client
does when it is asked for permission is its own way, so its row's input and options say yes.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Awaitable, Callable

from dragoman.testing.pace import patience
from tests.hub.outside.process import ROOT, HubProcess
from tests.interop.matrix.effects import CLIENT_EFFECTS, Finding, no, yes
from tests.interop.matrix.model import WORD
from tests.interop.matrix.processes import kill_marked, marked_processes, wait_until
from tests.interop.matrix.stage import MatrixStage

ENDING = 10.0
"""Seconds until a client whose work is done must be gone on a quiet machine."""


class ClientTrial:
    """All effects of one client."""

    def __init__(
        self, stage: MatrixStage, *, seconds: float, on_effect: Callable[[str, Finding], None]
    ) -> None:
        self.stage = stage
        self._seconds = seconds
        self._on_effect = on_effect

    async def run(self) -> dict[str, Finding]:
        """Every effect in the order of the table."""
        findings: dict[str, Finding] = {}
        trials: dict[str, Callable[[], Awaitable[Finding]]] = {
            "text": self._text,
            "write": self._write,
            "end": self._end,
            "hub": self._hub,
        }
        for name in CLIENT_EFFECTS:
            findings[name] = await self._guard(trials[name]())
            self._on_effect(name, findings[name])
        kill_marked(self.stage.token)
        return findings

    async def _guard(self, work: Awaitable[Finding]) -> Finding:
        try:
            return await work
        except TimeoutError:
            return no(f"the client was not done after {self._seconds:g} s")
        except OSError as error:
            return no(f"{type(error).__name__}: {error}")

    async def _text(self, agent: list[str] | None = None) -> Finding:
        output = await self._converse(f"the word is {WORD}", agent or _echo())
        # The client may show the prompt as well: the agent says it with words of its own before it.
        return yes() if f"You said: the word is {WORD}" in " ".join(output.split()) else no(output[-300:])

    async def _write(self) -> Finding:
        path = self.stage.work / f"{secrets.token_hex(4)}.txt"
        output = await self._converse(f"/ask {path}", _echo())
        return yes() if path.is_file() else no(f"no file; the client says: {output[-300:]}")

    async def _end(self) -> Finding:
        if await wait_until(lambda: not marked_processes(self.stage.token), seconds=patience(ENDING)):
            return yes()
        return no(f"{len(marked_processes(self.stage.token))} processes still run")

    async def _hub(self) -> Finding:
        folder = self.stage.folder / "hub"
        folder.mkdir()
        hub = await asyncio.to_thread(HubProcess(folder).start)
        try:
            entry = [sys.executable, "-m", "dragoman", "connect", f"ws://{hub.place}/acp"]
            return await self._text(["env", f"DRAGOMAN_TOKEN={hub.token}", *entry])
        finally:
            await asyncio.to_thread(hub.stop)

    async def _converse(self, prompt: str, agent: list[str]) -> str:
        """Everything that the client writes until it ends."""
        row, stage = self.stage.row, self.stage
        places = {"agent": shlex.join(agent), "prompt": prompt}
        words = [
            part
            for word in row.command
            for part in (agent if row.splits and word == "$agent" else [stage.fill(word, **places)])
        ]
        process = await asyncio.create_subprocess_exec(
            str(stage.programs / words[0]),
            *words[1:],
            cwd=stage.work,
            env={**stage.env, "PYTHONPATH": os.pathsep.join(map(str, ROOT.glob("packages/*/src")))},
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
        )
        try:
            async with asyncio.timeout(self._seconds):
                output, _ = await process.communicate(stage.fill(row.stdin, **places).encode())
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
        return output.decode(errors="replace")


def _echo() -> list[str]:
    return [sys.executable, "-m", "dragoman", "agent", "echo"]
