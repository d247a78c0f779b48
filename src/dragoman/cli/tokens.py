"""Tokens for servers: from a file or the environment, never from a command line, which everybody can read."""

from __future__ import annotations

import os

from dragoman.cli.files import explain_error
from dragoman.errors import LocalMistake

VARIABLE = "DRAGOMAN_TOKEN"


def read_token(path: str) -> str:
    """What a file holds and nothing else."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalMistake(f"there is no token: {explain_error(error)}") from None


def authorization(path: str | None = None) -> dict[str, str]:
    """The header for the token of this file, or of the environment; none if there is no token."""
    token = os.environ.get(VARIABLE, "") if path is None else read_token(path)
    return {"authorization": f"Bearer {token}"} if token else {}
