"""An agent that prints everywhere it should not."""

import ctypes
import os
import subprocess
import sys
import warnings

from dragoman import Agent, Turn, serve

agent = Agent("noisy")

print("printed before it serves")


@agent.prompt
async def shout(turn: Turn) -> None:
    print('{"jsonrpc":"2.0","method":"printed"}')
    sys.stdout.write("written without a newline")
    sys.stdout.flush()
    os.write(1, b"to descriptor one\n")
    subprocess.run(["/bin/sh", "-c", "echo from a child; echo and its stderr >&2"], check=True)
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    print("to stderr", file=sys.stderr)
    warnings.warn("a warning", stacklevel=1)
    if sys.__stdout__ is not None:
        sys.__stdout__.write("to the first stdout\n")
    await turn.say("heard")


serve(agent)
