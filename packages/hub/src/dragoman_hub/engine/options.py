"""Options of a hub, as values that its owner sets and may replace while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman_hub.engine.bounds import MIB
from dragoman_local.sandbox.boundary import SandboxChoice
from dragoman_local.workspace.packed_contents import ContentSeal

Trace: TypeAlias = Callable[[str, str, Mapping[str, Any] | None, str], Mapping[str, Any] | None]
"""From session, key, `_meta` and agent of a prompt to the `_meta` that it is to have."""


class HubOptions(Struct, frozen=True, kw_only=True):
    """How the hub behaves; see docs/hub-configuration.md for each."""

    default_agent: str = "review"
    folder: str = ""
    """Where the hub was started, which a client may offer for a first session; empty if that says nothing."""
    home: str = ""
    """The home folder of the hub's user, so that clients can show short paths."""
    hubs: tuple[str, ...] = ()
    """Other hubs that our page may talk to."""
    prompts_queued: int = 32
    unread: int = 8 * MIB
    """What a client may leave unread of what is not in a session's stream."""
    sessions: int = 10_000
    files: str = "client"
    expire: float = 0.0
    """Seconds after which a question is refused; 0 lets it stand until somebody answers or its turn ends."""
    on_expiry: str = "reject"
    policy: str = ""
    audit: str = ""
    """The file in which decisions of the policy are written down; none if it is empty."""
    on_last_leave: str = "go-on"
    leave_after: float = 0.0
    release_after: float = 300.0
    """Seconds after which an idle session without clients is closed in its agent; 0 keeps it there."""
    lender_grace: float = 30.0
    """Seconds that a request for a client's files waits for the client to come back."""
    originals_kept: float = 7 * 86400.0
    """Seconds for which the journal keeps originals of what nobody has settled."""
    keep_days: int = 0
    """Days after which a session is forgotten in which nothing is said; 0 keeps all."""
    sandbox: SandboxChoice = "auto"
    """The sandbox around commands in terminals of ours."""
    secrets: tuple[str, ...] = ()
    """Files and folders of ours that no command may read."""
    changes: bool = False
    """Whether what a turn changes on disk is looked at."""
    changes_kept: float = 1800.0
    """Seconds for which that is known after the turn, or after the last question about it."""
    trees: str = ""
    """The journal beside which the trees of turns are kept; they are not kept if it is empty."""
    trees_seal: ContentSeal | None = None
    """What seals them; None if the journal is not sealed."""
    prompt_rate: Callable[[str], float] | None = None
    """Seconds that the holder of a token has to wait before its next prompt; 0 if it may go on."""
