"""Runs a `git` command and waits for its end, without an event loop and with a time limit.

What keeps such a command from running anything else, or asking anybody, is in its words and its environment.
"""

from __future__ import annotations

import subprocess

from dragoman.system.git import GitCommand, find_git


class GitFailed(Exception):
    """Git is not installed, the folder is not a repository, or the command failed."""


class GitTimeout(Exception):
    """The command was still running at the end of its time."""


def git_program() -> str:
    """Return the path of git; raise `GitFailed` if it is not installed."""
    program = find_git()
    if program is None:
        raise GitFailed("git is not installed")
    return program


def run_git(
    command: GitCommand, *, cwd: str, seconds: float, feed: bytes = b"", may_be: tuple[int, ...] = (0,)
) -> bytes:
    """Return the standard output of a command; raises `GitFailed` for an unexpected
    status, and `GitTimeout`.
    """
    try:
        process = subprocess.run(
            command.words,
            cwd=cwd,
            env=command.env,
            input=feed,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitTimeout from error
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error
    if process.returncode not in may_be:
        message = process.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitFailed(f"git failed with {process.returncode}: {message}" if message else "git failed")
    return process.stdout
