"""`dragoman serve`: one agent, for clients on the network; with `--openai` for clients of OpenAI's API."""

from __future__ import annotations

import argparse
import asyncio

from dragoman.sdk.shutdown import ShutdownSignals
from dragoman.text.sanitize import sanitize_line
from dragoman.transport.file_outlet import stderr_writer
from dragoman_app.apps.console import UsageMistake, tell_person
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.gateway.plan import GatewayPlan, make_gateway_plan
from dragoman_app.apps.openai.failures import refusal_body
from dragoman_app.apps.openai.server import OpenaiServer
from dragoman_app.cli.options.gateway import MOST_SESSIONS
from dragoman_app.cli.options.values import SILENCE_SECONDS
from dragoman_app.cli.served_address import ServedAddress
from dragoman_hub.api.agent_per_connection import AgentPerConnection
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import open_listener
from dragoman_hub.api.request_admission import AdmittedRequests

END_WITHIN = 8.0
"""The seconds from the signal to the end of the process: first the running requests, then the agent."""


def run(args: argparse.Namespace) -> int:
    _check_options(args)
    if args.openai:
        plan = make_gateway_plan(args)
        if plan.target.note is not None:
            tell_person("serve", sanitize_line(plan.target.note))
        asyncio.run(_serve_openai(args, plan))
    else:
        asyncio.run(_serve_acp(args))
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
        "--sandbox": args.sandbox,
        "--shell-lines": args.shell_lines,
        "--show-tools": args.show_tools,
        "--silence": args.silence != SILENCE_SECONDS,
    }
    names = [name for name, value in given.items() if value]
    if names:
        raise UsageMistake(
            f"{', '.join(names)} works only with --openai",
            "add --openai, or remove these options: clients that speak ACP decide for themselves",
        )
    if not args.command:
        raise UsageMistake(
            "no agent was named", "put the agent's command after --, or use --openai and --agent"
        )


async def _serve_acp(args: argparse.Namespace) -> None:
    address = ServedAddress(args)
    agents = AgentPerConnection(args.command, most=args.max_connections, on_stderr=stderr_writer())
    with ShutdownSignals() as leaving:
        leaving.listen()
        endpoint = AcpEndpoint(address.admission, agents.accept)
        agents.reclaim = endpoint.http.reclaim
        async with open_listener(endpoint, address.socket, tls=address.tls):
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
            async with open_listener(app, address.socket, tls=address.tls):
                address.announce("http", path="/v1")
                await leaving.end_event.wait()
                await server.aclose()
