"""Sets modes and options while no turn runs, and restores the first values at the end."""

from __future__ import annotations

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.driver import AgentDriver


async def change_settings(talk: AgentDriver, setup: JsonObject) -> None:
    session = setup.get("sessionId")
    await _change_mode(talk, session, modes_of(setup))
    for option in options_of(setup)[:1]:
        await _change_option(talk, session, option)


async def _change_mode(talk: AgentDriver, session: object, modes: list[Json]) -> None:
    if not modes:
        return
    talk.facts["modes"] = [modes[0], modes[-1]]
    last_mode = {"sessionId": session, "modeId": modes[-1]}
    await talk.call("session/set_mode", last_mode, name="set mode", seconds=talk.brief)
    await talk.quiet()
    await talk.call(
        "session/set_mode", {**last_mode, "modeId": modes[0]}, name="set mode back", seconds=talk.brief
    )
    await talk.quiet()


async def _change_option(talk: AgentDriver, session: object, option: JsonObject) -> None:
    method, current = "session/set_config_option", option.get("currentValue")
    values = values_of(option)
    new_value = next((value for value in values if value != current), current)
    change = {"sessionId": session, "configId": id_of(option), "value": new_value}
    if talk.version == 1:
        await talk.call(method, change, name="set option", seconds=talk.brief)
        await talk.call(method, {**change, "type": "_odd"}, name="set option, odd type", seconds=talk.brief)
    change["type"] = "id"
    await talk.call(method, change, name="set option with type", seconds=talk.brief)
    await talk.call(method, {**change, "value": "nobody's"}, name="set option wrongly", seconds=talk.brief)
    await talk.quiet()
    await talk.call(method, {**change, "value": current}, name="set option back", seconds=talk.brief)
    await talk.quiet()


def modes_of(setup: JsonObject) -> list[Json]:
    """Return the ids of the modes, the current one first."""
    modes = setup.get("modes")
    if not isinstance(modes, dict):
        return []
    available = modes.get("availableModes")
    ids = (
        [mode.get("id") for mode in available if isinstance(mode, dict)]
        if isinstance(available, list)
        else []
    )
    current = modes.get("currentModeId")
    return [current, *(mode_id for mode_id in ids if mode_id != current)] if current in ids else ids


def options_of(setup: JsonObject) -> list[JsonObject]:
    """Return options with a list of choices."""
    entries = setup.get("configOptions")
    options = [option for option in entries if isinstance(option, dict)] if isinstance(entries, list) else []
    return [option for option in options if option.get("type") == "select" and values_of(option)]


def id_of(option: JsonObject) -> Json:
    """Return the id, in version 1 or 2."""
    return option.get("id", option.get("configId"))


def values_of(option: JsonObject) -> list[Json]:
    """Return the values of an option, with groups flattened."""
    choices = option.get("options")
    values: list[Json] = []
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict):
            inner = choice.get("options")
            values += values_of(choice) if isinstance(inner, list) else [choice.get("value")]
    return [value for value in values if isinstance(value, str)]
