"""Gateways for tests: an agent of this process, or a program that does what it is told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dragoman import Agent
from dragoman_app.agents.echo import echo_agent
from dragoman_app.apps.gateway.gateway import Gateway, GatewayRules
from dragoman_app.apps.target import ChosenAgent
from dragoman_local.known import AgentSource, KnownAgent

MORTAL = Path(__file__).parent / "mortal_agent.py"


def make_gateway(folder: Path, *, agent: Agent | None = None, command: str = "", **rules: Any) -> Gateway:
    """With the echo agent, another agent of this process, or a program."""
    words = (sys.executable, command) if command else ("echo",)
    known = KnownAgent(name="echo", command=words, source=AgentSource.COMMAND)
    startable = None if command else agent or echo_agent()
    target = ChosenAgent(known, {}, "echo")
    return Gateway(target, GatewayRules(**rules), cwd=str(folder), startable=startable)
