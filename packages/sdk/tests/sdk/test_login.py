"""A login is tried once, with what there is; otherwise the error names exactly what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman import Agent, Turn, connect, supervised
from dragoman.errors import CallFailed, ErrorAnswer, LoginRequired
from dragoman.schema.v1 import (
    AuthenticateRequest,
    AuthMethod,
    AuthMethodAgent,
    AuthMethodTerminal,
    LogoutRequest,
    NewSessionRequest,
    NewSessionResponse,
)
from dragoman.sdk.client.agent_handle import EnvMethod
from dragoman.sdk.client.client import Client
from dragoman.sdk.login import Login, call_with_login, log_out, read_env_methods
from dragoman.testing import ScriptedAgent, talking_to

KEY = AuthMethodAgent(id="key", name="API key", description="reads SOME_KEY")
OTHER = AuthMethodAgent(id="browser", name="Browser")
TERMINAL = AuthMethodTerminal(id="tui", name="In a terminal", args=["login", "--device"])

LOCKED = ErrorAnswer(-32000, "Authentication required")


class Door:
    """An agent that wants a login first, and what it was asked."""

    def __init__(self, *methods: AuthMethod, opens: str = "", prompt_too: bool = False) -> None:
        self.agent = Agent("door", auth_methods=methods)
        self.tried: list[str] = []
        self.open = False

        @self.agent.authenticate
        async def authenticate(request: AuthenticateRequest) -> None:
            self.tried.append(request.method_id)
            if request.method_id == "broken":
                raise ErrorAnswer(-32603, "the server is down")
            self.open = self.open or request.method_id == opens

        @self.agent.new_session
        async def new_session(request: NewSessionRequest) -> NewSessionResponse:
            if not self.open and not prompt_too:
                raise LOCKED
            return NewSessionResponse(session_id="s")

        @self.agent.logout
        async def logout(request: LogoutRequest) -> None:
            self.open = False

        @self.agent.prompt
        async def reply(turn: Turn) -> None:
            if not self.open:
                raise LOCKED
            await turn.say("in")


async def refused(door: Door, login: Login, client: Client | None = None) -> LoginRequired:
    async with connect(door.agent, client=client) as handle:
        with pytest.raises(LoginRequired) as failed:
            await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), login)
    assert failed.value.code == -32000
    return failed.value


async def test_the_first_method_of_the_agent_itself_is_tried_once() -> None:
    door = Door(KEY, OTHER, opens="key")
    async with connect(door.agent) as handle:
        session = await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), Login())
        assert (await session.prompt("go")).text == "in"
    assert door.tried == ["key"]


async def test_a_method_can_be_chosen() -> None:
    door = Door(KEY, OTHER, opens="browser")
    async with connect(door.agent) as handle:
        await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), Login(method="browser"))
    assert door.tried == ["browser"]


async def test_a_login_that_changes_nothing_is_not_repeated() -> None:
    door = Door(KEY, OTHER, opens="browser")
    error = await refused(door, Login())
    assert door.tried == ["key"]
    assert (error.tried_method, error.methods) == ("key", ("key", "browser"))
    assert "key went well, but the agent still refuses" in error.missing
    assert "use the method browser (Browser)" in error.missing


async def test_a_login_that_fails_says_why_and_what_else_there_is() -> None:
    door = Door(AuthMethodAgent(id="broken", name="Broken"), KEY)
    error = await refused(door, Login())
    assert "Broken (broken) was tried: the server is down" in error.missing
    assert "use the method key (API key: reads SOME_KEY)" in error.missing


async def test_a_method_that_needs_a_terminal_is_handed_to_who_has_one() -> None:
    door = Door(TERMINAL)
    handed: list[Sequence[str]] = []

    async def in_terminal(method: AuthMethodTerminal) -> bool:
        handed.append(method.args or ())
        door.open = True
        return True

    async with connect(door.agent, client=Client(auth_terminal=True)) as handle:
        login = Login(terminal=in_terminal)
        await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), login)
    assert handed == [["login", "--device"]]
    assert door.tried == []  # it is never sent to the agent


async def test_a_terminal_that_is_missing_or_fails_is_named() -> None:
    client = Client(auth_terminal=True)
    error = await refused(Door(TERMINAL), Login(), client)
    assert "run the agent's command with `login --device` in a terminal" in error.missing

    async def fails(method: AuthMethodTerminal) -> bool:
        return False

    error = await refused(Door(TERMINAL), Login(terminal=fails), client)
    assert "did not succeed in the terminal" in error.missing


async def test_an_agent_without_methods_and_withheld_variables_are_named() -> None:
    error = await refused(Door(), Login(withheld_names=["SOME_API_KEY", "EDITOR", "CI_TOKEN"]))
    assert "no other way to log in" in error.missing
    assert error.missing.endswith("Not handed on to the agent: SOME_API_KEY, CI_TOKEN")


async def test_a_method_that_is_not_offered_is_named() -> None:
    error = await refused(Door(KEY, opens="key"), Login(method="nope"))
    assert "does not offer the method 'nope'" in error.missing


async def test_other_errors_are_not_about_logins() -> None:
    async def fail() -> None:
        raise CallFailed(-32603, "no")

    async with connect(Door(KEY).agent) as handle:
        with pytest.raises(CallFailed) as failed:
            await call_with_login(handle, fail, Login())
    assert not isinstance(failed.value, LoginRequired)


async def test_an_agent_that_takes_too_long_to_authenticate_is_not_waited_for() -> None:
    script = 'agent slow\n  auth {"id": "a", "name": "A"}\non authenticate\n  wait 60\non new\n  fail -32000'
    async with talking_to(ScriptedAgent(script)) as handle:
        with pytest.raises(LoginRequired, match="authenticate took longer"):
            await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), Login(seconds=0.1))


async def test_logging_out_is_asked_for_only_where_it_can_be() -> None:
    door = Door(KEY, opens="key")
    async with connect(door.agent) as handle:
        await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), Login())
        assert await log_out(handle)
        assert not door.open
    async with connect(Agent("plain")) as handle:
        assert not await log_out(handle)


async def test_a_supervised_agent_logs_in_for_sessions_and_for_prompts() -> None:
    door = Door(KEY, opens="key")
    async with supervised(door.agent) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "in"
        assert await agent.logout()
        assert (await session.prompt("go")).text == "in"
        assert door.tried == ["key", "key"]
    shut = Door(KEY, prompt_too=True)
    async with supervised(shut.agent) as agent:
        session = await agent.new_session(cwd="/tmp")
        with pytest.raises(LoginRequired, match="still refuses"):
            await session.prompt("go")
        assert shut.tried == ["key"]


ENV = """agent keyed
  auth {"type": "env_var", "id": "e", "name": "By key", "vars": [{"name": "SOME_KEY"}, {"name": "SOME_URL"}]}
on new
  fail -32000 "Authentication required"
"""


async def test_variables_that_an_agent_wants_are_named() -> None:
    async with talking_to(ScriptedAgent(ENV)) as handle:
        with pytest.raises(LoginRequired) as failed:
            await call_with_login(handle, lambda: handle.new_session(cwd="/tmp"), Login())
    assert failed.value.missing == "set SOME_KEY and SOME_URL in the agent's environment (By key)"
    assert failed.value.methods == ("e",)


def test_env_methods_are_read_in_every_form_and_nothing_else_is() -> None:
    text = b'{"authMethods": [{"type": "env_var", "id": "a", "name": "A", "varName": "X"}, 7, {"id": "b"}]}'
    assert read_env_methods(text) == (EnvMethod(id="a", name="A", variables=("X",)),)
    assert read_env_methods(b'{"authMethods": "env_var"}') == ()
    assert read_env_methods(b'["env_var"]') == ()
    assert read_env_methods(b'"env_var') == ()
