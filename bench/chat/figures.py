"""The terminal client's figures, and what we ask of them."""

from __future__ import annotations

from harness.goals import AtMost, Figure

# A person takes what follows within a tenth of a second for an effect of the key.
CHAT_FIGURES: list[Figure] = [
    Figure(
        "chat-stream.key_p50",
        "`dragoman chat` at 1,000 updates/s: a key to its echo, p50 ms",
        more=False,
    ),
    Figure("chat-stream.key_p99", "… p99 ms", more=False, goals=(AtMost(100, "ms"),)),
    Figure(
        "chat-stream.stall", "… longest stretch of one thing, CPU ms", more=False, goals=(AtMost(100, "ms"),)
    ),
    Figure("chat-stream.cpu", "… share of one core, %", more=False),
    Figure("chat-open.start", "`dragoman chat` from its start to a new session, s", more=False),
    Figure(
        "chat-open.agent",
        "… and for a session of 50,000 updates that its agent tells, s more",
        more=False,
        goals=(AtMost(1, "s"),),
    ),
    Figure("chat-open.agent_cpu", "… the client's CPU of that, s", more=False),
    Figure("chat-open.hub", "… that a hub tells, s more", more=False, goals=(AtMost(1, "s"),)),
    Figure("chat-open.hub_cpu", "… the client's CPU of that, s", more=False),
]
