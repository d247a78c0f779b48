"""What agents of the simulation want to do, and what the rules of the simulated policy files say of it.

Every act has a name that no other has, and the name is in the text that it writes or the command that it
runs: whoever sees an effect knows which act it was. The oracle decides by its own small table what the rules
mean; it uses nothing of the hub's.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Verdict: TypeAlias = Literal["allow", "ask", "deny"]

HUB_POLICY = """
[[rule]]
decision = "deny"
path = ["secret/**"]

[[rule]]
decision = "deny"
command = ["rm"]
"""
"""The hub's own file: what it denies is denied whatever happens to the files of others."""

_USER = """
[[rule]]
decision = "allow"
path = ["{allowed}/**"]

[[rule]]
decision = "deny"
path = ["{denied}/**"]

[[rule]]
decision = "ask"
path = ["asked/**"]

[[rule]]
decision = "allow"
command = ["ls **"]
"""

USER_POLICIES: dict[str, str | None] = {
    "plain": _USER.format(allowed="open", denied="shut"),
    "turned": _USER.format(allowed="shut", denied="open"),
    "broken": "[[rule]]\ndecision = ",
    "missing": None,
}
"""The user's file, as it is changed while hubs run."""

FOLDERS = ("secret", "open", "shut", "asked", "free")
PROGRAMS = ("rm", "ls", "touch")


class Act(NamedTuple):
    """One thing that an agent wants: a file with a text, or a command in a folder."""

    name: str
    kind: Literal["write", "run"]
    place: str
    """A folder of the session's folder: of the file, or where the command starts."""
    program: str = ""
    is_part: bool = False
    """Whether a write replaces a part of a file, and is shown as that part."""

    @property
    def subject(self) -> str:
        """What a No is about: the file, or the command."""
        return f"{self.place}/{self.file}" if self.kind == "write" else f"{self.program} {self.name}"

    @property
    def file(self) -> str:
        return "part.txt" if self.is_part else "file.txt"


def verdict_of(act: Act, user: str) -> Verdict:
    """What the policy says of an act while the user's file is as `user` says."""
    if act.place == "secret" and act.kind == "write":
        return "deny"
    if act.program == "rm":
        return "deny"
    if user in ("broken", "missing"):
        return "ask"
    if act.kind == "run":
        return "allow" if act.program == "ls" else "ask"
    allowed, denied = ("open", "shut") if user == "plain" else ("shut", "open")
    return "allow" if act.place == allowed else "deny" if act.place == denied else "ask"


def is_asked_by_rule(act: Act, user: str) -> bool:
    """Whether a rule, and not its absence, says that people are asked."""
    return user == "broken" or (act.kind == "write" and act.place == "asked" and user != "missing")
