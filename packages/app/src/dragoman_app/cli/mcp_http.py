"""`dragoman mcp --http`: one agent as an MCP server for all clients with the token."""

from __future__ import annotations

import argparse
import asyncio

from dragoman.sdk.shutdown import ShutdownSignals
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import UsageMistake, tell_person
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.gateway.plan import GatewayPlan, make_gateway_plan
from dragoman_app.apps.mcp.http_server import PATH, McpHttpServer, refusal_body
from dragoman_app.cli.options.gateway import MOST_CLIENTS
from dragoman_app.cli.served_address import ServedAddress
from dragoman_hub.api.listener import open_listener
from dragoman_hub.api.request_admission import AdmittedRequests

END_WITHIN = 8.0
"""The seconds from the signal to the end of the process: first the calls, then the agent."""


def serve_http(args: argparse.Namespace) -> int:
    """Serve until a signal; return the exit status."""
    if args.no_token and args.token_file:
        raise UsageMistake("both --no-token and --token-file were given", "give one of them")
    plan = make_gateway_plan(args, roots=args.root)
    if plan.target.note is not None:
        tell_person("mcp", sanitize_line(plan.target.note))
    asyncio.run(_serve(args, plan))
    return 0


async def _serve(args: argparse.Namespace, plan: GatewayPlan) -> None:
    address = ServedAddress(args, needs_token=not args.no_token)
    with ShutdownSignals(within=END_WITHIN) as leaving:
        leaving.listen()
        async with Gateway(plan.target, plan.rules, cwd=plan.folders.cwd) as gateway:
            server = McpHttpServer(gateway, plan.folders, most_clients=args.max_connections or MOST_CLIENTS)
            app = AdmittedRequests(
                address.admission,
                server.handle,
                refusal_body=refusal_body,
                readable_headers=b"mcp-session-id",
            )
            async with open_listener(app, address.socket, tls=address.tls):
                address.announce("http", path=PATH)
                await leaving.end_event.wait()
                await server.aclose()
