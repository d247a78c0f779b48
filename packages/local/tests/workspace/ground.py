"""What tests of files stand on: a session's files on a real disk, without a connection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.files import FileDraft, SessionFiles
from dragoman_local.workspace.kernel import can_open_beneath
from dragoman_local.workspace.refusals import reason_of
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.versions import KnownVersions
from dragoman_local.workspace.write_conflicts import WriteResult

BOTH_WAYS = [
    pytest.param(
        True, id="kernel", marks=pytest.mark.skipif(not can_open_beneath(), reason="the kernel cannot")
    ),
    pytest.param(False, id="walk"),
]


@contextmanager
def files_in(
    cwd: Path, *more: Path, settings: FileSettings | None = None, use_kernel: bool | None = None
) -> Iterator[SessionFiles]:
    with Roots(str(cwd), [str(path) for path in more], use_kernel=use_kernel) as roots:
        chosen = settings or FileSettings()
        yield SessionFiles(
            roots,
            chosen,
            known_versions=KnownVersions(base_bytes=chosen.base_bytes),
            writing=threading.Lock(),
        )


def write(files: SessionFiles, path: Path | str, text: str) -> WriteResult:
    """Write something that nothing stands against."""
    done = files.write(str(path), FileDraft(text))
    assert isinstance(done, WriteResult), done
    return done


def refused(call: Callable[..., Any], *args: Any, **more: Any) -> tuple[int, str]:
    """The code and the reason that a call is refused with."""
    with pytest.raises(ErrorAnswer) as caught:
        call(*args, **more)
    return caught.value.code, reason_of(caught.value)
