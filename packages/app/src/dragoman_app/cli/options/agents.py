"""The options of `dragoman agent`, `agents`, `new`, `doctor`, `policy` and `audit`."""

from __future__ import annotations

import argparse

from dragoman_app.cli.options.values import (
    HANDSHAKE_SECONDS,
    add_dialect,
    add_in,
    add_json,
    parse_count,
    parse_span,
    seconds,
)
from dragoman_app.cli.parser import Parser


def add_agent_review(parser: Parser) -> None:
    _add_model(parser, "openai", "anthropic")
    parser.add_argument("--offline", action="store_true", help="use no model, even if one is configured")
    parser.add_argument(
        "--budget-requests",
        type=parse_count,
        metavar="N",
        help="the most requests to the model in one review (40)",
    )
    parser.add_argument(
        "--budget-tokens",
        type=parse_count,
        metavar="N",
        help="the most tokens for all requests together (400000)",
    )
    parser.add_argument(
        "--budget-seconds",
        type=seconds(zero=False),
        metavar="S",
        help="the most seconds for one review (600)",
    )


def _add_model(parser: Parser, *apis: str) -> None:
    """The model of an agent of ours, and where it keeps its sessions."""
    parser.add_argument("--model", metavar="MODEL", help="the model's name, or openai:NAME or anthropic:NAME")
    parser.add_argument(
        "--base-url", metavar="URL", help="the address of the model's server, if not the vendor's"
    )
    parser.add_argument("--api", choices=apis, help="the wire format of that server")
    parser.add_argument("--key-file", metavar="FILE", help="a file with the key and nothing else")
    parser.add_argument("--sessions", metavar="FILE", help="the journal for its sessions")


def add_agent_code(parser: Parser) -> None:
    _add_model(parser, "openai", "responses", "anthropic")
    parser.add_argument("--system", metavar="FILE", help="a file that replaces the system prompt")
    parser.add_argument("--config", metavar="FILE", help="the configuration file, if not the usual one")


def add_agent_script(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the script; see `dragoman help testing`")


def add_new(parser: Parser) -> None:
    parser.add_argument("kind", choices=("agent", "client", "proxy"), metavar="agent|client|proxy")
    parser.add_argument(
        "name", metavar="NAME", help="the name of the project and its command: lower case, with hyphens"
    )
    parser.add_argument("--into", metavar="DIR", help="the folder to create (./NAME)")


def add_agents(parser: Parser) -> None:
    add_json(parser, instead_of="a table")
    parser.set_defaults(all=False)


def add_agents_list(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="also well-known agents that are not installed")
    add_json(parser, default=argparse.SUPPRESS, instead_of="a table")


def add_agents_show(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")
    add_json(parser, default=argparse.SUPPRESS, instead_of="a table")


def add_agents_import(parser: Parser) -> None:
    parser.add_argument("product", choices=("zed", "jetbrains", "acpx"), metavar="zed|jetbrains|acpx")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the program's settings file, if not the usual one"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be imported and write nothing"
    )
    _add_replace(parser)
    add_json(parser, default=argparse.SUPPRESS, instead_of="a table")


def add_agents_add(parser: Parser) -> None:
    parser.usage = "dragoman agents add [options] NAME COMMAND [ARGUMENT ...]"
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER)
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable to set for the agent"
    )
    parser.add_argument(
        "--allow",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable of your environment that the agent may see",
    )
    parser.add_argument("--title", default="", help="a title to show beside the name")
    add_in(parser)
    add_dialect(parser, default="auto")
    _add_replace(parser)


def add_agents_remove(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")


def add_agents_default(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME", nargs="?", help="the agent; without NAME, show your default")


def add_agents_install(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME[@VERSION]", help="an agent from `dragoman agents registry`")
    parser.add_argument(
        "--plan", metavar="ID", help="install only if the plan of `--dry-run --json` still has this id"
    )
    _add_install(parser)


def add_agents_update(parser: Parser) -> None:
    parser.add_argument(
        "agents", metavar="NAME", nargs="*", help="the agents to update (all installed agents)"
    )
    _add_install(parser)


def add_agents_rollback(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME")
    add_json(parser, default=argparse.SUPPRESS)


def add_agents_uninstall(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME")
    _add_consent(parser)


def add_agents_registry(parser: Parser) -> None:
    add_json(parser, default=argparse.SUPPRESS, instead_of="a table")


def add_agents_registry_refresh(parser: Parser) -> None:
    parser.add_argument("source", metavar="FILE|ADDRESS", help="a registry.json: a file or an https address")
    parser.add_argument("--dry-run", action="store_true", help="show the changes and write nothing")
    add_json(parser, default=argparse.SUPPRESS)


def add_agents_registry_reset(parser: Parser) -> None:
    """Add no options."""


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a registry.json or agent.json instead of Dragoman's list",
    )
    parser.add_argument(
        "--kind", choices=("npx", "uvx", "binary"), help="how to install, if there are several ways"
    )
    parser.add_argument("--allow-scripts", action="store_true", help="run the install scripts of packages")
    parser.add_argument(
        "--allow-unverified", action="store_true", help="also install an archive without a known hash"
    )
    parser.add_argument(
        "--python", metavar="PROGRAM", help="the Python for a Python package (Dragoman's own Python)"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds(most=86_400, zero=False),
        default=600.0,
        help="the most seconds for the installation (600)",
    )
    _add_consent(parser)


def _add_consent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and change nothing")
    add_json(parser, default=argparse.SUPPRESS)


def add_agents_login(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")
    parser.add_argument("method", metavar="METHOD", nargs="?", help="the id of a login method")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME[=VALUE]", help="pass this variable to the agent"
    )


def add_agents_logout(parser: Parser) -> None:
    parser.add_argument("agent", metavar="NAME", help="a name, a command in quotes or an address")


def _add_replace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--replace", action="store_true", help="overwrite an agent of the same name")


def add_doctor(parser: Parser) -> None:
    parser.add_argument(
        "agent", metavar="AGENT", nargs="+", help="a name, a command in quotes, or a command after --"
    )
    add_in(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object with all details")
    parser.add_argument(
        "--verbose", action="store_true", help="show messages and standard error, also if the agent works"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds(most=86_400, zero=False),
        default=HANDSHAKE_SECONDS,
        help=f"the most seconds for each answer ({HANDSHAKE_SECONDS:g}, as in `dragoman run`)",
    )
    add_dialect(parser, default_text="as configured, or auto")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder for the agent and its session")


def add_policy_explain(parser: Parser) -> None:
    parser.add_argument("--command", metavar="LINE", help="a command, as for a shell")
    parser.add_argument("--tool", metavar="NAME", help="a kind of tool, such as edit, or a tool's name")
    parser.add_argument("--kind", metavar="KIND", help="the kind of tool, if --tool is a name")
    parser.add_argument(
        "--path", metavar="PATH", action="append", default=[], help="a path; you can repeat this option"
    )
    parser.add_argument("--method", choices=("permission", "fs/read", "fs/write", "terminal", "mcp"))
    parser.add_argument("--request", metavar="FILE", help="a permission request as JSON; - for stdin")
    parser.add_argument("--agent", metavar="NAME", default="", help="the agent's name")
    _add_place(parser)
    add_json(parser)


def add_policy_allow(parser: Parser) -> None:
    parser.add_argument("--agent", metavar="NAME", required=True, help="the agent's name")
    parser.add_argument("--command", metavar="LINE", help="a command, as for a shell")
    parser.add_argument("--kind", metavar="KIND", help="a kind of tool, such as edit")
    parser.add_argument(
        "--path", metavar="PATH", action="append", default=[], help="a path; you can repeat this option"
    )
    parser.add_argument("--tool", metavar="NAME", help="a tool's name")
    parser.add_argument("--cwd", metavar="DIR", default=".", help="the session's folder (the current folder)")
    parser.set_defaults(request=None, method=None)


def add_policy_list(parser: Parser) -> None:
    _add_place(parser)
    add_json(parser)


def add_policy_test(parser: Parser) -> None:
    parser.add_argument("--history", action="store_true", required=True, help="use the recorded sessions")
    parser.add_argument("--policy", metavar="FILE", help="a policy file that comes before all others")
    _add_journals(parser)


def add_policy_suggest(parser: Parser) -> None:
    parser.add_argument("--policy", metavar="FILE", help="make rules for this file instead of yours")
    parser.add_argument(
        "--least",
        type=parse_count,
        default=2,
        metavar="N",
        help="suggest only rules that save at least N questions (2)",
    )
    parser.add_argument("--write", action="store_true", help="add the rules at the end of the file")
    _add_journals(parser)


def add_policy_learn(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION", help="an id from `dragoman sessions list`, or `last`")
    parser.add_argument("--policy", metavar="FILE", help="make rules for this file instead of yours")
    parser.add_argument("--write", action="store_true", help="add the rules at the end of the file")
    _add_journals(parser, has_since=False)


def _add_journals(parser: Parser, *, has_since: bool = True) -> None:
    if has_since:
        parser.add_argument("--since", metavar="SPAN", type=parse_span, help="only the latest: 12h, 30d, 8w")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        action="append",
        default=[],
        help="a journal instead of those of run, chat and your hub; you can repeat this option",
    )
    add_json(parser)


def add_policy_forget(parser: Parser) -> None:
    parser.add_argument("line", metavar="LINE", type=int, help="its line in `dragoman policy list`")


def add_sandbox_show(parser: Parser) -> None:
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="workspace",
        help="workspace, read-only or off, with additions such as workspace+net:HOST (workspace)",
    )
    parser.add_argument("--cwd", metavar="DIR", help="the folder of the session (the current one)")
    parser.add_argument("--add-dir", action="append", default=[], metavar="DIR", help="one more folder")
    add_json(parser)
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="a command, after --")


def add_sandbox_verify(parser: Parser) -> None:
    add_sandbox_show(parser)


def add_audit_verify(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a log file (your own log)")
    add_json(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="DIR", default=".", help="the session's folder (the current folder)")
    parser.add_argument("--policy", metavar="FILE", help="a policy file that comes before all others")
    parser.add_argument("--approve", choices=("all", "reads", "none"), help="as in `dragoman run`")
