"""`dragoman serve`: one agent, for clients on the network."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say

if TYPE_CHECKING:
    from dragoman.hub.api.listener import Tls

EPILOG = """examples:
  dragoman serve -- my-agent --acp
  dragoman serve --listen 127.0.0.1:8765 -- dragoman agent review
  DRAGOMAN_TOKEN=… dragoman run "hello" --agent ws://127.0.0.1:8765/acp

Each connection gets an agent of its own, over WebSocket or Streamable HTTP at /acp. It is closed by default:
loopback only, and whoever comes must bring the token that is printed once (or that of --token-file), as
`Authorization: Bearer …`. Pages of others are refused. Off loopback TLS is demanded.

exit status: 0 when it was told to end, 2 when it cannot listen
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    serve = commands.add_parser(
        "serve",
        help="offer an agent to clients on the network",
        description="Offer an agent to clients on the network.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.fill = _fill


def _fill(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:0", help="where (any free port)")
    serve.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    serve.add_argument("--host", metavar="NAME", action="append", default=[], help="another name of ours")
    serve.add_argument("--origin", metavar="URL", action="append", default=[], help="a page that may come")
    serve.add_argument("--tls-cert", metavar="FILE", help="certificate, in PEM form")
    serve.add_argument("--tls-key", metavar="FILE", help="its key")
    serve.add_argument("--insecure", action="store_true", help="listen off loopback without TLS")
    serve.add_argument("--http2", action="store_true", help="speak HTTP/2 too (experimental; extra 'http2')")
    serve.add_argument("--max-connections", metavar="N", type=int, default=256, help="agents at once (256)")
    serve.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")
    serve.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    from dragoman.errors import LocalMistake

    try:
        from dragoman.hub.api import listener  # noqa: F401 -- whether it can be imported at all
    except ImportError as error:
        say(f"dragoman serve: needs the extra 'hub': pip install 'dragoman[hub]' ({error})", file=sys.stderr)
        return 2
    try:
        asyncio.run(_serve(chosen))
    except LocalMistake as error:
        say(f"dragoman serve: {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(chosen: argparse.Namespace) -> None:
    from dragoman.hub.api.agent_per_connection import AgentPerConnection
    from dragoman.hub.api.endpoint import AcpEndpoint
    from dragoman.hub.api.listener import open_listener, open_socket, parse_listen
    from dragoman.hub.gate.admission import Admission, Grant, hashed, local_hosts, names_of
    from dragoman.sdk.proxy.target import shown
    from dragoman.sdk.shutdown import ShutdownSignals

    host, port = parse_listen(chosen.listen)
    tls = _tls(chosen)
    token = _token(chosen.token_file)
    bound = open_socket(host, port, tls=tls, insecure=chosen.insecure)
    port = bound.getsockname()[1]
    names = [*local_hosts(port), *names_of(host, port), *chosen.host]
    admission = Admission({hashed(token): Grant("token")}, hosts=names, origins=chosen.origin)
    agents = AgentPerConnection(chosen.command, most=chosen.max_connections, on_stderr=shown())
    with ShutdownSignals() as leaving:
        leaving.listen()
        endpoint = AcpEndpoint(admission, agents.accept)
        agents.reclaim = endpoint.reclaim
        async with open_listener(endpoint, bound, tls=tls, http2=chosen.http2):
            _say(host, port, tls=tls, token="" if chosen.token_file else token)
            await leaving.asked.wait()
            endpoint.leave()
            await agents.aclose()


def _say(host: str, port: int, *, tls: Tls | None, token: str) -> None:
    place = f"{f'[{host}]' if ':' in host else host}:{port}/acp"
    secure = "s" if tls else ""
    say(f"ws{secure}://{place}\nhttp{secure}://{place}", flush=True)
    if token:
        say(f"The token, which is shown only now: {token}", file=sys.stderr, flush=True)


def _token(path: str | None) -> str:
    from dragoman.cli.tokens import read_token
    from dragoman.errors import LocalMistake
    from dragoman.hub.gate.admission import new_token

    if path is None:
        return new_token()
    token = read_token(path)
    if len(token) < 32:
        raise LocalMistake(f"the token in {path} is shorter than 32 characters: anybody might guess it")
    return token


def _tls(chosen: argparse.Namespace) -> Tls | None:
    from dragoman.errors import LocalMistake
    from dragoman.hub.api.listener import Tls

    if bool(chosen.tls_cert) != bool(chosen.tls_key):
        raise LocalMistake("--tls-cert and --tls-key belong together")
    return Tls(chosen.tls_cert, chosen.tls_key) if chosen.tls_cert else None
