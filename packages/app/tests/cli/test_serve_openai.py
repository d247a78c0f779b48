"""`dragoman serve --openai` as a process, and its command line."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import openai
import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from tests.forks import DRAGOMAN


def test_the_official_client_talks_to_the_command_and_a_signal_ends_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t" * 40)
    options = ["--openai", "--agent", "echo", "--cwd", str(tmp_path), "--token-file", str(tmp_path / "token")]
    process = subprocess.Popen(
        [*DRAGOMAN, "serve", *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with openai.OpenAI(base_url=url, api_key="t" * 40, max_retries=0) as client:
            messages = [{"role": "user", "content": "Grüße"}]
            completion = client.chat.completions.create(model="echo", messages=messages)
            assert completion.choices[0].message.content == "You said: Grüße"
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(patience(20))
        process.stdout.close()
    assert status == 0


def test_a_mistaken_command_line_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, explanation in (
        (["--openai", "--agent", "no-such-agent"], "dragoman agents"),
        (["--openai", "--agent", "echo", "--", "other"], "both --agent and a command"),
        (["--openai", "--agent", "echo", "--cwd", str(tmp_path / "none")], "is not a folder"),
        (["--agent", "echo"], "--agent works only with --openai"),
        (["--approve", "all", "--", "some-agent"], "--approve works only with --openai"),
        ([], "put the agent's command after --"),
        (["--openai", "--agent", "echo", "--listen", "0.0.0.0:0"], "TLS is needed"),
    ):
        assert main(["serve", *words]) == 2
        assert explanation in capsys.readouterr().err
