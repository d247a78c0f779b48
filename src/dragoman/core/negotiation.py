"""Which protocol version is spoken. Pure arithmetic, because every SDK gets an edge of it wrong.

Version 1 says: answer the requested version if you speak it, otherwise the latest you speak. Version 2
says: the highest at or below the request, otherwise an error that lists what is spoken. An agent that
speaks only version 1 follows the first rule, any other the second.
"""

from __future__ import annotations

from collections.abc import Collection

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import NAMES, VERSION_UNSUPPORTED


def negotiate(requested: int, supported: Collection[int]) -> int:
    """The version that the agent answers with; raises the error to send when there is none."""
    if requested in supported:
        return requested
    latest = max(supported)
    if latest <= 1:
        return latest
    below = [version for version in supported if version <= requested]
    if below:
        return max(below)
    data = {"requested": requested, "supported": sorted(supported)}
    raise ErrorAnswer(VERSION_UNSUPPORTED, NAMES[VERSION_UNSUPPORTED], data)
