"""Values of options that several commands share. Every help imports this module."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

HANDSHAKE_SECONDS = 45.0
"""The deadline of the handshake in `dragoman.runtime`, whose import takes longer than showing the help."""

SILENCE_SECONDS = 900.0


def seconds(*, least: float = 0.0, most: float = math.inf, zero: bool = True) -> Callable[[str], float]:
    """Return a type for argparse: a finite number of seconds in a range, from 0 on or, without `zero`, above
    it.
    """

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most and (zero or value)):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number of seconds{_range(least, most, zero)}"
            )
        return value

    return parse


def _range(least: float, most: float, zero: bool) -> str:
    above = f" from {least:g} on" if least else "" if zero else " above 0"
    return above + (f" up to {most:g}" if math.isfinite(most) else "")


def parse_count(text: str) -> int:
    """Parse a whole number above 0."""
    if not (text.isascii() and text.isdigit()) or not 0 < len(text) <= 12 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def parse_span(text: str) -> float:
    """Parse `30d` into seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not (number.isascii() and number.isdigit()) or len(number) > 6:
        raise argparse.ArgumentTypeError("write a number and a unit: 90s, 15m, 12h, 30d, 8w")
    return float(int(number) * units[unit])


def add_json(
    parser: argparse._ActionsContainer, *, default: object = False, instead_of: str = "text"
) -> None:
    """Add `--json`. A subcommand uses `argparse.SUPPRESS` as its default: it must not reset the option of the
    command before it.
    """
    parser.add_argument(
        "--json", action="store_true", default=default, help=f"one JSON object instead of {instead_of}"
    )


def add_dialect(
    parser: argparse._ActionsContainer, *, default: str | None = None, default_text: str = "auto"
) -> None:
    """Add `--dialect`, for every command that starts an agent. `default_text` is the default in the help."""
    parser.add_argument(
        "--dialect",
        metavar="DIALECT",
        type=parse_dialect,
        default=default,
        help=f"what the agent speaks: a name of `dragoman dialect list`, or auto ({default_text})",
    )


def add_map(parser: argparse._ActionsContainer) -> None:
    """Add `--map`, for commands that start an agent on another machine."""
    parser.add_argument(
        "--map",
        metavar="HERE=THERE",
        action="append",
        default=[],
        help="a folder here and the same folder there: paths are translated both ways",
    )


def add_in(parser: argparse._ActionsContainer) -> None:
    """Add `--in` and `--map`."""
    parser.add_argument(
        "--in",
        dest="place",
        metavar="PLACE",
        help="where the agent lives: ssh:HOST, docker:NAME or podman:NAME; its files and terminals are there",
    )
    add_map(parser)


def add_agent(group: argparse._ActionsContainer) -> None:
    """Add the options for the agent, its dialect and its environment."""
    group.add_argument(
        "--agent", metavar="AGENT", help="a name (dragoman agents), a command line, or an address"
    )
    add_dialect(group, default_text="as configured, or auto")
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="pass this variable to the agent (no others)",
    )


def add_silence(group: argparse._ActionsContainer) -> None:
    """Add `--silence`, for commands that run turns."""
    group.add_argument(
        "--silence",
        type=seconds(),
        default=SILENCE_SECONDS,
        metavar="SECONDS",
        help=f"without a sign of life from the agent during a turn ({SILENCE_SECONDS:g}; 0 for no limit)",
    )


def parse_dialect(name: str) -> str:
    from dragoman.dialect.names import CHOICES  # a start without the option does not wait for the list

    if name not in CHOICES:
        raise argparse.ArgumentTypeError(f"unknown dialect {name!r}. Choose from {', '.join(CHOICES)}")
    return name


def add_rules(group: argparse._ActionsContainer) -> None:
    """Add the options for the agent's permissions."""
    group.add_argument(
        "--approve",
        choices=("all", "reads", "none"),
        help="what to allow without asking (reads, if nobody can answer)",
    )
    group.add_argument("--policy", metavar="FILE", help="the rules, as TOML (see `dragoman policy`)")
    group.add_argument(
        "--shell-lines",
        action="store_true",
        help="run lines of shell that agents send as one text, if they are allowed (otherwise refuse them)",
    )
    add_sandbox(
        group,
        "the agent and what it runs: workspace, workspace+net:HOST,…, read-only or off (if you choose none, "
        "off for the agent, and workspace for commands in terminals of ours, where this machine can hold it",
    )


def add_sandbox(group: argparse._ActionsContainer, around: str) -> None:
    group.add_argument(
        "--sandbox", metavar="PROFILE", help=f"the sandbox around {around}; see `dragoman help sandbox`)"
    )
