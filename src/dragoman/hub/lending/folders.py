"""Folders of the hub's machine, for somebody who types the path of one: does it exist, and what may follow?

Only folders that the token may open are named. Looks at the disk, so call it in a thread.
"""

from __future__ import annotations

import os
from itertools import islice

from dragoman.hub.gate.admission import Grant

MOST = 50
"""Folders in one answer: more than anybody reads."""

LOOKED_AT = 5_000
"""Entries of one folder: a mail spool must not cost seconds at every key."""


def complete_folder(path: str, *, grant: Grant) -> dict[str, object]:
    """`{"path": …, "exists": …, "folders": […]}` for what was typed; in `path`, `~` is resolved."""
    typed = os.path.expanduser(path)
    if not os.path.isabs(typed) or "\0" in typed:
        return {"path": typed, "exists": False, "folders": []}
    exists = os.path.isdir(typed) and grant.may_open(typed)
    parent, start = os.path.split(typed)
    found = sorted(_folders(parent, start))
    return {"path": typed, "exists": exists, "folders": list(islice(filter(grant.may_open, found), MOST))}


def _folders(parent: str, start: str) -> list[str]:
    try:
        with os.scandir(parent) as entries:
            return [
                entry.path
                for entry in islice(entries, LOOKED_AT)
                if entry.name.startswith(start)
                and (start.startswith(".") or not entry.name.startswith("."))
                and entry.is_dir()
            ]
    except OSError:  # there is no such folder, or it may not be read: nothing to offer
        return []
