"""Logs in once when an agent requires a login, with a usable method; otherwise fails with advice.

    answer = await call_with_login(agent, lambda: agent.new_session(cwd=cwd), Login(method="api-key"))

An agent refuses with -32000 and has told in `initialize` which ways there are. One that it handles by itself
is asked for with `authenticate`; one that needs a terminal is handed to a callback, which has one; one that
wants a variable cannot be helped while the agent runs, and the variable is named. Whatever is tried is tried
once: a second refusal is an answer.

It knows auth methods. Which of them suits an environment, and who is asked, is the caller's decision.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.errors import CallFailed, CallTimeout, LoginRequired
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle, EnvMethod
from dragoman.wire.codes import AUTH_REQUIRED

T = TypeVar("T")

TerminalLogin: TypeAlias = Callable[[v1.AuthMethodTerminal], Awaitable[bool]]
"""Runs the agent's command with the method's arguments and variables in a terminal; returns whether it
succeeded.
"""


class Login(Struct, frozen=True, kw_only=True):
    """How to log in: the method, and its credentials."""

    method: str | None = None
    """The id of the method to use. By default, the first method that the agent handles by itself, otherwise
    the first that needs a terminal.
    """

    terminal: TerminalLogin | None = None
    """Runs methods that need a terminal; without it they can't be tried."""

    seconds: float | None = None
    """The most seconds for `authenticate`. Set it where nobody can see a login page: a person who logs in
    needs no deadline.
    """

    on_start: Callable[[v1.AuthMethod], object] | None = None
    """Called before `authenticate`, to announce the wait."""

    withheld_names: Sequence[str] = ()
    """Names of variables that we withheld from the agent, for the text of an error."""


def needs_login(error: BaseException) -> bool:
    """Whether this is a refusal that a login may solve."""
    return (
        isinstance(error, CallFailed) and error.code == AUTH_REQUIRED and not isinstance(error, LoginRequired)
    )


async def call_with_login(agent: AgentHandle, attempt: Callable[[], Awaitable[T]], login: Login) -> T:
    """Return the result of `attempt`, after a login if the agent requires one. Raises `LoginRequired` if that
    fails.
    """
    try:
        return await attempt()
    except CallFailed as refusal:
        if not needs_login(refusal):
            raise
        tried_method = await log_in(agent, refusal, login)
    try:
        return await attempt()
    except CallFailed as again:
        if not needs_login(again):
            raise
        raise refused_after_login(agent, again, login, tried_method=tried_method) from None


async def log_in(agent: AgentHandle, refusal: CallFailed, login: Login) -> str:
    """Try one login; returns the id of its method."""
    method = _choose_method(agent, login)
    if method is None:
        raise LoginRequired(refusal, missing=_advice(agent, login), methods=_ids(agent))
    try:
        if isinstance(method, v1.AuthMethodTerminal):
            assert login.terminal is not None
            if not await login.terminal(method):
                raise _login_failure(agent, refusal, method, "it did not succeed in the terminal", login)
        else:
            if login.on_start is not None:
                login.on_start(method)
            request = v1.AuthenticateRequest(method_id=method.id)
            await agent.ask("authenticate", request, v1.AuthenticateResponse, deadline=login.seconds)
    except LoginRequired:
        raise
    except (CallFailed, CallTimeout) as error:
        why = error.message if isinstance(error, CallFailed) else str(error)
        raise _login_failure(agent, refusal, method, why, login) from error
    return method.id


def refused_after_login(
    agent: AgentHandle, again: CallFailed, login: Login, *, tried_method: str
) -> LoginRequired:
    """Return the error for a login that succeeded although the agent still refuses."""
    why = "it went well, but the agent still refuses"
    missing = (
        f"{tried_method} went well, but the agent still refuses; {_advice(agent, login, but=tried_method)}"
    )
    return LoginRequired(again, missing=missing, tried_method=tried_method, why=why, methods=_ids(agent))


def _choose_method(agent: AgentHandle, login: Login) -> v1.AuthMethod | None:
    """The method to try; None when there is none that can be."""
    able: list[v1.AuthMethod] = [
        method
        for method in agent.auth_methods
        if not isinstance(method, v1.AuthMethodTerminal) or login.terminal is not None
    ]
    if login.method is not None:
        return next((method for method in able if method.id == login.method), None)
    return next(iter(sorted(able, key=lambda one: isinstance(one, v1.AuthMethodTerminal))), None)


def _login_failure(
    agent: AgentHandle, refusal: CallFailed, method: v1.AuthMethod, why: str, login: Login
) -> LoginRequired:
    why = "the agent refuses it for the same reason" if why == refusal.message else why
    missing = f"{method.name} ({method.id}) was tried: {why}; {_advice(agent, login, but=method.id)}"
    return LoginRequired(refusal, missing=missing, tried_method=method.id, why=why, methods=_ids(agent))


def _advice(agent: AgentHandle, login: Login, *, but: str = "") -> str:
    """Text for a person: what is missing for a login."""
    ways = [_way(method) for method in agent.auth_methods if method.id != but]
    ways += [_variables(method) for method in agent.env_methods if method.id != but]
    if login.method is not None and login.method not in _ids(agent):
        ways.insert(0, f"the agent does not offer the method {login.method!r}")
    words = "; or ".join(ways) if ways else "the agent offers no other way to log in; its documentation may"
    secrets = [
        name for name in login.withheld_names if any(part in name.upper() for part in ("KEY", "TOKEN"))
    ]
    if secrets:
        words += f". Not handed on to the agent: {', '.join(secrets)}"
    return words


def _way(method: v1.AuthMethod) -> str:
    description = f": {method.description}" if method.description else ""
    if isinstance(method, v1.AuthMethodTerminal):
        arguments = " ".join(method.args or ())
        return f"run the agent's command with `{arguments}` in a terminal ({method.name}{description})"
    return f"use the method {method.id} ({method.name}{description})"


def _variables(method: EnvMethod) -> str:
    return (
        f"set {' and '.join(method.variables) or 'its variable'} in the agent's environment ({method.name})"
    )


def _ids(agent: AgentHandle) -> tuple[str, ...]:
    return tuple(method.id for method in (*agent.auth_methods, *agent.env_methods))


def read_env_methods(introduction: bytes | Raw) -> tuple[EnvMethod, ...]:
    """Return the logins by variable in an `initialize` answer, in any known form."""
    if b"env_var" not in bytes(introduction):
        return ()
    try:
        answer = msgspec.json.decode(introduction)
    except (msgspec.MsgspecError, RecursionError):
        return ()
    methods = answer.get("authMethods") if isinstance(answer, dict) else None
    return tuple(
        EnvMethod(
            id=str(method.get("id", "")),
            name=str(method.get("name", "")),
            variables=tuple(_names(method)),
        )
        for method in (methods if isinstance(methods, list) else ())
        if isinstance(method, dict) and method.get("type") == "env_var"
    )


def _names(method: dict[str, object]) -> Iterable[str]:
    if isinstance(method.get("varName"), str):
        yield str(method["varName"])
    entries = method.get("vars")
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str):
            yield name


async def log_out(agent: AgentHandle) -> bool:
    """Log out if the agent supports it; otherwise return False."""
    if "auth.logout" not in agent.capabilities:
        return False
    await agent.logout()
    return True
