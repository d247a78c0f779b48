"""Login options for the NATS client library: users, tokens, keys, certificates.

Errors name files and never what is in them.
"""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.errors import JournalError
from dragoman_hub.nats.options import NatsOptions


def login(options: NatsOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if options.creds:
        settings["user_credentials"] = str(_file(options.creds, "credentials"))
    elif options.nkey:
        settings["nkeys_seed"] = str(_file(options.nkey, "seed"))
    elif options.token:
        settings["token"] = options.token
    elif options.user:
        settings |= {"user": options.user, "password": options.password}
    needs_nkeys = "user_credentials" in settings or "nkeys_seed" in settings
    if needs_nkeys and find_spec("nkeys") is None:  # the library imports it itself
        raise JournalError("keys and credentials need one more: pip install nkeys")
    if options.tls:
        settings["tls"] = _context(options)
    return settings


def _context(options: NatsOptions) -> ssl.SSLContext:
    ca = str(_file(options.ca, "certificates of an authority")) if options.ca else None
    context = ssl.create_default_context(cafile=ca)
    if options.cert:
        cert = _file(options.cert, "certificate")
        key = _file(options.key, "key of the certificate") if options.key else None
        try:
            context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as error:
            raise JournalError(f"the certificate cannot be used: {type(error).__name__}") from None
    return context


def _file(path: str, what: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise JournalError(f"the file with the {what} is not there: {file}")
    return file
