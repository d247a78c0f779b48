"""An agent gets what it needs to run, and what somebody named; nothing else of ours."""

from __future__ import annotations

import os
import sys

import pytest

from dragoman import connect
from dragoman.blocking import connect as blocking_connect
from dragoman.errors import PeerDied
from dragoman.sdk.environment import agent_environment, withheld_names
from dragoman.transport.tree import MARK

OURS = {
    "HOME": "/home/ann",
    "PATH": "/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C",
    "XDG_CONFIG_HOME": "/c",
    "https_proxy": "http://proxy",
    "SSL_CERT_FILE": "/certs",
    MARK: "abc",
    "OPENAI_API_KEY": "sk-1",
    "AWS_SECRET_ACCESS_KEY": "s",
    "AWS_REGION": "eu",
    "HOMEBREW_GITHUB_API_TOKEN": "t",
    "LCD": "no locale",
}

SHOW = "import os, sys; sys.exit('|'.join(sorted(os.environ)))"


def test_secrets_are_not_handed_on_and_what_a_program_needs_is() -> None:
    made = agent_environment(source=OURS)
    assert set(made) == {
        *("HOME", "PATH", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "https_proxy", "SSL_CERT_FILE", MARK)
    }


def test_what_is_named_is_handed_on_with_a_star_for_any_text() -> None:
    made = agent_environment(allow=["OPENAI_API_KEY", "AWS_*", "NOT_THERE"], source=OURS)
    assert made["OPENAI_API_KEY"] == "sk-1"
    assert {"AWS_SECRET_ACCESS_KEY", "AWS_REGION"} <= set(made)
    assert "NOT_THERE" not in made
    assert "HOMEBREW_GITHUB_API_TOKEN" not in made


def test_what_is_set_explicitly_wins_over_everything() -> None:
    made = agent_environment(explicit={"PATH": "/mine", "KEY": "1"}, path="/login", source=OURS)
    assert (made["PATH"], made["KEY"]) == ("/mine", "1")
    assert agent_environment(path="/login", source=OURS)["PATH"] == "/login"


def test_what_was_withheld_is_named_without_its_value() -> None:
    assert withheld_names(allow=["AWS_*"], source=OURS) == [
        "HOMEBREW_GITHUB_API_TOKEN",
        "LCD",
        "OPENAI_API_KEY",
    ]


async def names_in_agent(**options: object) -> set[str]:
    """What a started program finds in its environment: it dies of telling."""
    with pytest.raises(PeerDied) as died:
        async with connect([sys.executable, "-I", "-S", "-c", SHOW], **options):  # type: ignore[arg-type]
            pass
    return set(died.value.stderr.strip().split("|"))


async def test_connect_is_closed_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    assert "SOME_API_KEY" not in await names_in_agent()
    assert "HOME" in await names_in_agent()
    assert "SOME_API_KEY" in await names_in_agent(env="inherit")
    assert "SOME_API_KEY" in await names_in_agent(env=agent_environment(allow=["SOME_API_KEY"]))
    assert await names_in_agent(env={"ONE": "1", "LC_CTYPE": "C.UTF-8"}) == {"ONE", "LC_CTYPE", MARK}


def test_the_blocking_face_is_as_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    command = [sys.executable, "-I", "-S", "-c", SHOW]
    with pytest.raises(PeerDied) as died, blocking_connect(command):
        pass
    assert "SOME_API_KEY" not in died.value.stderr.split("|")
    with pytest.raises(PeerDied) as died, blocking_connect(command, env="inherit"):
        pass
    assert "SOME_API_KEY" in died.value.stderr.split("|")


def test_our_own_environment_is_left_alone() -> None:
    before = dict(os.environ)
    agent_environment(allow=["*"], explicit={"A": "b"})
    assert dict(os.environ) == before
