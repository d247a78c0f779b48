"""`dragoman hub token`: access to a hub; creates, lists, rotates and revokes tokens.

A running hub notices changes within a second, and a new token at once. Options are added when the command is
chosen, imports happen when it runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say, say_json
from dragoman_app.cli.options.hub import SCOPES
from dragoman_hub.gate.admission import ALL
from dragoman_hub.gate.grants_store import Token, TokenStore
from dragoman_hub.settings_file import SettingsError, load_settings


def run(args: argparse.Namespace) -> int:
    path = None if args.config is None else Path(args.config)
    with ErrorStatus(LocalMistake, OSError, status=1), ErrorStatus(SettingsError, status=MISTAKEN):
        settings = load_settings(path, overrides={"journal": args.journal})
        return _DONE[args.action](TokenStore(settings.tokens_path), args)


def _add(store: TokenStore, args: argparse.Namespace) -> int:
    expires = None if args.expires is None else time.time() + args.expires
    token = store.add(
        args.name,
        scopes=args.scope or ALL,
        agents=args.agent,
        roots=args.root,
        expires=expires,
    )
    return _show_token(store, args, token)


def _rotate(store: TokenStore, args: argparse.Namespace) -> int:
    return _show_token(store, args, store.rotate(args.name, grace=args.grace))


def _show_token(store: TokenStore, args: argparse.Namespace, token: str) -> int:
    if args.json:
        entry = next(token for token in store.read() if token.name == args.name)
        _print_json({**_plain(entry), "token": token})
    else:
        say(token)
        say(f"This is the token {args.name!r}. Copy it now: it is shown only once.", file=sys.stderr)
    return 0


def _revoke(store: TokenStore, args: argparse.Namespace) -> int:
    store.revoke(args.name)
    if args.json:
        _print_json({"revoked": args.name})
    else:
        say(f"Revoked {args.name}")
    return 0


def _list(store: TokenStore, args: argparse.Namespace) -> int:
    tokens = sorted(store.read(), key=lambda token: token.name)
    if args.json:
        _print_json({"tokens": [_plain(token) for token in tokens]})
    elif not tokens:
        print(
            "No tokens yet. The first start of the hub creates a token; to create one now: dragoman hub "
            "token add NAME"
        )
    else:
        _print_table(tokens)
    return 0


def _print_table(tokens: list[Token]) -> None:
    head = ("name", "scopes", "only for", "expires", "last used", "device")
    rows = [head, *(_row(token) for token in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(token: Token) -> tuple[str, ...]:
    scopes = "all" if set(token.scopes) == set(SCOPES) else ",".join(token.scopes)
    only = " ".join((*token.agents, *token.roots)) or "-"
    over = token.expires is not None and token.expires <= time.time()
    form = f"%Y-%m-%d{' (over)' if over else ''}"
    expires = "-" if token.expires is None else time.strftime(form, time.gmtime(token.expires))
    return (
        token.name,
        scopes,
        sanitize_line(only, exact=True),
        expires,
        token.last_used or "never",
        token.device or "-",
    )


def _plain(token: Token) -> dict[str, object]:
    """What a list tells: all but the hashes."""
    return {
        "name": token.name,
        "scopes": list(token.scopes),
        "agents": list(token.agents),
        "roots": list(token.roots),
        "created": token.created,
        "expires": token.expires,
        "lastUsed": token.last_used,
        "device": token.device or None,
    }


def _print_json(value: object) -> None:
    say_json(value)


_DONE = {"add": _add, "list": _list, "revoke": _revoke, "rotate": _rotate}
