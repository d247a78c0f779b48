"""`dragoman serve`: one agent, for clients on the network; with `--openai` for clients of OpenAI's API.

What both have is the listener: loopback, a token, a check of Host and Origin, and TLS off loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys

from dragoman.apps.console import UsageMistake, say
from dragoman.apps.files import read_token
from dragoman.apps.gateway.gateway import Gateway
from dragoman.apps.gateway.plan import GatewayPlan, make_gateway_plan
from dragoman.apps.openai.failures import refusal_body
from dragoman.apps.openai.server import OpenaiServer
from dragoman.cli.options.gateway import MOST_SESSIONS, SILENCE_SECONDS
from dragoman.errors import LocalMistake
from dragoman.hub.api.admitted import AdmittedRequests
from dragoman.hub.api.agent_per_connection import AgentPerConnection
from dragoman.hub.api.endpoint import AcpEndpoint
from dragoman.hub.api.listener import Tls, open_listener, open_socket, parse_listen
from dragoman.hub.gate.admission import Admission, Grant, hash_token, local_hosts, names_of, new_token
from dragoman.sdk.shutdown import ShutdownSignals
from dragoman.text.sanitize import sanitize_line
from dragoman.transport.nonblocking import stderr_writer

END_WITHIN = 8.0
"""Seconds from the signal to the end of the process: requests that run, and then the agent."""


def run(args: argparse.Namespace) -> int:
    try:
        _check_options(args)
        if args.openai:
            plan = make_gateway_plan(args)
            if plan.target.note is not None:
                say(f"dragoman serve: {sanitize_line(plan.target.note)}", file=sys.stderr)
            asyncio.run(_serve_openai(args, plan))
        else:
            asyncio.run(_serve_acp(args))
    except UsageMistake as mistake:
        say(f"dragoman serve: {mistake}\nTo go on: {mistake.next_step}.", file=sys.stderr)
        return 2
    except LocalMistake as error:
        say(f"dragoman serve: {error}", file=sys.stderr)
        return 2
    return 0


def _check_options(args: argparse.Namespace) -> None:
    if args.openai:
        return
    given = {
        "--agent": args.agent,
        "--approve": args.approve,
        "--cwd": args.cwd,
        "--dialect": args.dialect,
        "--env": args.env,
        "--max-sessions": args.max_sessions != MOST_SESSIONS,
        "--policy": args.policy,
        "--shell-lines": args.shell_lines,
        "--show-tools": args.show_tools,
        "--silence": args.silence != SILENCE_SECONDS,
    }
    names = [name for name, value in given.items() if value]
    if names:
        raise UsageMistake(
            f"{', '.join(names)} can be given with --openai alone",
            "add --openai, or leave them out: clients that speak ACP decide for themselves",
        )
    if not args.command:
        raise UsageMistake("no agent was named", "give its command after --, or --openai and --agent")


class ServedAddress:
    """Where we listen, and who may come. Opening it binds the socket; whoever serves closes it."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.host, port = parse_listen(args.listen)
        self.tls = _tls(args)
        token = _token(args.token_file)
        self._shown_token = "" if args.token_file else token
        self.socket: socket.socket = open_socket(self.host, port, tls=self.tls, insecure=args.insecure)
        self.port = self.socket.getsockname()[1]
        names = [*local_hosts(self.port), *names_of(self.host, self.port), *args.host]
        self.admission = Admission({hash_token(token): Grant("token")}, hosts=names, origins=args.origin)

    def announce(self, *schemes: str, path: str) -> None:
        """Print the addresses, and the token if nobody has it yet."""
        place = f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{path}"
        secure = "s" if self.tls else ""
        say("\n".join(f"{scheme}{secure}://{place}" for scheme in schemes), flush=True)
        if self._shown_token:
            say(f"The token, which is shown only now: {self._shown_token}", file=sys.stderr, flush=True)


async def _serve_acp(args: argparse.Namespace) -> None:
    address = ServedAddress(args)
    agents = AgentPerConnection(args.command, most=args.max_connections, on_stderr=stderr_writer())
    with ShutdownSignals() as leaving:
        leaving.listen()
        endpoint = AcpEndpoint(address.admission, agents.accept)
        agents.reclaim = endpoint.reclaim
        async with open_listener(endpoint, address.socket, tls=address.tls, http2=args.http2):
            address.announce("ws", "http", path="/acp")
            await leaving.end_event.wait()
            endpoint.leave()
            await agents.aclose()


async def _serve_openai(args: argparse.Namespace, plan: GatewayPlan) -> None:
    address = ServedAddress(args)
    with ShutdownSignals(within=END_WITHIN) as leaving:
        leaving.listen()
        async with Gateway(plan.target, plan.rules, cwd=plan.folders.cwd) as gateway:
            server = OpenaiServer(gateway, cwd=plan.folders.cwd, show_tools=args.show_tools)
            app = AdmittedRequests(address.admission, server.handle, refusal_body=refusal_body)
            async with open_listener(app, address.socket, tls=address.tls, http2=args.http2):
                address.announce("http", path="/v1")
                await leaving.end_event.wait()
                await server.aclose()


def _token(path: str | None) -> str:
    if path is None:
        return new_token()
    token = read_token(path)
    if len(token) < 32:
        raise LocalMistake(f"the token in {path} is shorter than 32 characters: anybody might guess it")
    return token


def _tls(args: argparse.Namespace) -> Tls | None:
    if bool(args.tls_cert) != bool(args.tls_key):
        raise LocalMistake("--tls-cert and --tls-key belong together")
    return Tls(args.tls_cert, args.tls_key) if args.tls_cert else None
