"""Where a key comes from, and what is said where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from dragoman.errors import LocalMistake
from dragoman_local.journal import read_key
from tests.every import every

TEXT = "q2VfZ3Jvd3MgaW4gdGhlIGRhcms0LCBpdCBzYXlz"


class Remembering(keyring.backend.KeyringBackend):
    """A keyring in memory; a locked one answers nobody."""

    priority = 1
    locked = False

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked(TEXT)
        return self._held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._held[service, username] = password


@pytest.fixture
def ring() -> Iterator[Remembering]:
    before, mine = keyring.get_keyring(), Remembering()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def test_a_key_in_the_environment() -> None:
    assert read_key("env:HUB_KEY", environ={"HUB_KEY": f"{TEXT}\n"}) == TEXT.encode()
    with pytest.raises(LocalMistake, match="the variable HUB_KEY is not set"):
        read_key("env:HUB_KEY", environ={})


def test_a_key_in_a_file_that_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{TEXT}\n")
    file.chmod(0o600)
    assert read_key(f"file:{file}") == TEXT.encode()
    file.chmod(0o640)
    with pytest.raises(LocalMistake, match="others may read the key"):
        read_key(f"file:{file}")
    with pytest.raises(LocalMistake, match="No such file"):
        read_key(f"file:{tmp_path}/none")
    file.chmod(0o600)
    file.write_bytes(b"\xff" * 40)
    with pytest.raises(LocalMistake, match="is not text"):
        read_key(f"file:{file}")


def test_a_key_in_a_keyring(ring: Remembering) -> None:
    with pytest.raises(LocalMistake, match="create one with `keyring set dragoman hub/main`"):
        read_key("keyring:dragoman/hub/main")
    ring.set_password("dragoman", "hub/main", TEXT)
    assert read_key("keyring:dragoman/hub/main") == TEXT.encode()
    ring.locked = True
    with pytest.raises(LocalMistake, match=r"does not answer: KeyringLocked$"):
        read_key("keyring:dragoman/hub/main")


def test_a_keyring_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(LocalMistake, match=r"pip install 'dragoman-sdk\[sealed\]'"):
        read_key("keyring:dragoman/hub")


@every("weak", ["", "short", "x" * 64, "abababab" * 8, " " * 40])
def test_a_key_that_can_be_guessed_is_refused_and_not_repeated(weak: str) -> None:
    with pytest.raises(LocalMistake, match="not random text of at least 32 characters") as refused:
        read_key("env:K", environ={"K": weak})
    assert not weak or weak not in str(refused.value)


@every("place", ["", "env:", TEXT, "keyring:x", "vault:x"])
def test_a_place_is_one_of_three_kinds_and_is_not_repeated(place: str) -> None:
    with pytest.raises(LocalMistake) as refused:
        read_key(place)
    assert str(refused.value) == "the place of a key is env:NAME, file:PATH or keyring:SERVICE/NAME"
