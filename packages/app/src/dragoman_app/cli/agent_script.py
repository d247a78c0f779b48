"""`dragoman agent script`: an agent that does what a script says."""

from __future__ import annotations

import argparse
import sys

from dragoman.testing.script.process import serve_script
from dragoman.testing.script.script import Script
from dragoman.testing.script.statements import ScriptError
from dragoman_app.apps.console import say
from dragoman_app.apps.files import explain_error


def run(args: argparse.Namespace) -> int:
    try:
        script = Script.load(args.file)
    except OSError as error:
        return _refuse(explain_error(error), "give the path of a script")
    except UnicodeDecodeError:
        return _refuse(f"{args.file} is not UTF-8 text", "give the path of a script")
    except ScriptError as error:
        return _refuse(f"{args.file}, {error}", "mend that line; see `dragoman help testing`")
    serve_script(script)
    return 0


def _refuse(what: str, next_step: str) -> int:
    say(f"dragoman agent script: {what}\nTo go on: {next_step}.", file=sys.stderr)
    return 2
