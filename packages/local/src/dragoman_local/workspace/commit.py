"""Makes the previewed commit like `git commit` in a terminal: with the repository's own settings, filters and
hooks, and git's configured user.

The repository's index is locked meanwhile, in git's own way, so that no other git command of anybody moves
HEAD or stages something in between. Git works on a copy of the index with the chosen files in it, which takes
the place of the index once the commit is there; if it fails, the index is as it was.

Hooks are programs of the repository. They get the few variables of the hub's environment that say where
things are, no input and no terminal; they have `HOOK_SECONDS`, and whatever they started ends with them. What
they print is shown if they refuse.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from dragoman.system.git import GitPlaces
from dragoman.system.git_process import git_program
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.commit_preview import REFUSED, RepositoryView, check_paths, open_repository
from dragoman_local.workspace.environment import command_environment
from dragoman_local.workspace.refusals import INVALID_PARAMS, refusal
from dragoman_local.workspace.terminal import TerminalProcess

HOOK_SECONDS: Final = 300.0
"""The seconds for hooks. Tests take minutes; a hook that waits for a person would wait for ever."""

MESSAGE_BYTES: Final = 64 * 1024
OUTPUT_BYTES: Final = 16 * 1024

_VARIABLES: Final = ("EMAIL", "GNUPGHOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
"""What git needs beyond the usual to know the person and to sign for them."""

_QUIET: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
}

_SETTINGS: Final = (
    # Nothing may go on when the commit is made, and git must not make up a person.
    *("gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false", "user.useConfigOnly=true"),
)


_TIMED_OUT: Final = -1
"""In the place of a status."""


class CommitResult(Struct, frozen=True, kw_only=True):
    """The result of a commit."""

    commit: str
    short: str
    branch: str
    subject: str
    output: str
    """The output of git and the hooks."""
    paths: tuple[str, ...]
    """The chosen files, by their paths in the folder."""


async def make_commit(
    folder: str,
    *,
    paths: Collection[str],
    message: str,
    identity: str,
    environment: Mapping[str, str] | None = None,
    seconds: float = HOOK_SECONDS,
) -> CommitResult:
    """Commit these files of a folder, if they and HEAD still match `identity`.

    Raises an answer that says what is in the way. Cancelled, it ends git and the hooks; the commit is there
    or it is not, and the index fits.
    """
    _check_message(message)
    if not paths:
        raise refusal(INVALID_PARAMS, "no_files", "no file is chosen: choose the files to commit")
    with ExitStack() as stack:
        view = await asyncio.to_thread(stack.enter_context, open_repository(folder))
        lock = stack.enter_context(_locked_index(view.places))
        await asyncio.to_thread(_check, view, paths)
        with tempfile.TemporaryDirectory(prefix="dragoman-commit-", ignore_cleanup_errors=True) as name:
            work = _CommitWork(view, Path(name), environment=environment, seconds=seconds)
            await work.stage(paths)
            if await asyncio.to_thread(view.identity, paths) != identity:
                raise refusal(
                    REFUSED,
                    "moved",
                    "the files or the last commit have changed since you looked: look at the changes again, "
                    "then commit",
                )
            try:
                output = await work.commit(message)
            except asyncio.CancelledError:
                if work.is_made():  # git was ended just behind it: the index must follow all the same
                    lock.replace_with(work.index)
                raise
            lock.replace_with(work.index)
            return await asyncio.to_thread(_describe, work, paths, output)


def _check_message(message: str) -> None:
    if not message.strip():
        raise refusal(INVALID_PARAMS, "no_message", "the message is empty: describe the change")
    if "\0" in message or len(message.encode("utf-8", "surrogatepass")) > MESSAGE_BYTES:
        why = f"the message contains a NUL, or more than {MESSAGE_BYTES // 1024} KiB"
        raise refusal(INVALID_PARAMS, "bad_message", why)


def _check(view: RepositoryView, paths: Collection[str]) -> None:
    view.check_ready()
    view.author()
    check_paths(view.changed_files(), paths)


class _IndexLock:
    """The lock file against other git commands, until the block ends."""

    def __init__(self, index_file: Path, lock_file: Path, descriptor: int) -> None:
        self._index_file = index_file
        self._lock_file = lock_file
        self._descriptor = descriptor
        self.is_spent = False

    def replace_with(self, index: Path) -> None:
        """Git's own way: the lock file becomes the index."""
        with open(self._descriptor, "wb", closefd=False) as file, open(index, "rb") as source:
            shutil.copyfileobj(source, file)
        os.replace(self._lock_file, self._index_file)
        self.is_spent = True


@contextmanager
def _locked_index(places: GitPlaces) -> Iterator[_IndexLock]:
    index_file = Path(os.path.abspath(places.index_file))
    lock_file = index_file.with_name(index_file.name + ".lock")
    try:
        descriptor = os.open(lock_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except FileExistsError:
        raise refusal(
            REFUSED,
            "locked",
            "another git command is at work in this repository: wait until it ends; "
            f"if none runs, remove {sanitize_line(str(lock_file))}",
        ) from None
    lock = _IndexLock(index_file, lock_file, descriptor)
    try:
        yield lock
    finally:
        os.close(descriptor)
        if not lock.is_spent:
            with suppress(FileNotFoundError):
                os.unlink(lock_file)


class _CommitWork:
    """Git with the repository's own settings, on an index beside the repository's."""

    def __init__(
        self, view: RepositoryView, folder: Path, *, environment: Mapping[str, str] | None, seconds: float
    ) -> None:
        self.view = view
        self.index = folder / "index"
        self._folder = folder
        self._seconds = seconds
        variables = command_environment(os.environ if environment is None else environment, allow=_VARIABLES)
        self._env = {**variables, **_QUIET, "GIT_INDEX_FILE": str(self.index)}
        if view.places.index_file.is_file():
            shutil.copy2(view.places.index_file, self.index)

    async def stage(self, paths: Collection[str]) -> None:
        """Put the files into a separate index, through the repository's filters."""
        names = self._folder / "paths"
        names.write_bytes(b"".join(os.fsencode(path) + b"\0" for path in sorted(paths)))
        words = ("add", "--all", f"--pathspec-from-file={names}", "--pathspec-file-nul")
        status, output = await self._git(
            words, {"GIT_LITERAL_PATHSPECS": "1"}, cwd=self.view.folder, seconds=HOOK_SECONDS
        )
        if status:
            raise refusal(REFUSED, "git_failed", "git could not take the files", output=output)

    async def commit(self, message: str) -> str:
        """Commit, and return the output. A commit that is there is made, whatever was said afterwards."""
        text = self._folder / "message"
        text.write_text(message.strip() + "\n", encoding="utf-8", errors="replace")
        status, output = await self._git(
            ("commit", "--file", str(text)), {}, cwd=self.view.places.top, seconds=self._seconds
        )
        if status and not await asyncio.to_thread(self.is_made):
            raise refusal(REFUSED, "refused", await asyncio.to_thread(self._why_not, status), output=output)
        return output

    def _why_not(self, status: int) -> str:
        if status == _TIMED_OUT:
            return (
                f"the commit was stopped, because git and its hooks took longer than {self._seconds:g} s; "
                "nothing was committed"
            )
        hooks = " or ".join(hook.name for hook in self.view.hooks() if hook.name != "post-commit")
        program = f"git, or the repository's {hooks} hook," if hooks else "git"
        return f"{program} refused the commit; nothing was committed"

    def is_made(self) -> bool:
        """Whether HEAD is a child of what it was: a hook behind the commit may have failed."""
        before = self.view.head
        now = self.view.read_head()
        return now != before and self.view.parent_of(now) == before

    async def _git(
        self, words: Sequence[str], extra: Mapping[str, str], *, cwd: str, seconds: float
    ) -> tuple[int, str]:
        """The status of git, and its output and that of hooks, made harmless for terminals."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        program = git_program()
        command = PlannedCommand(words=(program, *settings, *words), program=program, cwd=cwd)
        process = TerminalProcess(
            command, cwd=cwd, env={**self._env, **extra}, output_bytes=OUTPUT_BYTES, grace=1.0
        )
        try:
            async with asyncio.timeout(seconds):
                process_exit = await process.wait()
            status = process_exit.code if process_exit.code is not None else 1
        except TimeoutError:
            status = _TIMED_OUT
        finally:
            await process.kill()  # what a hook has left running ends too
        return status, sanitize(process.tail.text).strip()


def _describe(work: _CommitWork, paths: Collection[str], output: str) -> CommitResult:
    view = work.view
    commit = view.read_head()
    return CommitResult(
        commit=commit,
        short=view.short_name(commit),
        branch=view.branch,
        subject=next(iter(view.subjects(commit)), ""),
        output=output,
        paths=tuple(sorted(paths)),
    )
