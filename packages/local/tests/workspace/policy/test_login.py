from typing import Any

from dragoman.schema import v1
from dragoman_local.workspace.policy.login import AuthenticateStep, TerminalLoginStep, plan_login
from tests.every import every

ACCOUNT = v1.AuthMethodAgent(id="login", name="Log in")
KEY = v1.AuthMethodAgent(id="key", name="Key", description="Requires setting the `SOME_API_KEY` variable")
PLAIN = v1.AuthMethodAgent(id="plain", name="Gateway")
TERMINAL = v1.AuthMethodTerminal(id="setup", name="Set up", args=["--setup"], env={"A": "b"})
VARIABLE = {"type": "env_var", "id": "v", "name": "Use OTHER_KEY", "vars": [{"name": "OTHER_KEY"}]}


def tried(*methods: Any, tty: bool = False, **more: Any) -> str | None:
    step = plan_login(methods, more.pop("environ", {}), tty, **more).step
    return None if step is None else step.method_id


def missing(*methods: Any, **more: Any) -> str:
    plan = plan_login(methods, more.pop("environ", {}), more.pop("tty", False), **more)
    return "\n".join(plan.missing)


def test_a_method_of_the_protocol_is_sent_to_authenticate() -> None:
    assert plan_login([ACCOUNT], {}, False).step == AuthenticateStep(method_id="login", name="Log in")
    assert tried({"id": "untyped", "name": "x"}) == "untyped"


def test_a_terminal_method_is_run_in_a_terminal_and_only_there() -> None:
    step = plan_login([TERMINAL], {}, True).step
    assert step == TerminalLoginStep(method_id="setup", name="Set up", args=("--setup",), env={"A": "b"})
    assert tried(TERMINAL) is None
    assert (
        missing(TERMINAL)
        == "Set up (setup) is a login in a terminal; it needs a terminal: run this command in a terminal"
    )


def test_what_needs_no_person_comes_first() -> None:
    assert tried(ACCOUNT, PLAIN, TERMINAL, tty=True) == "plain"
    assert tried(ACCOUNT, KEY, PLAIN, environ={"SOME_API_KEY": "x"}) == "key"
    assert tried(ACCOUNT, KEY) == "login"
    assert tried(TERMINAL, KEY, tty=True) == "setup"


def test_the_variable_that_is_missing_is_named() -> None:
    assert missing(KEY) == "Key (key): the environment variable SOME_API_KEY is not set"
    assert missing(VARIABLE) == "Use OTHER_KEY (v): the environment variable OTHER_KEY is not set"


def test_a_variable_that_the_agent_does_not_get_is_told_apart() -> None:
    said = missing(KEY, environ={"SOME_API_KEY": "x"}, agent_variables=["PATH"])
    assert (
        said
        == "Key (key): SOME_API_KEY is set here, but the agent does not get it; allow it (--env SOME_API_KEY)"
    )
    assert "not set" in missing(KEY, environ={"SOME_API_KEY": ""})


@every(
    "method",
    [
        {"type": "terminal", "id": "x", "name": "x", "args": 5},
        {"type": "terminal", "id": "x", "name": "x", "args": [5]},
        {"type": "terminal", "id": "x", "name": "x", "env": {"A": 5}},
        {"type": 5, "id": "x", "name": "x"},
        {"id": 5, "name": "x"},
        {"name": "x"},
        {},
    ],
)
def test_a_malformed_method_is_no_method(method: Any) -> None:
    assert tried(method, tty=True) is None
    assert missing(method) == "the agent needs a login and offers no method for it"


def test_a_method_of_an_unknown_kind_is_never_tried() -> None:
    assert tried({"type": "oauth2", "id": "x", "name": "X"}, tty=True) is None
    assert tried(VARIABLE, environ={"OTHER_KEY": "x"}) is None
    assert missing({"type": "oauth2", "id": "x", "name": "X"}) == (
        "X (x): it is of a kind that this client does not know"
    )


def test_meta_starts_nothing() -> None:
    method = v1.AuthMethodAgent(
        id="x", name="X", meta={"terminal-auth": {"command": "rm", "args": ["-rf"]}, "type": "terminal"}
    )
    assert plan_login([method], {}, True).step == AuthenticateStep(method_id="x", name="X")


def test_what_an_agent_says_cannot_touch_a_terminal() -> None:
    assert "\x1b" not in missing(v1.AuthMethodAgent(id="x\x1b[2J", name="\x1b[2J", description="\x1b"))
