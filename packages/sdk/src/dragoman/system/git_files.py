"""Lists the files of a folder that git tracks or would add, without an event loop.

Nothing that the repository's configuration names is run; see `git`.
"""

from __future__ import annotations

from dragoman.system.git import (
    LOCATE,
    READ_SETTINGS,
    Isolation,
    ask_repository,
    read_names,
    read_places,
    read_settings,
)
from dragoman.system.git_process import GitFailed, GitTimeout, run_git

_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")


def list_git_files(program: str, folder: str, *, seconds: float) -> list[str] | None:
    """Return paths below the folder, in order and each once; None if it is not in a repository, or if git
    fails.

    Git also lists what was deleted. Each of its three commands may take that long.
    """
    try:
        located = run_git(ask_repository(program, LOCATE), cwd=folder, seconds=seconds)
        places = read_places(located, folder)
        if places is None:
            return None
        ask_settings = ask_repository(program, READ_SETTINGS)
        settings = run_git(ask_settings, cwd=folder, seconds=seconds, may_be=(0, 1))  # 1: none is set
        with Isolation(program, places, settings=read_settings(settings)) as isolation:
            listed = run_git(isolation.command(*_LIST), cwd=folder, seconds=seconds)
    except (OSError, GitFailed, GitTimeout):
        return None
    return sorted(set(read_names(listed)))
