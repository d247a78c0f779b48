"""`dragoman agent`: starts one of the ready agents.

Standard output is armoured before an agent's code is imported, so that nothing which that code drags in can
print into the conversation.
"""

from __future__ import annotations

import argparse
import sys

from dragoman.cli.console import say
from dragoman.cli.files import explain_error
from dragoman.transport.stdio import claim_stdio


def run_echo(_: argparse.Namespace) -> int:
    claim_stdio()
    from dragoman import serve
    from dragoman.agents.echo import echo_agent

    serve(echo_agent())
    return 0


def run_script(chosen: argparse.Namespace) -> int:
    claim_stdio()
    from dragoman.testing.script.script import Script
    from dragoman.testing.script.serving import serve_script
    from dragoman.testing.script.statements import ScriptError

    try:
        script = Script.load(chosen.file)
    except OSError as error:
        return _refuse(explain_error(error), "give the path of a script")
    except UnicodeDecodeError:
        return _refuse(f"{chosen.file} is not UTF-8 text", "give the path of a script")
    except ScriptError as error:
        return _refuse(f"{chosen.file}, {error}", "mend that line; docs/testing.md describes the language")
    serve_script(script)
    return 0


def _refuse(what: str, next_step: str) -> int:
    say(f"dragoman agent script: {what}\nTo go on: {next_step}.", file=sys.stderr)
    return 2
