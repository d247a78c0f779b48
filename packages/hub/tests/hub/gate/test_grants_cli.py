"""`dragoman hub token`, called as the command line calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.options.values import parse_span
from dragoman_hub.gate.admission import hash_token
from dragoman_hub.gate.grants_store import TokenStore


class Tokens:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = TokenStore(folder / "tokens.json")
        self._journal = str(folder / "hub.db")
        self._capsys = capsys

    def __call__(self, action: str, *words: str) -> tuple[int, str, str]:
        status = main(["hub", "token", action, *words, "--journal", self._journal])
        return (status, *self._capsys.readouterr())


@pytest.fixture
def tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tokens:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Tokens(tmp_path, capsys)


def test_a_token_is_shown_once_and_kept_as_a_hash(tokens: Tokens, tmp_path: Path) -> None:
    status, out, err = tokens(
        *("add", "ci", "--scope", "prompt", "--agent", "rev*", "--root", str(tmp_path), "--expires", "30d")
    )
    assert status == 0
    assert "it is shown only once" in err
    (made,) = tokens.store.read()
    assert made.hash == hash_token(out.strip())
    assert (made.scopes, made.agents, made.roots) == (("prompt",), ("rev*",), (str(tmp_path.resolve()),))
    assert made.expires is not None
    assert made.expires - made.created == pytest.approx(30 * 86_400, abs=60)


def test_tokens_are_listed_without_what_opens_anything(tokens: Tokens) -> None:
    assert "No tokens yet" in tokens("list")[1]
    tokens("add", "phone", "--scope", "observe")
    tokens("add", "all")
    status, out, _ = tokens("list")
    assert status == 0
    assert [line.split() for line in out.splitlines()] == [
        ["name", "scopes", "only", "for", "expires", "last", "used", "device"],
        ["all", "all", "-", "-", "never", "-"],
        ["phone", "observe", "-", "-", "never", "-"],
    ]
    listed = json.loads(tokens("list", "--json")[1])["tokens"]
    assert [each["name"] for each in listed] == ["all", "phone"]
    assert "hash" not in listed[0]


def test_a_token_is_rotated_and_revoked(tokens: Tokens) -> None:
    first = json.loads(tokens("add", "a", "--json")[1])["token"]
    second = tokens("rotate", "a", "--grace", "1h")[1].strip()
    (rotated,) = tokens.store.read()
    assert (rotated.hash, rotated.former) == (hash_token(second), hash_token(first))
    assert tokens("revoke", "a") == (0, "Revoked a\n", "")
    assert tokens.store.read() == ()


def test_what_cannot_be_done_is_said(tokens: Tokens, tmp_path: Path) -> None:
    assert tokens("revoke", "a") == (
        1,
        "",
        "dragoman hub token revoke: unknown token 'a'. Known tokens: none\n",
    )
    (tmp_path / "bad.toml").write_text("listn = 1")
    status, _, err = tokens("list", "--config", str(tmp_path / "bad.toml"))
    assert status == 2
    assert "bad.toml:1: listn: unknown key, did you mean listen?" in err
    with pytest.raises(SystemExit) as stopped:
        tokens("add", "a", "--scope", "everything")
    assert stopped.value.code == 2


def test_a_span_is_a_number_and_a_unit() -> None:
    assert [parse_span(text) for text in ("90s", "15m", "2h", "30d", "1w")] == [
        90,
        900,
        7200,
        2_592_000,
        604_800,
    ]
    for wrong in ("", "d", "30", "-1d", "1.5h", "1y", "9999999d", "²d"):
        with pytest.raises(Exception, match="number and a unit"):
            parse_span(wrong)
