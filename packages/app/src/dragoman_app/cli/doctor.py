"""`dragoman doctor`: explains why an agent does not start, step by step with the evidence.

This is the command line and what a person sees; the examination is in `dragoman_local.known.doctor`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.target import display_command
from dragoman_app.cli.agents_show import describe_agent
from dragoman_hub.settings_file import load_settings
from dragoman_local.known import AgentSource, KnownAgent, find_agent, read_config
from dragoman_local.known.doctor import Diagnosis, DiagnosisStep, diagnose
from dragoman_local.known.lookup import at_home, find_agent_in, in_place

STATUSES = {
    "ok": 0,
    "auth_needed": 8,
    "agent_died": 9,
    "protocol_error": 10,
    "agent_error": 11,
    "timeout": 124,
    "not_started": 127,
}
"""The exit status of each outcome, as in `dragoman run`."""


def run(args: argparse.Namespace) -> int:
    agent = _agent(args.agent) if args.place is None else _agent_in(args)
    if args.dialect is not None:
        agent = replace(agent, dialect=args.dialect)
    if args.cwd is not None and not agent.place and not os.path.isdir(args.cwd):
        raise LocalMistake(f"--cwd {args.cwd}: no such folder")
    if not args.json:
        say(sanitize_line(f"{agent.name} ({agent.source.value}): {display_command(agent)}"), flush=True)
    on_step = None if args.json else _print_step
    try:
        diagnosis = asyncio.run(diagnose(agent, seconds=args.timeout, cwd=args.cwd, on_step=on_step))
    except KeyboardInterrupt:
        return 130
    if args.json:
        _print_json(diagnosis)
    else:
        _print_evidence(diagnosis, verbose=args.verbose)
    return STATUSES[diagnosis.outcome]


def _agent(words: list[str]) -> KnownAgent:
    if len(words) == 1:
        return _agent_of_hub(words[0]) or find_agent(words[0], or_missing=True)
    return KnownAgent(name=words[0], command=tuple(words), source=AgentSource.COMMAND)


def _agent_of_hub(name: str) -> KnownAgent | None:
    """An agent that the hub's file alone defines."""
    try:
        agent = load_settings().agents.get(name)
    except LocalMistake:  # `dragoman config check` says what is wrong with it
        return None
    if agent is None or not (agent.command or agent.url) or name in read_config().agents:
        return None
    known = KnownAgent(
        name=name,
        command=tuple(agent.command),
        env=dict(agent.env),
        allow=tuple(agent.allow),
        source=AgentSource.CONFIG,
        address=agent.url or None,
        title=agent.title,
        dialect=agent.dialect,
        place=agent.place,
        maps=tuple(agent.map),
    )
    return in_place(at_home(known))


def _agent_in(args: argparse.Namespace) -> KnownAgent:
    text = args.agent[0] if len(args.agent) == 1 else shlex.join(args.agent)
    return find_agent_in(args.place, text, maps=args.map)


def _print_step(step: DiagnosisStep) -> None:
    say(f"{step.verdict.value:<8} {step.name:<11} {sanitize_line(step.summary)}", flush=True)
    rows = [("means: ", step.meaning), ("do:    ", step.advice), *(("", line) for line in step.evidence)]
    for label, text in rows:
        if text:
            say(f"{'':<20} {label}{sanitize_line(text)}", flush=True)


def _print_evidence(diagnosis: Diagnosis, *, verbose: bool) -> None:
    is_well = diagnosis.outcome == "ok"
    if verbose or not is_well:
        if diagnosis.frames:
            print("\nFrames, with the seconds since the start (→ to the agent, ← from it):")
        for frame in diagnosis.frames:
            arrow = "→" if frame.direction == "to_agent" else "←"
            say(f"  {frame.seconds:7.3f} {arrow} {sanitize_line(frame.text)}")
        if diagnosis.stderr.strip():
            print("\nThe end of its standard error:")
            say("\n".join(f"  {line}" for line in sanitize(diagnosis.stderr).strip().split("\n")))
    say(f"\n{sanitize_line(_conclusion(diagnosis))}")


def _conclusion(diagnosis: Diagnosis) -> str:
    warnings = sum(step.verdict == "warning" for step in diagnosis.steps)
    if diagnosis.outcome == "ok":
        return "It works." if not warnings else f"It works, with warnings: {warnings}."
    failed_steps = [step for step in diagnosis.steps if step.verdict == "failed"]
    if not failed_steps:
        return f"It does not work: {diagnosis.outcome.value}"
    return f"It does not work: {failed_steps[-1].summary}. Try: {failed_steps[-1].advice}"


def _print_json(diagnosis: Diagnosis) -> None:
    report = {
        "schema": 1,
        "agent": describe_agent(diagnosis.agent),
        "outcome": diagnosis.outcome.value,
        "status": STATUSES[diagnosis.outcome],
        "steps": diagnosis.steps,
        "frames": diagnosis.frames,
        "stderr": diagnosis.stderr,
    }
    say_json(report, indent=2)
