"""The options of `dragoman hub`, `serve`, `connect`, `inbox` and `journal`."""

from __future__ import annotations

import argparse

from dragoman_app.cli.options.gateway import add_gateway_agent, add_gateway_sessions, add_listener
from dragoman_app.cli.options.values import add_json, add_rules, add_sandbox, parse_span, seconds
from dragoman_app.cli.parser import Parser

SCOPES = ("observe", "prompt", "approve", "admin")


def add_hub(parser: Parser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help="a TOML file (~/.config/dragoman/hub.toml if it is there)"
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="where (127.0.0.1:8765)")
    parser.add_argument(
        "--host", metavar="NAME", action="append", help="another name of the hub, with its port"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate, in PEM form")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")
    parser.add_argument(
        "--insecure",
        action="store_true",
        default=None,
        help="listen off loopback without TLS, behind a proxy",
    )
    parser.add_argument(
        "--journal",
        metavar="ADDRESS",
        help="where sessions are kept: a file (below ~/.local/share), or nats://… shared with other hubs",
    )
    parser.add_argument(
        "--node", metavar="NAME", help="its name among the hubs of one journal (the machine's)"
    )
    parser.add_argument(
        "--default-agent", metavar="NAME", help="which agent is meant when none is named (review)"
    )
    add_sandbox(
        parser,
        "commands that run in terminals of the hub: workspace, workspace+net:HOST,…, read-only "
        "or off (workspace, where this machine can hold it",
    )
    parser.add_argument(
        "--check", action="store_true", help="read the configuration, say what it means, and end"
    )
    parser.add_argument(
        "--link", action="store_true", help="print an address of the page that lets its reader in"
    )
    parser.add_argument("--json", action="store_true", help="say where it is as JSON, on one line")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="how log lines are written (text)"
    )


def add_hub_token_add(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="what it is called in lists and logs")
    parser.add_argument("--scope", action="append", choices=SCOPES, help="what it is good for (everything)")
    parser.add_argument("--agent", action="append", default=[], metavar="GLOB", help="only for these agents")
    parser.add_argument("--root", action="append", default=[], metavar="DIR", help="only below these folders")
    parser.add_argument("--expires", type=parse_span, metavar="SPAN", help="until when: 12h, 30d, 8w")
    add_hub_token_list(parser)


def add_hub_token_list(parser: Parser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the hub's configuration, if not in its usual place")
    parser.add_argument("--journal", metavar="PATH", help="the hub's journal: its tokens lie beside it")
    add_json(parser)


def add_hub_token_revoke(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    add_hub_token_list(parser)


def add_hub_token_rotate(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--grace", type=parse_span, default=0.0, metavar="SPAN", help="how long the old one is good (0s)"
    )
    add_hub_token_list(parser)


def add_hub_pair(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="ws://… of the hub (this user's own)")
    parser.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what the device may do (observe, prompt and approve)",
    )
    parser.add_argument("--name", default="device", help="what it is called in lists and logs (device)")
    parser.add_argument(
        "--for",
        dest="lifetime",
        type=parse_span,
        default=600.0,
        metavar="SPAN",
        help="how long the code is good: 10s to 1h (10m)",
    )
    parser.add_argument(
        "--expires", type=parse_span, metavar="SPAN", help="how long the device may come: 12h, 30d, 8w"
    )
    parser.add_argument("--address", metavar="URL", help="where the device finds the page: https://NAME/")
    parser.add_argument(
        "--insecure", action="store_true", help="pair over plain HTTP, on a network that you trust"
    )
    parser.add_argument("--no-qr", action="store_true", help="print the address alone")
    parser.add_argument(
        "--json", action="store_true", help="two lines of JSON: the address, and what became of it"
    )


def add_hub_reach(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="ws://… of the hub (this user's own)")
    add_json(parser)


def add_hub_status(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="ws://… of the hub (this user's own)")
    parser.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--watch", action="store_true", help="again and again, until Ctrl-C")
    parser.add_argument(
        "--every",
        metavar="SECONDS",
        type=seconds(least=0.1, most=86_400),
        default=2.0,
        help="how often with --watch (2)",
    )


def add_serve(parser: Parser) -> None:
    add_listener(parser)
    parser.add_argument("--max-connections", metavar="N", type=int, default=256, help="agents at once (256)")
    parser.splits = True
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")
    openai = parser.add_argument_group("for clients of OpenAI's API")
    openai.add_argument("--openai", action="store_true", help="offer the agent as a model, at /v1")
    openai.add_argument("--show-tools", action="store_true", help="name each tool call in the text")
    add_gateway_agent(openai)
    add_gateway_sessions(openai)
    add_rules(openai)


def add_connect(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="ws://, wss://, http:// or https://")
    parser.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    parser.add_argument("--agent", metavar="NAME", help="the agent of the hub; else its default")
    parser.add_argument(
        "--give-up",
        metavar="SECONDS",
        type=seconds(),
        help="end when the server is gone for so long; else it is waited for as long as the editor is there",
    )


def add_inbox(parser: Parser) -> None:
    parser.add_argument("--hub", metavar="URL", help="ws://… of the hub (this user's own)")
    parser.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    parser.add_argument("--list", action="store_true", help="show what is waiting, and ask nothing")
    parser.add_argument("--json", action="store_true", help="the same, as one JSON object")
    parser.add_argument("--answer", metavar=("NAME", "OPTION"), nargs=2, help="answer one of them")


def add_journal(parser: Parser) -> None:
    add_json(parser)


def add_journal_prune(parser: Parser) -> None:
    parser.add_argument(
        "--older-than", metavar="SPAN", type=parse_span, required=True, help="without a word for so long: 90d"
    )
    parser.add_argument("--journal", metavar="PATH", help="one journal's file (all of this person)")
    parser.add_argument("--token-file", metavar="FILE", help="a file that holds the hub's token")
    parser.add_argument("--dry-run", action="store_true", help="show what would be erased, and erase nothing")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_copy(parser: Parser) -> None:
    parser.add_argument("source", metavar="FROM", help="a journal's file, or an address of NATS")
    parser.add_argument("target", metavar="TO", help="another one; made if it is not there")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_backup(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="where the copy goes")
    parser.add_argument("--journal", metavar="PATH", help="which journal (the hub's)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_restore(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the backup")
    parser.add_argument("--journal", metavar="PATH", help="which journal (the hub's)")
    parser.add_argument("--force", action="store_true", help="also where a journal is, which is kept")
    add_json(parser, default=argparse.SUPPRESS)
