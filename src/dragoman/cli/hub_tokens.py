"""`dragoman hub token`: who may come to a hub; makes, lists, rotates and revokes tokens.

A running hub notices changes within a second. Options are added when the command is chosen, imports happen
when it runs.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say, say_json
from dragoman.cli.files import explain_error
from dragoman.text.sanitize import sanitize_line

if TYPE_CHECKING:
    from dragoman.hub.gate.grants_store import Token, TokenStore

EXAMPLES = """examples:
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub token add ci --scope prompt --agent 'review*' --root ~/work --expires 30d
  dragoman hub token list
  dragoman hub token rotate ci --grace 1h
  dragoman hub token revoke phone

scopes: observe (see sessions), prompt (make and drive them), approve (answer what agents ask), admin (status,
prompts of others). prompt and admin include observe, for the same agents and roots. Without --scope a
token has all of them, without --agent all agents, without --root all folders. A token is shown once,
on standard output; only a hash of it is kept. A running hub notices every change within a second, and ends
the connections of a revoked token.

exit status: 0 when it was done, 1 when it could not be (there is no such token, or there is one already),
             2 when the command line or the configuration makes no sense
"""

SCOPES = ("observe", "prompt", "approve", "admin")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_token_parsers(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `token` to the sub-commands of `dragoman hub`."""
    token = commands.add_parser(
        "token",
        help="make, list, rotate and revoke the tokens of a hub",
        description="Make, list, rotate and revoke the tokens of a hub.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    token.fill = _fill


def _fill(token: argparse.ArgumentParser) -> None:
    actions = token.add_subparsers(metavar="ACTION", required=True, prog="dragoman hub token")
    add = _action(actions, "add", "make a token and show it, once")
    add.add_argument("name", metavar="NAME", help="what it is called in lists and logs")
    add.add_argument("--scope", action="append", choices=SCOPES, help="what it is good for (everything)")
    add.add_argument("--agent", action="append", default=[], metavar="GLOB", help="only for these agents")
    add.add_argument("--root", action="append", default=[], metavar="DIR", help="only below these folders")
    add.add_argument("--expires", type=parse_span, metavar="SPAN", help="until when: 12h, 30d, 8w")
    _action(actions, "list", "the tokens that there are")
    revoke = _action(actions, "revoke", "a token that shall be good no more")
    revoke.add_argument("name", metavar="NAME")
    rotate = _action(actions, "rotate", "another token in the place of this one")
    rotate.add_argument("name", metavar="NAME")
    rotate.add_argument(
        "--grace", type=parse_span, default=0.0, metavar="SPAN", help="how long the old one is good (0s)"
    )


def _action(actions: argparse._SubParsersAction[Any], name: str, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=about, description=f"{about}.".capitalize()
    )
    parser.add_argument("--config", metavar="FILE", help="the hub's configuration, if not in its usual place")
    parser.add_argument("--journal", metavar="PATH", help="the hub's journal: its tokens lie beside it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(run=_run, action=name)
    return parser


def parse_span(text: str) -> float:
    """`30d` as seconds."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not (number.isascii() and number.isdigit()) or len(number) > 6:
        raise argparse.ArgumentTypeError("write a number and a unit: 90s, 15m, 12h, 30d, 8w")
    return float(int(number) * UNITS[unit])


def _run(chosen: argparse.Namespace) -> int:
    from pathlib import Path

    from dragoman.errors import LocalMistake
    from dragoman.hub.gate.grants_store import TokenStore
    from dragoman.hub.settings_file import SettingsError, load_settings

    try:
        path = None if chosen.config is None else Path(chosen.config)
        settings = load_settings(path, overrides={"journal": chosen.journal})
        return _DONE[chosen.action](TokenStore(settings.tokens_path), chosen)
    except SettingsError as error:
        say(error, file=sys.stderr)
        return 2
    except (LocalMistake, OSError) as error:
        say(f"dragoman hub token {chosen.action}: {explain_error(error)}", file=sys.stderr)
        return 1


def _add(store: TokenStore, chosen: argparse.Namespace) -> int:
    import time

    from dragoman.hub.gate.admission import ALL

    expires = None if chosen.expires is None else time.time() + chosen.expires
    token = store.add(
        chosen.name,
        scopes=chosen.scope or ALL,
        agents=chosen.agent,
        roots=chosen.root,
        expires=expires,
    )
    return _show_token(store, chosen, token)


def _rotate(store: TokenStore, chosen: argparse.Namespace) -> int:
    return _show_token(store, chosen, store.rotate(chosen.name, grace=chosen.grace))


def _show_token(store: TokenStore, chosen: argparse.Namespace, token: str) -> int:
    if chosen.json:
        made = next(each for each in store.read() if each.name == chosen.name)
        _print_json({**_plain(made), "token": token})
    else:
        say(token)
        say(f"This is the token {chosen.name!r}; it is shown only now.", file=sys.stderr)
    return 0


def _revoke(store: TokenStore, chosen: argparse.Namespace) -> int:
    store.revoke(chosen.name)
    if chosen.json:
        _print_json({"revoked": chosen.name})
    else:
        say(f"{chosen.name} is revoked")
    return 0


def _list(store: TokenStore, chosen: argparse.Namespace) -> int:
    tokens = sorted(store.read(), key=lambda each: each.name)
    if chosen.json:
        _print_json({"tokens": [_plain(each) for each in tokens]})
    elif not tokens:
        print("There is no token yet: `dragoman hub token add NAME` makes one, and so does the first start.")
    else:
        _print_table(tokens)
    return 0


def _print_table(tokens: list[Token]) -> None:
    head = ("name", "scopes", "only for", "expires", "last used")
    rows = [head, *(_row(each) for each in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(token: Token) -> tuple[str, ...]:
    import time

    scopes = "all" if set(token.scopes) == set(SCOPES) else ",".join(token.scopes)
    only = " ".join((*token.agents, *token.roots)) or "-"
    over = token.expires is not None and token.expires <= time.time()
    expires = "-" if token.expires is None else f"{_day(token.expires)}{' (over)' if over else ''}"
    return token.name, scopes, sanitize_line(only, exact=True), expires, token.last_used or "never"


def _day(moment: float) -> str:
    import time

    return time.strftime("%Y-%m-%d", time.gmtime(moment))


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
    }


def _print_json(value: object) -> None:
    import msgspec

    say_json(msgspec.json.encode(value))


_DONE = {"add": _add, "list": _list, "revoke": _revoke, "rotate": _rotate}
