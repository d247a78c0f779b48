"""Running conversations: `Link` runs one, `Relay` joins two, and owners end the tasks that they start.

The names below are loaded when they are first used: `Limits` is for everybody, and `Link` needs asyncio.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.runtime.limits import Limits
    from dragoman.runtime.link import Link
    from dragoman.runtime.router import Answer, RefusingRouter, Router

__all__ = ["Answer", "Limits", "Link", "RefusingRouter", "Router"]

_HOMES = {
    "Answer": "router",
    "Limits": "limits",
    "Link": "link",
    "RefusingRouter": "router",
    "Router": "router",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman.runtime' has no attribute {name!r}")
    found: object = getattr(_importlib.import_module(f"dragoman.runtime.{home}"), name)
    globals()[name] = found  # the next look-up does not come here
    return found
