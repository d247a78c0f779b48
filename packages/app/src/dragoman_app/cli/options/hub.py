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
    parser.add_argument("--listen", metavar="HOST:PORT", help="the address to listen on (127.0.0.1:8765)")
    parser.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        help="another name under which clients reach the hub, with its port",
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate, in PEM form")
    parser.add_argument("--tls-key", metavar="FILE", help="the key of the certificate")
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
    parser.add_argument("--node", metavar="NAME", help="the hub's name in a cluster (the machine's name)")
    parser.add_argument(
        "--default-agent", metavar="NAME", help="the agent for clients that name none (review)"
    )
    add_sandbox(
        parser,
        "commands that run in terminals of the hub: workspace, workspace+net:HOST,…, read-only "
        "or off (workspace, where this machine can hold it",
    )
    parser.add_argument(
        "--check", action="store_true", help="check the configuration and show its values, without starting"
    )
    parser.add_argument(
        "--link", action="store_true", help="print an address that opens the page without a token"
    )
    parser.add_argument("--json", action="store_true", help="print the addresses as one line of JSON")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="the format of log lines (text)"
    )


def add_hub_token_add(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name in lists and logs")
    parser.add_argument("--scope", action="append", choices=SCOPES, help="what the token may do (everything)")
    parser.add_argument("--agent", action="append", default=[], metavar="GLOB", help="only for these agents")
    parser.add_argument("--root", action="append", default=[], metavar="DIR", help="only below these folders")
    parser.add_argument(
        "--expires", type=parse_span, metavar="SPAN", help="how long the token is valid: 12h, 30d, 8w"
    )
    add_hub_token_list(parser)


def add_hub_token_list(parser: Parser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the hub's configuration file, if not the usual one")
    parser.add_argument("--journal", metavar="PATH", help="the hub's journal; the tokens are beside it")
    add_json(parser)


def add_hub_token_revoke(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    add_hub_token_list(parser)


def add_hub_token_rotate(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--grace",
        type=parse_span,
        default=0.0,
        metavar="SPAN",
        help="how long the old token stays valid (0s)",
    )
    add_hub_token_list(parser)


def add_hub_pair(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="the hub's address, ws://… (your own hub)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token and nothing else")
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what the device may do (observe, prompt and approve)",
    )
    parser.add_argument("--name", default="device", help="the device's name in lists and logs (device)")
    parser.add_argument(
        "--for",
        dest="lifetime",
        type=parse_span,
        default=600.0,
        metavar="SPAN",
        help="how long the code is valid: 10s to 1h (10m)",
    )
    parser.add_argument(
        "--expires",
        type=parse_span,
        metavar="SPAN",
        help="how long the device keeps its access: 12h, 30d, 8w (until you revoke it)",
    )
    parser.add_argument(
        "--address", metavar="URL", help="the address where the device opens the page: https://NAME/"
    )
    parser.add_argument(
        "--insecure", action="store_true", help="pair over plain HTTP, on a network that you trust"
    )
    parser.add_argument("--no-qr", action="store_true", help="print only the address")
    parser.add_argument(
        "--json", action="store_true", help="print two lines of JSON: the address, then the result"
    )


def add_hub_reach(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="the hub's address, ws://… (your own hub)")
    add_json(parser)


def add_hub_status(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="the hub's address, ws://… (your own hub)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token and nothing else")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--watch", action="store_true", help="repeat until Ctrl-C")
    parser.add_argument(
        "--every",
        metavar="SECONDS",
        type=seconds(least=0.1, most=86_400),
        default=2.0,
        help="how often with --watch (2)",
    )


def add_serve(parser: Parser) -> None:
    add_listener(parser)
    parser.add_argument(
        "--max-connections", metavar="N", type=int, default=256, help="the most agents at the same time (256)"
    )
    parser.splits = True
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after --")
    openai = parser.add_argument_group("for clients of OpenAI's API")
    openai.add_argument("--openai", action="store_true", help="offer the agent as a model, at /v1")
    openai.add_argument("--show-tools", action="store_true", help="show each tool call in the text")
    add_gateway_agent(openai)
    add_gateway_sessions(openai)
    add_rules(openai)


def add_connect(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="ws://, wss://, http:// or https://")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token and nothing else")
    parser.add_argument("--agent", metavar="NAME", help="an agent of the hub (the hub's default agent)")
    parser.add_argument(
        "--give-up",
        metavar="SECONDS",
        type=seconds(),
        help="stop if the server does not answer for this long (keep trying until the editor disconnects)",
    )


def add_inbox(parser: Parser) -> None:
    parser.add_argument("--hub", metavar="URL", help="the hub's address, ws://… (your own hub)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token and nothing else")
    parser.add_argument("--list", action="store_true", help="only show the questions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--answer", metavar=("NAME", "OPTION"), nargs=2, help="answer one question")


def add_journal(parser: Parser) -> None:
    add_json(parser)


def add_journal_prune(parser: Parser) -> None:
    parser.add_argument(
        "--older-than",
        metavar="SPAN",
        type=parse_span,
        required=True,
        help="without a message for this long, such as 90d",
    )
    parser.add_argument("--journal", metavar="PATH", help="the file of one journal (all of yours)")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the hub's token")
    parser.add_argument("--dry-run", action="store_true", help="show what would be erased, without erasing")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_copy(parser: Parser) -> None:
    parser.add_argument("source", metavar="FROM", help="a journal's file, or an address of NATS")
    parser.add_argument("target", metavar="TO", help="the journal to copy to; created if it does not exist")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_backup(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file for the backup")
    parser.add_argument("--journal", metavar="PATH", help="the journal (the hub's)")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_json(parser, default=argparse.SUPPRESS)


def add_journal_restore(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the backup")
    parser.add_argument("--journal", metavar="PATH", help="the journal (the hub's)")
    parser.add_argument(
        "--force", action="store_true", help="replace an existing journal, which is kept under another name"
    )
    add_json(parser, default=argparse.SUPPRESS)
