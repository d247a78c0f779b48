"""`python -m dragoman.testing.models SCRIPT`: a scripted model to try by hand.

It prints what to put into the environment of an agent, then a line for each request, until it is stopped.
Status 2 means that the script cannot be read or the port is taken.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from dragoman.testing.models.script import ModelScript
from dragoman.testing.models.server import ScriptedModel, scripted_model
from dragoman.testing.script.statements import ScriptError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dragoman.testing.models",
        description="Serve a scripted model in the formats of OpenAI, Anthropic and Gemini.",
    )
    parser.add_argument("script", help="the script; `dragoman help testing-models` describes the language")
    parser.add_argument("--port", type=int, default=0, help="where to listen on loopback; any free port")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_serve(ModelScript.load(options.script), port=options.port))
    except KeyboardInterrupt:
        return 0
    except (OSError, UnicodeDecodeError, ScriptError) as error:
        sys.stderr.write(f"{options.script}: {error}\n")
        return 2
    return 0


async def _serve(script: ModelScript, *, port: int) -> None:
    async with scripted_model(script, strict=False, port=port) as model:
        _say("".join(f"export {name}={value}\n" for name, value in model.env.items()))
        await _tell(model)


async def _tell(model: ScriptedModel) -> None:
    count = 1
    while True:
        request = await model.wait_for_request(count)
        what = "no turn is left" if request.turn is None else f"turn {request.turn + 1}"
        _say(f"{count}: {what}: {request!r}\n")
        count += 1


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()  # whoever reads a pipe wants the addresses now


if __name__ == "__main__":
    sys.exit(main())
