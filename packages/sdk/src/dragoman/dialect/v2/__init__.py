"""Translates between v1 and the draft of protocol version 2.

`agent` stands at a v2 agent, `client` at a v2 client; `to_v1` and `to_v2` turn the values that both need.
Versions differ in manners more than in names: in v2 a prompt is only acknowledged and the session says when
it is done, everything is an upsert, every enumeration is open. So both edges keep state.
"""

from dragoman.dialect.v2.agent import V2Agent
from dragoman.dialect.v2.client import V2Client

__all__ = ["V2Agent", "V2Client"]
