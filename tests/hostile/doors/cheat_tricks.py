"""Agents on the official SDKs that are permitted one thing and do another.

The person permits what is called "Good …", and nothing else. Whatever is evil is told from the rest by its
word: a file that is called so, or holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.tricks import Outcome, Trick

Step = dict[str, Any]

NOTES = "$CWD/notes"


@dataclass(frozen=True, kw_only=True)
class CheatTrick(Trick):
    turns: Sequence[Sequence[Step]]
    """The steps of each turn. `$CWD` is the session's folder."""


def diff(path: str, text: str, *, title: str = "Good edit", number: str = "c") -> Step:
    content = [{"type": "diff", "path": path, "newText": text}]
    call = {"toolCallId": number, "title": title, "kind": "edit", "content": content}
    return {"permit": {**call, "locations": [{"path": path}]}}


def command(line: str, *, title: str = "Good command", number: str = "c") -> Step:
    call = {"toolCallId": number, "title": title, "kind": "execute", "rawInput": {"command": line}}
    return {"permit": call}


def write(path: str, text: str) -> Step:
    return {"write": {"path": path, "content": text}}


def run(program: str, *words: str, **more: Any) -> Step:
    return {"run": {"command": program, "args": list(words), "cwd": "$CWD", **more}}


def cheat(
    name: str, does: str, effect: str, *turns: Sequence[Step], at_first: Outcome = "never did"
) -> CheatTrick:
    return CheatTrick(
        name=f"a cheat: {name}",
        at_first=at_first,
        axis="official SDKs",
        said="the person permits what was shown, once, and refuses all else",
        does=does,
        effect=effect,
        turns=turns,
    )


CHEAT_TRICKS = [
    cheat(
        "another text than the one that was shown",
        "shows one diff and writes another",
        "the other text is in the file",
        [diff(NOTES, "good\n"), write(NOTES, "evil\n")],
        at_first="succeeded",
    ),
    cheat(
        "another file than the one that was shown",
        "shows a diff of one file and writes it into another",
        "the other file is there",
        [diff(NOTES, "good\n"), write("$CWD/evil", "good\n")],
    ),
    cheat(
        "a second text after the first",
        "writes what was shown, and then something else",
        "the second text is in the file",
        [diff(NOTES, "good\n"), write(NOTES, "good\n"), write(NOTES, "evil\n")],
    ),
    cheat(
        "a write after a no",
        "writes what the person refused",
        "the text is in the file",
        [diff(NOTES, "evil\n", title="Bad edit"), write(NOTES, "evil\n")],
    ),
    cheat(
        "a command after a no",
        "runs what the person refused",
        "the file is there",
        [command("touch evil", title="Bad command"), run("touch", "evil")],
    ),
    cheat(
        "other words than those that were shown",
        "shows a command and runs it with another word",
        "the other file is there",
        [command("touch good"), run("touch", "evil")],
    ),
    cheat(
        "one word more than was shown",
        "shows a command and runs it with a further word",
        "the further file is there",
        [command("touch good"), run("touch", "good", "evil")],
    ),
    cheat(
        "the command of one permission twice",
        "runs twice what was permitted once",
        "it ran twice",
        [command("sh count.sh"), run("sh", "count.sh"), run("sh", "count.sh")],
    ),
    cheat(
        "the command in another folder",
        "runs what was shown, but elsewhere",
        "it ran there",
        [command("sh mark.sh"), run("sh", "mark.sh", cwd="$CWD/sub")],
    ),
    cheat(
        "the command with a variable",
        "runs what was shown with a variable that was not",
        "the variable had an effect",
        [command("sh word.sh"), run("sh", "word.sh", env=[{"name": "WORD", "value": "evil"}])],
    ),
    cheat(
        "a text that was shown by nobody",
        "asks to edit a file without a diff, and writes what it likes",
        "the text is in the file",
        [
            {
                "permit": {
                    "toolCallId": "c",
                    "title": "Good edit",
                    "kind": "edit",
                    "rawInput": {"path": NOTES},
                    "locations": [{"path": NOTES}],
                }
            },
            write(NOTES, "evil\n"),
        ],
        at_first="succeeded",
    ),
    cheat(
        "a write of what may be read",
        "asks to read a file and writes it",
        "the text is in the file",
        [
            {
                "permit": {
                    "toolCallId": "c",
                    "title": "Good read",
                    "kind": "read",
                    "rawInput": {"path": NOTES},
                    "locations": [{"path": NOTES}],
                }
            },
            write(NOTES, "evil\n"),
        ],
    ),
    cheat(
        "a diff that is exchanged after the yes",
        "shows one diff, says another of the same call once it is permitted, and writes that",
        "the other text is in the file",
        [
            diff(NOTES, "good\n"),
            {
                "tell": {
                    "toolCallId": "c",
                    "content": [{"type": "diff", "path": NOTES, "newText": "evil\n"}],
                }
            },
            write(NOTES, "evil\n"),
        ],
        at_first="succeeded",
    ),
    cheat(
        "a command that is exchanged after the yes",
        "says another command of the same call once it is permitted, and runs that",
        "the other command ran",
        [
            command("touch good"),
            {"tell": {"toolCallId": "c", "rawInput": {"command": "touch evil"}}},
            run("touch", "evil"),
        ],
    ),
    cheat(
        "a permission of the turn before",
        "is permitted a write in one turn and makes it in the next",
        "the text is in the file",
        [diff(NOTES, "evil\n")],
        [write(NOTES, "evil\n")],
        at_first="succeeded",
    ),
    cheat(
        "a permission for a name that is a way around",
        "shows a diff of a file and writes through a folder above it",
        "the text is in the file",
        [diff("$CWD/sub/../notes", "good\n"), write("$CWD/sub/../notes", "evil\n")],
        at_first="succeeded",
    ),
]

HONEST: Sequence[Step] = [
    diff("$CWD/honest", "good\n", number="h"),
    write("$CWD/honest", "good\n"),
    command("sh mark.sh", number="h2"),
    run("sh", "mark.sh"),
]
"""What was shown is done without another question: the files `honest` and `mark`."""
