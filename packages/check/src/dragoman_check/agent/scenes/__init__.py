"""All scenes, and the areas of the catalogue that each shows.

A scene is a coroutine that plays on a stage. The order is that in which they begin: what tells most comes
first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from dragoman_check.agent.scenes import (
    cancellation,
    handshake,
    malformed_frames,
    overlap,
    sessions,
    streams,
    turns,
)
from dragoman_check.agent.stage import Stage


class Scene(Struct, frozen=True, kw_only=True):
    """A scene, and its requirements."""

    name: str
    play: Callable[[Stage], Awaitable[None]]
    needs_session: bool = True
    """Whether it can't be played by an agent that first needs a login."""
    versions: tuple[int, ...] = (1, 2)
    """The protocol versions in which it makes sense."""


SCENES: tuple[Scene, ...] = (
    Scene(name="story", play=turns.conversation),
    Scene(name="probes", play=malformed_frames.probes, needs_session=False),
    Scene(name="bare", play=turns.bare),
    Scene(name="reads", play=turns.reads, versions=(1,)),
    Scene(name="writes", play=turns.writes, versions=(1,)),
    Scene(name="cancels", play=cancellation.cancels),
    Scene(name="withdraws", play=cancellation.withdraws, versions=(1,)),
    Scene(name="closes", play=cancellation.closes),
    Scene(name="death", play=cancellation.death),
    Scene(name="streams", play=streams.streams, needs_session=False),
    Scene(name="versions", play=handshake.versions, needs_session=False),
    Scene(name="servers", play=sessions.servers, versions=(1,)),
    Scene(name="overlap", play=overlap.overlap, versions=(1,)),
    Scene(name="again", play=sessions.again),
    Scene(name="lists", play=sessions.lists),
    Scene(name="roots", play=sessions.roots, versions=(1,)),
)
