"""Finds the key of an encrypted journal: in the environment, a file, or the desktop's keyring.

    key = read_key("env:HUB_KEY")

A key is a text that nobody can guess, such as `openssl rand -base64 32` makes. Errors name the place and
never what was found there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman_local.journal.seal import KEY_BYTES

DISTINCT = 8
"""The least different characters of a random text with that length."""

MOST = 4096


def read_key(place: str, *, environ: Mapping[str, str] | None = None) -> bytes:
    """Return the key at `env:NAME`, `file:PATH` or `keyring:SERVICE/NAME`. Raises `LocalMistake`."""
    kind, _, name = place.partition(":")
    if kind == "env" and name:
        text = (os.environ if environ is None else environ).get(name)
        if text is None:
            raise LocalMistake(f"the key of the journal is not there: the variable {name} is not set")
    elif kind == "file" and name:
        text = _from_file(Path(name).expanduser())
    elif kind == "keyring" and "/" in name:
        text = _from_keyring(*name.split("/", 1))
    else:
        raise LocalMistake("the place of a key is env:NAME, file:PATH or keyring:SERVICE/NAME")
    return _check_key(text.strip(), place)


def _check_key(text: str, place: str) -> bytes:
    if len(text) < KEY_BYTES or len(set(text)) < DISTINCT:
        raise LocalMistake(
            f"the key at {place} is not random text of at least {KEY_BYTES} characters; "
            "`openssl rand -base64 32` makes one"
        )
    return text.encode()


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MOST)
    except OSError as error:
        raise LocalMistake(f"the key of the journal cannot be read from {path}: {error.strerror}") from None
    if mode & 0o077 and sys.platform != "win32":
        raise LocalMistake(f"others may read the key in {path}: chmod 600 it, and use a new key")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise LocalMistake(f"the key in {path} is not text; write it in base64") from None


def _from_keyring(service: str, name: str) -> str:
    try:
        keyring = import_module("keyring")
    except ImportError as error:
        raise LocalMistake(
            f"this key needs the package keyring: pip install 'dragoman-sdk[sealed]' ({error})"
        ) from None
    try:
        password = keyring.get_password(service, name)
    except keyring.errors.KeyringError as error:
        raise LocalMistake(f"the keyring does not answer: {type(error).__name__}") from None
    if password is None:
        raise LocalMistake(
            f"the keyring has no key {service}/{name}: create one with `keyring set {service} {name}`"
        )
    return str(password)
