"""`dragoman mcp`: on standard streams for the client that started us, or with `--http` on the network.

Without `--http` nothing of the listener is loaded.
"""

from __future__ import annotations

import argparse
import sys

from dragoman_app.cli.parser import load

HTTP_OPTIONS = (
    ("--listen", "listen"),
    ("--token-file", "token_file"),
    ("--no-token", "no_token"),
    ("--host", "host"),
    ("--origin", "origin"),
    ("--tls-cert", "tls_cert"),
    ("--tls-key", "tls_key"),
    ("--insecure", "insecure"),
    ("--max-connections", "max_connections"),
)


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes the connection, or until a signal; return the exit status."""
    if not args.http:
        load("dragoman.transport.stdio:claim_stdio")()
        names = [name for name, field in HTTP_OPTIONS if getattr(args, field)]
        if names:
            return _refuse(f"{', '.join(names)} works only with --http\nTry: add --http")
        return int(load("dragoman_app.apps.mcp.command:serve_stdio")(args))
    return int(load("dragoman_app.cli.mcp_http:serve_http")(args))


def _refuse(why: str) -> int:
    load("dragoman_app.apps.console:say")(f"dragoman mcp: {why}", file=sys.stderr)
    return 2
