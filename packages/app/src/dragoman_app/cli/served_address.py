"""The address and the clients of an agent on the network, for `serve` and `mcp --http`.

Loopback, a token, a check of Host and Origin, and TLS off loopback.
"""

from __future__ import annotations

import argparse
import socket
import sys

from dragoman.errors import LocalMistake
from dragoman_app.apps.console import say
from dragoman_app.apps.files import read_token
from dragoman_hub.api.listener import Tls, is_loopback, open_socket, parse_listen
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, names_of, new_token

DEFAULT_LISTEN = "127.0.0.1:0"


class ServedAddress:
    """The address to listen on, and its access. Opening it binds the socket; the server closes it."""

    def __init__(self, args: argparse.Namespace, *, needs_token: bool = True) -> None:
        self.host, port = parse_listen(args.listen or DEFAULT_LISTEN)
        if not needs_token and not is_loopback(self.host):
            raise LocalMistake(
                f"other machines can reach {self.host}, so a token is needed. Remove --no-token"
            )
        self.tls = _tls(args)
        token = _token(args.token_file) if needs_token else ""
        self._shown_token = "" if args.token_file else token
        self.socket: socket.socket = open_socket(self.host, port, tls=self.tls, insecure=args.insecure)
        self.port = self.socket.getsockname()[1]
        names = [*local_hosts(self.port), *names_of(self.host, self.port), *args.host]
        self.admission = Admission(
            {hash_token(token): Grant("token")} if token else {},
            hosts=names,
            origins=args.origin,
            without_token=None if needs_token else Grant("anybody on this machine"),
        )

    def announce(self, *schemes: str, path: str) -> None:
        """Print the addresses, and the token if it is new."""
        place = f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{path}"
        secure = "s" if self.tls else ""
        say("\n".join(f"{scheme}{secure}://{place}" for scheme in schemes), flush=True)
        if self._shown_token:
            say(f"The token (shown only once): {self._shown_token}", file=sys.stderr, flush=True)


def _token(path: str | None) -> str:
    if path is None:
        return new_token()
    token = read_token(path)
    if len(token) < 32:
        raise LocalMistake(f"the token in {path} is shorter than 32 characters, so people could guess it")
    return token


def _tls(args: argparse.Namespace) -> Tls | None:
    if bool(args.tls_cert) != bool(args.tls_key):
        raise LocalMistake("--tls-cert and --tls-key must be used together")
    return Tls(args.tls_cert, args.tls_key) if args.tls_cert else None
