"""Lines that are more than their commands: a yes for once covers no other line of the same commands."""

from __future__ import annotations

from tests.hostile.tricks import Trick, call
from tests.hostile.tricks_questions import MADE, MAKEFILES, ask, once, terminal

FALSE_AND, FALSE_OR = "false && touch evil", "false || touch evil"
TOOLS = {
    "slow": "#!/bin/sh\nsleep 0.5\ntouch evil\n",
    "without": '#!/bin/sh\n[ "$CI" ] || touch evil\n',
    "with": '#!/bin/sh\n[ "$CI" ] && touch evil\nexit 0\n',
}

LINES: tuple[Trick, ...] = (
    once(
        "once, and a shell of the folder around the program",
        "asks for `make`, runs `./sh -c make`",
        (ask("make"), terminal("./sh", "-c", "make")),
        files=MAKEFILES | {"sh": "#!/bin/sh\n/bin/touch evil\n"},
        honest=MADE,
    ),
    *(
        once(
            f"once, and {name}",
            f"asks for {asked!r}, runs {run!r}",
            (ask(asked), terminal(*run)),
            files=TOOLS,
        )
        for name, asked, run in (
            ("what follows only a success is run always", FALSE_AND, ("sh", "-c", "false; touch evil")),
            ("what follows only a success is run after a failure", FALSE_AND, ("sh", "-c", FALSE_OR)),
            ("the command without its time limit", "timeout 0.001 ./slow", ("./slow",)),
            ("the command without its variable", "CI=1 ./without", ("./without",)),
            ("the command with a variable", "./with", ("sh", "-c", "CI=1 ./with")),
        )
    ),
    once(
        "once, as words of a shell, and another line of it",
        f"asks for {FALSE_AND!r} as words, runs {FALSE_OR!r}",
        (
            {"ask": call(rawInput={"command": ["sh", "-c", FALSE_AND]}, title="Look")},
            terminal("sh", "-c", FALSE_OR),
        ),
    ),
)
