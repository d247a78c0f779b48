"""How long an agent may take for each kind of work, and the error when it takes longer. None means no limit.

Some have no bound by default. How long a model may think is for its user to say, and a fixed cap on a turn
would kill healthy work. A person who logs in takes as long as it takes.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dragoman.runtime import Limits
from dragoman.runtime.limits import HANDSHAKE_SECONDS, check_seconds


class Deadlines(Struct, frozen=True, kw_only=True):
    """Deadlines in seconds."""

    spawn: float | None = 10.0
    """The start of the program (`SpawnTimeout`); its file system may hang."""

    handshake: float | None = HANDSHAKE_SECONDS
    """From its start to the answer to `initialize` (`HandshakeTimeout`)."""

    call: float | None = 120.0
    """Any call that a machine answers (`CallTimeout`); see `Limits.call_seconds`."""

    login: float | None = None
    """`authenticate` (`LoginRequired`). Set it where nobody can see a login page."""

    cancel: float | None = 60.0
    """From a cancel, or from leaving a turn, to the end of that turn (`CallTimeout`). Some agents never end
    it; the next turn waits for the end.
    """

    first_byte: float | None = None
    """From a prompt to the first frame of any kind (`FirstByteTimeout`)."""

    silence: float | None = None
    """Within a turn, since the last frame of any kind (`SilenceTimeout`). Time in which we owe the agent an
    answer does not count.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_seconds(getattr(self, name), name)

    def applied_to(self, limits: Limits) -> Limits:
        return replace(
            limits,
            spawn_seconds=self.spawn,
            handshake_seconds=self.handshake,
            call_seconds=self.call,
            silence_seconds=self.silence,
        )
