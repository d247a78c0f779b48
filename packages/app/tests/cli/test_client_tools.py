"""`dragoman client-tools`, which agents start and people do not."""

from __future__ import annotations

import pytest

from dragoman.sdk.interpreter.client_tools.pipe import SOCKET
from dragoman_app.cli import main
from dragoman_app.cli.parser import make_parser


def test_no_help_names_it() -> None:
    assert "client-tools" not in make_parser().format_help()


def test_started_by_hand_it_says_who_starts_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(SOCKET, raising=False)
    assert main(["client-tools"]) == 2
    assert "only an interpreter starts this" in capsys.readouterr().err
