"""The session of a run: a new one, or a stored one, with its mode and options set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman.sdk.client.agent_handle import AgentHandle, Session
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.plan import SessionRequest
from dragoman_local.workspace.local_client import LocalClient

METHOD_NOT_FOUND = -32601

How: TypeAlias = Literal["new", "loaded", "resumed"]


class SettableSession(Protocol):
    """The settable parts of a session, which `Session` and `SupervisedSession` implement."""

    @property
    def modes(self) -> v1.SessionModeState | None: ...
    @property
    def config_options(self) -> Sequence[v1.SessionConfigOption]: ...
    async def set_mode(self, mode_id: str) -> None: ...
    async def set_config_option(
        self, config_id: str, value: str | bool
    ) -> Sequence[v1.SessionConfigOption]: ...


async def open_session(
    agent: AgentHandle, local: LocalClient, request: SessionRequest
) -> tuple[Session, How]:
    """Return the session; its agent may use files and terminals from the first moment."""
    if "sessionCapabilities.additionalDirectories" not in agent.capabilities and request.directories:
        raise UsageMistake("the agent accepts no more folders", "leave --add-dir out")
    if request.session_id is None:
        with local.lending(
            cwd=request.cwd, additional_directories=request.directories, info=agent.info
        ) as lent:
            session = await agent.new_session(
                cwd=request.cwd, mcp_servers=request.servers, additional_directories=request.directories
            )
            lent(session.id)
        return session, "new"
    return await _reopen(agent, local, request, request.session_id)


async def _reopen(
    agent: AgentHandle, local: LocalClient, request: SessionRequest, session_id: str
) -> tuple[Session, How]:
    # To resume is cheaper: nothing is replayed that nobody would look at.
    ways: dict[str, tuple[How, str]] = {
        "sessionCapabilities.resume": ("resumed", "resume_session"),
        "loadSession": ("loaded", "load_session"),
    }
    usable_ways = [way for capability, way in ways.items() if capability in agent.capabilities]
    for how, method in usable_ways:
        try:
            local.lend(
                session_id, cwd=request.cwd, additional_directories=request.directories, info=agent.info
            )
            session: Session = await getattr(agent, method)(
                session_id,
                cwd=request.cwd,
                mcp_servers=request.servers,
                additional_directories=request.directories,
            )
            return session, how
        except CallFailed as error:  # some advertise what they then do not know
            if error.code != METHOD_NOT_FOUND or (how, method) == usable_ways[-1]:
                raise
    raise UsageMistake(
        "the agent can't continue a stored session", "start a new session: leave out --session and --continue"
    )


async def settle(session: SettableSession, request: SessionRequest) -> None:
    """Set the mode and the options; raises `UsageMistake` with the existing ones."""
    if request.mode is not None:
        await set_mode(session, request.mode)
    for key, value in request.options:
        await set_option(session, key, value)


async def set_mode(session: SettableSession, mode: str) -> None:
    """Set the mode; raises `UsageMistake` with the existing modes."""
    modes = [mode.id for mode in session.modes.available_modes] if session.modes else []
    if mode in modes:
        await session.set_mode(mode)
        return
    for option in session.config_options:  # agents move their modes there
        if isinstance(option, v1.SessionConfigSelect) and option.category == "mode":
            await set_option(session, option.id, mode)
            return
    raise UsageMistake(f"unknown mode {mode!r}", _list_names("modes", modes))


async def set_model(session: SettableSession, model: str) -> None:
    """Set the model; raises `UsageMistake` with the existing models."""
    option = model_option(session)
    if option is None:
        raise UsageMistake(f"unknown model {model!r}", _list_names("models", ()))
    await set_option(session, option.id, model)


def model_option(session: SettableSession) -> v1.SessionConfigSelect | None:
    """Return the option that chooses the model, if the agent has one."""
    return next(
        (
            option
            for option in session.config_options
            if isinstance(option, v1.SessionConfigSelect) and option.category == "model"
        ),
        None,
    )


async def set_option(session: SettableSession, key: str, value: str) -> None:
    """Set an option; raises `UsageMistake` with the existing options or values."""
    options = [
        option
        for option in session.config_options
        if isinstance(option, v1.SessionConfigSelect | v1.SessionConfigBoolean)
    ]
    for option in options:
        if option.id == key:
            await session.set_config_option(key, _value(option, value))
            return
    raise UsageMistake(f"unknown option {key!r}", _list_names("options", [option.id for option in options]))


def _value(option: v1.SessionConfigSelect | v1.SessionConfigBoolean, value: str) -> str | bool:
    if isinstance(option, v1.SessionConfigBoolean):
        words = {"true": True, "on": True, "yes": True, "1": True}
        words |= {"false": False, "off": False, "no": False, "0": False}
        if value.lower() not in words:
            raise UsageMistake(
                f"the option {option.id!r} must be true or false, not {value!r}", "use true or false"
            )
        return words[value.lower()]
    values = values_of(option)
    if value not in values:
        raise UsageMistake(f"the option {option.id!r} cannot be {value!r}", _list_names("values", values))
    return value


def values_of(option: v1.SessionConfigSelect) -> list[str]:
    """Return the values of an option, without groups."""
    values: list[str] = []
    for entry in option.options:
        if isinstance(entry, v1.SessionConfigSelectGroup):
            values += [option.value for option in entry.options]
        else:
            values.append(entry.value)
    return values


def _list_names(what: str, names: Sequence[str]) -> str:
    return f"the agent's {what} are {', '.join(names)}" if names else f"this agent has no {what}"
