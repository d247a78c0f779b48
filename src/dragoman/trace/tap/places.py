"""Where recordings are kept that were given no name, and which of them is the last."""

from __future__ import annotations

from pathlib import Path

from dragoman.journal.history import history_path


def taps_folder(named: str | None = None) -> Path:
    return Path(named) if named else history_path().parent / "taps"


def newest(folder: Path) -> Path | None:
    """The recording that was written to last."""
    found = [path for path in folder.glob("*.ndjson") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)
