"""The commands of one session: starts, watches, ends and releases them by their ids.

An id is valid from `create` to `release`, in this session and no other. Everything may be asked at any time
and in any order: `output` never waits, several may `wait`, `kill` keeps the id, `release` ends the command
and answers whoever still waits. Closing a session ends all of its commands.

Before a command starts, it has passed: the shape of its words, its environment, its folder, and the guard.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from msgspec import Struct

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_local.sandbox.wall import SessionWall, Wall
from dragoman_local.workspace.commands import PlannedCommand, plan_command
from dragoman_local.workspace.disk_threads import in_disk_thread
from dragoman_local.workspace.environment import command_environment
from dragoman_local.workspace.lent_files import Access, Guard
from dragoman_local.workspace.paths import parse
from dragoman_local.workspace.places import open_listing
from dragoman_local.workspace.refusals import FORBIDDEN, NOT_FOUND, from_system, reason_of, refusal
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.terminal import ProcessExit, TerminalProcess

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""The seconds that a closing thread waits for a loop in another one to end its commands."""


class TerminalRequest(Struct, frozen=True, kw_only=True):
    """An agent's request to run a command."""

    command: str
    args: Sequence[str] = ()
    env: Sequence[tuple[str, str]] = ()
    cwd: str | None = None
    output_bytes: int | None = None


class LentTerminals:
    """The terminals of an agent in one session. `roots` may be replaced when the session is opened again."""

    def __init__(
        self,
        roots: Roots,
        settings: TerminalSettings,
        *,
        guard: Guard | None = None,
        on_no_wall: Callable[[str], None] | None = None,
    ) -> None:
        """`on_no_wall` gets the reason, once, if commands run without a sandbox although it was not switched
        off.
        """
        self.session_id = ""
        self.roots = roots
        self.settings = settings
        self.wall = SessionWall(settings.sandbox, secrets=settings.secrets)
        self._guard = guard
        self._on_no_wall = on_no_wall or _log_no_wall
        self._terminals: dict[str, TerminalProcess] = {}
        self._leaving: list[TerminalProcess] = []  # released, and not ended yet
        self._is_closed = False

    def __len__(self) -> int:
        """Terminals that are not released."""
        return len(self._terminals)

    def for_subagent(self, session_id: str) -> LentTerminals:
        """Return the same terminals for a subagent's session; a guard gets that session's own id."""
        terminals = copy(self)
        terminals.session_id = session_id
        return terminals

    async def create(self, request: TerminalRequest) -> str:
        """Start a command and return its id, without waiting for it."""
        self._check_room()
        env = command_environment(os.environ, request.env, allow=self.settings.allow_env)
        folder, path = await self._cwd_opened(request.cwd)
        try:
            wall = await self._wall_opened()
            env["PWD"] = path
            command = self._plan(request, env, path)
            if self._guard is not None:
                await self._guard(
                    Access(session_id=self.session_id, kind="run", path=command.program, command=command)
                )
            self._check_room()
            terminal = TerminalProcess(
                command,
                cwd=_name_of(folder, path),
                env=env,
                output_bytes=min(
                    self.settings.output_bytes if request.output_bytes is None else request.output_bytes,
                    self.settings.most_output_bytes,
                ),
                grace=self.settings.grace,
                wall=wall,
            )
        finally:
            os.close(folder)
        terminal_id = f"term-{secrets.token_hex(8)}"
        self._terminals[terminal_id] = terminal
        return terminal_id

    def get(self, terminal_id: str) -> TerminalProcess:
        """Return a terminal of this session; an error for an unknown id."""
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            raise _unknown(terminal_id)
        return terminal

    async def wait(self, terminal_id: str) -> ProcessExit:
        return await self.get(terminal_id).wait()

    async def kill(self, terminal_id: str) -> None:
        """End a command; do nothing if it has ended."""
        await self.get(terminal_id).kill()

    async def release(self, terminal_id: str) -> None:
        """End a command, and forget it at once."""
        terminal = self.get(terminal_id)
        del self._terminals[terminal_id]
        self._leaving.append(terminal)
        await terminal.kill()
        if terminal in self._leaving:
            self._leaving.remove(terminal)

    async def aclose(self) -> None:
        """End all commands at the same time. No command is started any more."""
        self._is_closed = True
        terminals = self._all_terminals()
        try:
            await asyncio.gather(*(terminal.kill() for terminal in terminals))
        finally:
            for terminal in terminals:
                terminal.kill_now()
            self.wall.close()

    def close(self) -> None:
        """Do the same at once, without grace, from any thread."""
        self._is_closed = True
        for terminal in self._all_terminals():
            _kill_from_here(terminal)
        self.wall.close()

    def _all_terminals(self) -> list[TerminalProcess]:
        terminals = [*self._terminals.values(), *self._leaving]
        self._terminals.clear()
        self._leaving.clear()
        return terminals

    # Before a start.

    def _check_room(self) -> None:
        if self._is_closed:
            raise refusal(FORBIDDEN, "closed", "this session is closed")
        running = sum(not terminal.has_ended for terminal in self._terminals.values())
        if running >= self.settings.most_running:
            why = f"{running} commands are running in this session; release some"
            raise refusal(FORBIDDEN, "too_many", why)
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        ended_terminals = [(key, terminal) for key, terminal in self._terminals.items() if terminal.has_ended]
        held_bytes = sum(len(terminal.ring) for _, terminal in ended_terminals)
        for removed_count, (terminal_id, terminal) in enumerate(ended_terminals):
            if (
                len(ended_terminals) - removed_count < self.settings.most_kept
                and held_bytes <= self.settings.kept_bytes
            ):
                return
            held_bytes -= len(terminal.ring)
            del self._terminals[terminal_id]

    def _plan(self, request: TerminalRequest, env: dict[str, str], cwd: str) -> PlannedCommand:
        return plan_command(
            request.command,
            request.args,
            cwd=cwd,
            env=env,
            set_by_agent=request.env,
            shell_lines=self.settings.shell_lines,
            wall=self.wall.text,
        )

    async def _wall_opened(self) -> Wall | None:
        """Open the sandbox without blocking: the first one reads folders, and tries what the machine
        supports.
        """
        try:
            wall = await in_disk_thread(self.roots.folders[0], self.wall.open, self.roots.folders)
        except LocalMistake as error:
            raise refusal(FORBIDDEN, "no_wall", str(error)) from error
        if wall is None and self.settings.sandbox == "auto" and not self.wall.is_told:
            self.wall.is_told = True
            self._on_no_wall(f"commands run without a sandbox: {self.wall.reason}")
        return wall

    async def _cwd_opened(self, cwd: str | None) -> tuple[int, str]:
        """Without blocking. A thread cannot be cancelled: what it opens for nobody is closed."""
        opening = asyncio.ensure_future(in_disk_thread(self.roots.folders[0], self._open_cwd, cwd))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_let_go)
            raise

    def _open_cwd(self, cwd: str | None) -> tuple[int, str]:
        """The folder to start in, kept open so that it cannot be exchanged, and its path."""
        path = self.roots.cwd if cwd is None else cwd
        with _about_cwd():
            if self.settings.confine_cwd or cwd is None:
                with self.roots.place(path, may_be_folder=True) as place:
                    return place.open_folder(), place.path
            parse(path)
            real = os.path.realpath(path, strict=True)
            return open_listing(real, dir_fd=-1), real


def _log_no_wall(text: str) -> None:
    logger.warning("terminals: %s", text)


@contextmanager
def _about_cwd() -> Iterator[None]:
    """Say that it is the folder that is wrong, not the command."""
    try:
        yield
    except OSError as error:
        raise _bad_cwd(from_system(error)) from error
    except ErrorAnswer as error:
        raise _bad_cwd(error) from error


def _bad_cwd(error: ErrorAnswer) -> ErrorAnswer:
    reason = reason_of(error)
    why = "no such folder" if reason == "missing" else error.message.removeprefix("Invalid params: ")
    return refusal(error.code, reason, f"the command cannot start in its `cwd`: {why}")


def _let_go(opening: asyncio.Future[tuple[int, str]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        os.close(opening.result()[0])


def _name_of(folder: int, path: str) -> str:
    """A name by which a new process finds the open folder, wherever its path leads by then."""
    return f"/proc/self/fd/{folder}" if sys.platform == "linux" else path


def _kill_from_here(terminal: TerminalProcess) -> None:
    loop = terminal.loop
    try:
        is_here = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_here = False
    if is_here or not loop.is_running():
        terminal.kill_now()
        return
    killed_event = threading.Event()

    def kill() -> None:
        try:
            terminal.kill_now()
        finally:
            killed_event.set()

    loop.call_soon_threadsafe(kill)
    killed_event.wait(PATIENCE)


def _unknown(terminal_id: str) -> ErrorAnswer:
    why = "there is no such terminal in this session; it may have been released"
    return refusal(NOT_FOUND, "no_terminal", why, terminalId=terminal_id)
