"""`dragoman serve`: one agent, for clients on the network."""

from __future__ import annotations

import argparse
import asyncio
import sys

from dragoman.apps.console import say
from dragoman.apps.files import read_token
from dragoman.errors import LocalMistake
from dragoman.hub.api.agent_per_connection import AgentPerConnection
from dragoman.hub.api.endpoint import AcpEndpoint
from dragoman.hub.api.listener import Tls, open_listener, open_socket, parse_listen
from dragoman.hub.gate.admission import Admission, Grant, hash_token, local_hosts, names_of, new_token
from dragoman.sdk.proxy.target import stderr_writer
from dragoman.sdk.shutdown import ShutdownSignals


def run(args: argparse.Namespace) -> int:
    try:
        asyncio.run(_serve(args))
    except LocalMistake as error:
        say(f"dragoman serve: {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(args: argparse.Namespace) -> None:
    host, port = parse_listen(args.listen)
    tls = _tls(args)
    token = _token(args.token_file)
    listening_socket = open_socket(host, port, tls=tls, insecure=args.insecure)
    port = listening_socket.getsockname()[1]
    names = [*local_hosts(port), *names_of(host, port), *args.host]
    admission = Admission({hash_token(token): Grant("token")}, hosts=names, origins=args.origin)
    agents = AgentPerConnection(args.command, most=args.max_connections, on_stderr=stderr_writer())
    with ShutdownSignals() as leaving:
        leaving.listen()
        endpoint = AcpEndpoint(admission, agents.accept)
        agents.reclaim = endpoint.reclaim
        async with open_listener(endpoint, listening_socket, tls=tls, http2=args.http2):
            _say(host, port, tls=tls, token="" if args.token_file else token)
            await leaving.end_event.wait()
            endpoint.leave()
            await agents.aclose()


def _say(host: str, port: int, *, tls: Tls | None, token: str) -> None:
    place = f"{f'[{host}]' if ':' in host else host}:{port}/acp"
    secure = "s" if tls else ""
    say(f"ws{secure}://{place}\nhttp{secure}://{place}", flush=True)
    if token:
        say(f"The token, which is shown only now: {token}", file=sys.stderr, flush=True)


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
