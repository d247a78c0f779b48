"""`dragoman agent script`: an agent that follows a script."""

from __future__ import annotations

import argparse

from dragoman.testing.script.process import serve_script
from dragoman.testing.script.script import Script
from dragoman.testing.script.statements import ScriptError
from dragoman_app.apps.console import MISTAKEN, ErrorStatus


def run(args: argparse.Namespace) -> int:
    mend, give = "fix that line; see `dragoman help testing`", "give the path of a script"
    with (
        ErrorStatus(ScriptError, status=MISTAKEN, before=f"{args.file}, ", next_step=mend),
        ErrorStatus(
            UnicodeDecodeError, status=MISTAKEN, before=f"{args.file} is not UTF-8 text: ", next_step=give
        ),
        ErrorStatus(OSError, status=MISTAKEN, next_step=give),
    ):
        script = Script.load(args.file)
    serve_script(script)
    return 0
