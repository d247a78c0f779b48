"""What a person is told who has to log in."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman_app.apps.login_methods import LoginMethod, login_hint


def hint(methods: Iterable[LoginMethod], *, knows_terminal: bool, allow: Iterable[str] = ()) -> str:
    return login_hint(
        "claude", methods, allow=allow, agent_variables=(), ours={}, knows_terminal=knows_terminal
    )


def test_an_agent_that_knows_of_no_terminal_may_have_logins_that_need_one() -> None:
    assert "dragoman agents login claude    (in a terminal)" in hint([], knows_terminal=False)
    with_key = hint([], knows_terminal=False, allow=["ANTHROPIC_API_KEY"])
    assert "dragoman agents login claude    (in a terminal)" in with_key
    assert "export ANTHROPIC_API_KEY=…" in with_key
    assert "offers no login" not in hint([], knows_terminal=False)


def test_an_agent_that_knows_of_a_terminal_and_names_nothing_offers_no_login() -> None:
    assert "the agent offers no login" in hint([], knows_terminal=True)


def test_a_login_that_the_agent_names_is_the_command_for_it() -> None:
    method = LoginMethod(id="oauth", name="Log in", kind="agent")
    text = hint([method], knows_terminal=False)
    assert text == "one of these:\n  dragoman agents login claude oauth    Log in"
