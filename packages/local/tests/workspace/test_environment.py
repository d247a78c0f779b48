"""What a command learns of our environment."""

from __future__ import annotations

from dragoman.transport.tree import MARK
from dragoman_local.workspace.environment import command_environment, is_inherited
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS
from tests.every import every
from tests.workspace.ground import refused

PARENT = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "API": "x",
    "OPENAI_API_KEY": "secret",
    "TERM": "xterm",
}


def test_the_parents_variables_are_let_through_by_name() -> None:
    expected = {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C", "TERM": "dumb"}
    assert command_environment(PARENT) == expected


def test_a_request_adds_and_overwrites() -> None:
    env = command_environment(PARENT, [("PATH", "/opt"), ("NEW", "1"), ("NEW", "2")])
    assert (env["PATH"], env["NEW"], env["HOME"]) == ("/opt", "2", "/home/me")


@every(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "PGPASSWD",
        "SSH_AUTH_SOCK",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "Session_Cookie",
    ],
)
def test_what_looks_like_a_secret_must_be_spelled_out(name: str) -> None:
    assert not is_inherited(name)
    assert not is_inherited(name, allow=["*"])
    assert is_inherited(name, allow=[name])


def test_more_may_be_allowed_by_pattern() -> None:
    assert command_environment(PARENT, allow=["AP*"])["API"] == "x"


@every("name", ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "BASH_FUNC_ls%%", MARK])
def test_a_variable_that_takes_over_programs_is_refused(name: str) -> None:
    assert refused(command_environment, {}, [(name, "x")]) == (FORBIDDEN, "bad_env")


@every(("name", "value"), [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0"), ("A", "\ud800")])
def test_what_cannot_be_a_variable_is_refused(name: str, value: str) -> None:
    assert refused(command_environment, {}, [(name, value)]) == (INVALID_PARAMS, "bad_env")


def test_whoever_owns_us_owns_our_commands() -> None:
    assert command_environment({MARK: "outer"})[MARK] == "outer"
