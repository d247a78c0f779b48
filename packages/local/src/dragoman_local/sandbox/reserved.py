"""File names like `.claude/settings.json`, which programs obey when they start in a folder, and that don't
exist yet.

No kernel forbids a name in a folder that is writable. So they are looked at before a command and after it:
what it made of them gets another name, and somebody is told. Nobody can say who made what meanwhile; for a
command, which is over soon, it is taken to be the command, while an agent runs for hours beside a person who
works, so there it is told alone.

The launcher does this, and whoever has killed a launcher. Made of the standard library alone.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # `collections.abc` takes longer to import than all of the rest
if TYPE_CHECKING:
    from collections.abc import Iterable


def absent(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not os.path.lexists(path)]


def set_aside(paths: Iterable[str], *, renames: bool) -> list[str]:
    """Find the files that exist now, and rename them if it `renames`; return a sentence for each. No other
    process may be able to change them any more.
    """
    return [sentence for path in paths if (sentence := _set_aside(path, renames=renames))]


def _set_aside(path: str, *, renames: bool) -> str:
    folder = os.path.dirname(path)
    if os.path.realpath(folder) != folder:  # it was exchanged for a link: that is what was made
        path = folder
    obeyed = "which programs obey when they start here"
    try:
        # An empty folder is read by no program.
        if not os.path.lexists(path) or (stat.S_ISDIR(os.lstat(path).st_mode) and not os.listdir(path)):
            return ""
        if not renames:
            return f"dragoman: while this agent ran, {path} was made, {obeyed}: look at it"
        number = 1
        while os.path.lexists(aside := f"{path}-made-inside-{number}"):
            number += 1
        os.rename(path, aside)
    except OSError as error:
        return f"dragoman: this command made {path}, {obeyed}, and it keeps its name: {error.strerror}"
    return (
        f"dragoman: this command made {path}, {obeyed}. It is now called {os.path.basename(aside)}: "
        "look at it, and give it its name again if it is right"
    )
