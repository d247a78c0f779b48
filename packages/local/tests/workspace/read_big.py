"""Reads single lines of a very large file and prints by how many bytes that made this process grow.

Run as a program, because the largest size that a process ever had is never smaller again.
"""

from __future__ import annotations

import resource
import sys
import threading
from pathlib import Path

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.files import SessionFiles
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.versions import KnownVersions

LINE = "x" * 127 + "\n"


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(path: Path, lines: str) -> None:
    small = path.with_name("small.txt")
    small.write_text(LINE)
    roots = Roots(str(path.parent))
    files = SessionFiles(
        roots, FileSettings(), known_versions=KnownVersions(base_bytes=0), writing=threading.Lock()
    )
    files.read(str(small))
    before = peak()
    if lines == "many":
        last = path.stat().st_size // len(LINE)
        for number in (1, last // 2, last):
            assert files.read(str(path), first=number, limit=1).text == LINE
    else:
        code = 0
        try:
            files.read(str(path), limit=1)
        except ErrorAnswer as error:
            code = error.code
        assert code == 413
    assert len(files.read_range(str(path), offset=path.stat().st_size // 2, limit=10).data) == 10
    print(peak() - before)


main(Path(sys.argv[1]), sys.argv[2])
