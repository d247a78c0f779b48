"""The process that runs an agent on a remote machine, with that machine's files and terminals:

    python -m dragoman_hub.remote.lending_host SOCKET [--NAME VALUE]… -- COMMAND…

It is the agent host of the hub, whose options it takes (see `dragoman_hub.agents.host.host_process`), with a
lender between host and agent. Started by `attach`, and by nobody else.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from dragoman_hub.agents.host import place
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.host_process import main, run_host
from dragoman_hub.remote.lent_agent import LentAgent

OWN_VARIABLES = ("PYTHONPATH", "DRAGOMAN_AGENT_PYTHONPATH")
"""Variables for processes of ours alone."""


async def run_lending_host(order: HostOrder) -> None:
    """Keep the agent of an order until it has been ended."""
    words, env = await plan(order.command, os.environ if order.env is None else order.env)
    socket = place.of(order.socket)
    if order.sandbox not in ("auto", "off"):
        from dragoman_hub.remote.lender import launcher_for  # most agents have no sandbox of their own

        words = [*launcher_for(words, order.sandbox, order.cwd or ".", env), *words]
    await run_host(
        msgspec.structs.replace(order, command=words, env=env, socket=socket),
        wrap=partial(LentAgent, sandbox=order.sandbox),
    )


async def plan(command: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of the agent. `dragoman` is what we brought along, unless there is one;
    a program that the PATH does not have is looked for on the login shell's.
    """
    env = {name: value for name, value in environ.items() if name not in OWN_VARIABLES}
    if "DRAGOMAN_AGENT_PYTHONPATH" in environ:
        env["PYTHONPATH"] = environ["DRAGOMAN_AGENT_PYTHONPATH"]
    words = [_at_home(command[0]), *command[1:]]
    if os.path.dirname(words[0]) or shutil.which(words[0], path=env.get("PATH")):
        return words, env
    if words[0] == "dragoman":
        return [sys.executable, "-P", "-m", "dragoman", *words[1:]], {
            **env,
            "PYTHONPATH": environ.get("PYTHONPATH", ""),
        }
    from dragoman.sdk.login_path import login_path  # most agents are on the PATH

    env["PATH"] = (await login_path()).path
    return words, env


def _at_home(word: str) -> str:
    return os.path.expanduser(word)


if __name__ == "__main__":
    # Everything is closed and removed by now; taking the interpreter apart would only take time.
    os._exit(main(sys.argv[1:], run_lending_host))
