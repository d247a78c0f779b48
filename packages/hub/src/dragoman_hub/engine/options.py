"""Options of a hub, as values that its owner sets and may replace while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman_hub.engine.bounds import MIB
from dragoman_local.sandbox.boundary import SandboxChoice
from dragoman_local.workspace.packed_contents import ContentSeal

Trace: TypeAlias = Callable[[str, str, Mapping[str, Any] | None, str], Mapping[str, Any] | None]
"""Returns the `_meta` for a prompt, from its session, key, `_meta` and agent."""


class HubOptions(Struct, frozen=True, kw_only=True):
    """How the hub behaves; see docs/hub-configuration.md for each."""

    default_agent: str = "review"
    folder: str = ""
    """The folder where the hub was started, which a client may offer for a first session; empty if it is not
    useful.
    """
    home: str = ""
    """The home folder of the hub's user, so that clients can show short paths."""
    hubs: tuple[str, ...] = ()
    """Other hubs that our page may talk to."""
    prompts_queued: int = 32
    unread: int = 8 * MIB
    """The most unread bytes of a client outside the sessions' streams."""
    sessions: int = 10_000
    files: str = "client"
    expire: float = 0.0
    """The seconds after which a question is refused; 0 keeps it open until an answer or
    the end of its turn.
    """
    on_expiry: str = "reject"
    policy: str = ""
    audit: str = ""
    """The file for decisions of the policy; none if it is empty."""
    on_last_leave: str = "go-on"
    leave_after: float = 0.0
    release_after: float = 300.0
    """The seconds after which an idle session without clients is closed in its agent; 0 keeps it open."""
    lender_grace: float = 30.0
    """The seconds that a request for a client's files waits for the client to come back."""
    originals_kept: float = 7 * 86400.0
    """The seconds for which the journal keeps originals of unsettled entries."""
    keep_days: int = 0
    """The days without a message after which a session is forgotten; 0 keeps all."""
    sandbox: SandboxChoice = "auto"
    """The sandbox around commands in our terminals."""
    secrets: tuple[str, ...] = ()
    """Our files and folders that no command may read."""
    changes: bool = False
    """Whether the changes of a turn on disk are recorded."""
    changes_kept: float = 1800.0
    """The seconds for which they are kept after the turn, or after the last question about them."""
    trees: str = ""
    """The journal beside which the trees of turns are stored; empty disables that."""
    trees_seal: ContentSeal | None = None
    """The encryption of the trees; None if the journal is not sealed."""
    prompt_rate: Callable[[str], float] | None = None
    """Returns the seconds that the holder of a token must wait before its next prompt; 0
    if it may continue.
    """
