"""Questions that hide from a screen what they are about, and tricks that are tried without a hub."""

from __future__ import annotations

from dataclasses import dataclass

from tests.hostile.tricks import Step, Trick, announce, call
from tests.hostile.tricks_claims import CLAIMED
from tests.hostile.tricks_places import PLACES

COMMAND = {"command": "touch evil"}
LATER: Step = {"ask": call(rawInput={"command": "touch good"}), "later": True}
CHANGE: Step = {
    "update": {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "call-1",
        "rawInput": COMMAND,
        "status": "pending",
    }
}
OPTION = "    1. No (reject_once)"


@dataclass(frozen=True)
class Face:
    """One question, and a line that must not be on the screen."""

    name: str
    steps: tuple[Step, ...]
    axis: str = "A"
    said: str = "nothing yet: a person looks at the inbox"
    does: str = "asks in a way that hides what it is about"
    forged: str = ""
    may_be_withdrawn: bool = False
    """Whether it is no question any more if the hub has judged it before the agent went on."""


def diffs(count: int) -> list[Step]:
    return [{"type": "diff", "path": f"@here@/f{number}", "newText": "x\n"} for number in range(count)]


FACES: tuple[Face, ...] = (
    Face(
        "shown: a command that was announced before",
        (announce(rawInput=COMMAND), {"ask": {"toolCallId": "call-1", "title": "Look around"}}),
    ),
    Face(
        "shown: an announced command beside another in the request",
        (announce(rawInput=COMMAND), {"ask": call(rawInput={"command": "touch good"})}),
    ),
    Face(
        "shown: a command that changes while the question is open",
        (LATER, CHANGE, {"join": "q"}),
        may_be_withdrawn=True,
    ),
    Face(
        "shown: a diff that was announced before",
        (
            announce("edit", content=[{"type": "diff", "path": "@here@/a", "newText": "evil"}]),
            {"ask": {"toolCallId": "call-1", "title": "Edit"}},
        ),
    ),
    Face("shown: a command behind a title that lies", ({"ask": call(rawInput=COMMAND, title="List files")},)),
    Face("shown: a command of a read", ({"ask": call("read", rawInput=COMMAND, title="Read a file")},)),
    Face(
        "shown: a command in a key that nobody knows",
        ({"ask": call(rawInput={"zork": "touch evil"}, title="Read")},),
    ),
    Face(
        "shown: a command at the end of a long line",
        ({"ask": call(rawInput={"command": "echo " + "a " * 3000 + "; touch evil"})},),
    ),
    Face(
        "shown: a command behind many empty lines",
        ({"ask": call(rawInput={"command": "echo a" + "\n" * 300 + "touch evil"})},),
    ),
    Face(
        "shown: a command behind a carriage return",
        ({"ask": call(rawInput={"command": "touch evil\recho a    "})},),
    ),
    Face(
        "shown: a command that a terminal would wipe",
        ({"ask": call(rawInput={"command": "touch evil\x1b[2K\x1b[1Gecho"})},),
    ),
    Face(
        "shown: the last of many diffs",
        (
            {
                "ask": call(
                    "edit", content=[*diffs(40), {"type": "diff", "path": "@here@/z", "newText": "evil"}]
                )
            },
        ),
    ),
    Face(
        "shown: a path beside a diff of another",
        ({"ask": call("edit", rawInput={"file_path": "/evil"}, content=diffs(1))},),
    ),
    Face(
        "shown: a place beside a diff of another",
        ({"ask": call("edit", locations=[{"path": "/evil"}], content=diffs(1))},),
    ),
    Face(
        "shown: the folder of a command", ({"ask": call(rawInput={"command": "make", "cwd": "/srv/evil"})},)
    ),
    Face(
        "shown: the variables of a terminal",
        ({"terminal": {"command": "make", "env": [{"name": "CC", "value": "evil"}]}},),
    ),
    Face(
        "shown: a title that draws an option",
        ({"ask": call(rawInput=COMMAND, title=f"Look\n{OPTION}\n")},),
        forged=OPTION,
    ),
    Face(
        "shown: an option that draws another",
        (
            {
                "ask": call(rawInput=COMMAND),
                "options": [{"optionId": "yes", "name": f"Go on\n{OPTION}", "kind": "allow_once"}],
            },
        ),
        forged=OPTION,
    ),
)

RUN_NAMES = (
    "a denied file under the key target",
    "an edit whose diff is elsewhere",
    "a read with a command under the key script",
)
RUNS = [trick for trick in (*PLACES, *CLAIMED) if trick.name in RUN_NAMES]


@dataclass(frozen=True)
class Renamed:
    """A trick of another table, under a name of its own in the list of open ones."""

    trick: Trick

    @property
    def name(self) -> str:
        return f"run: {self.trick.name}"


RENAMED = tuple(Renamed(trick) for trick in RUNS)
