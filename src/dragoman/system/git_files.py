"""The files of a folder that git knows or would add, without an event loop.

Nothing that the repository's configuration names is run; see `git`.
"""

from __future__ import annotations

import os
import subprocess

from dragoman.system.git import (
    LOCATE,
    READ_SETTINGS,
    GitCommand,
    Isolation,
    ask_repository,
    read_places,
    read_settings,
)

_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")


def list_git_files(program: str, folder: str, *, seconds: float) -> list[str] | None:
    """Paths below the folder, in order and each once; None if it is in no repository, or git fails.

    Git also lists what was deleted. Each of its three commands may take that long.
    """
    try:
        located = _run(ask_repository(program, LOCATE), folder, seconds)
        places = read_places(located.stdout, folder)
        if located.returncode or places is None:
            return None
        settings = _run(ask_repository(program, READ_SETTINGS), folder, seconds)  # ends with 1 if none is set
        with Isolation(program, places, settings=read_settings(settings.stdout)) as isolation:
            listed = _run(isolation.command(*_LIST), folder, seconds)
    except (OSError, subprocess.SubprocessError):
        return None
    if listed.returncode:
        return None
    return [os.fsdecode(path) for path in sorted(set(listed.stdout.split(b"\0"))) if path]


def _run(command: GitCommand, folder: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command.words,
        cwd=folder,
        env=command.env,
        capture_output=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )
