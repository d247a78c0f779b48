"""The options of `dragoman ssh`."""

from __future__ import annotations

from dragoman_app.cli.options.values import add_json, add_map, add_sandbox, seconds
from dragoman_app.cli.parser import Parser


def add_ssh(parser: Parser) -> None:
    parser.splits = True
    parser.usage = "dragoman ssh [options] HOST [-- AGENT …]"
    parser.add_argument(
        "host", metavar="HOST", help="a host as for ssh; or ssh:HOST, docker:NAME, podman:NAME"
    )
    parser.add_argument("command", metavar="AGENT", nargs="*", help="the agent's command there, after --")
    there = parser.add_argument_group("the agent there")
    there.add_argument("--cwd", metavar="DIR", help="the folder that it starts in (the home there)")
    there.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable to send there (none)",
    )
    add_map(there)
    there.add_argument(
        "--keep",
        metavar="SECONDS",
        type=seconds(zero=False),
        default=3600.0,
        help="how long the agent keeps working, and Dragoman keeps reconnecting, without a connection (3600)",
    )
    there.add_argument(
        "--decide",
        choices=("policy", "client"),
        default="policy",
        help="who decides about files and commands: the policy here, which asks the client (the default), "
        "or the client itself, if it is Dragoman",
    )
    add_sandbox(
        there,
        "the agent and what it runs there, if that machine can hold it: workspace (around --cwd), "
        "workspace+net:HOST,…, read-only or off (off for the agent, and workspace for commands",
    )
    there.add_argument("--policy", metavar="FILE", help="rules that apply before your own")
    there.add_argument(
        "--approve",
        choices=("all", "reads", "none"),
        help="never ask: what to allow if no rule matches",
    )
    way = parser.add_argument_group("the way there")
    way.add_argument(
        "--python", metavar="PROGRAM", help="the Python there (DRAGOMAN_REMOTE_PYTHON, or python3)"
    )
    way.add_argument("--pyz", metavar="FILE", help="copy this released dragoman.pyz there, for other systems")
    way.add_argument("--ssh-config", metavar="FILE", help="for ssh, if not your own (DRAGOMAN_SSH_CONFIG)")
    way.add_argument(
        "--no-sharing", action="store_true", help="use a separate ssh connection, and close it at the end"
    )
    rest = parser.add_argument_group("without an agent")
    rest.add_argument(
        "--status", action="store_true", help="show what Dragoman has installed there (the default)"
    )
    rest.add_argument(
        "--remove",
        action="store_true",
        help="end all agents that Dragoman started there, and remove its files",
    )
    add_json(rest)
