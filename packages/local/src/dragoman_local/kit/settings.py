"""Settings of a session: declared once, and offered as config options and as modes.

An `Option` is a choice among values, a `Switch` is on or off, `Modes` are the ways in which an agent works.
All become `configOptions`; modes become `modes` as well, for clients that know nothing else. A
`SessionSettings` holds the values of one session and refuses what was not offered. It sends and stores
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from dragoman.schema import v1
from dragoman.wire.codes import invalid_params

Value: TypeAlias = str | bool

MODE = "mode"
"""The id and the category of the option for modes."""


class Choice(Struct, frozen=True):
    """One value of an option, and its label.

        quick = Choice("quick", "Quick look", description="Reads only what changed")
        depth = Option("depth", [quick, Choice("deep", "Whole project")])

    Specification: https://agentclientprotocol.com/protocol/v1/session-config-options
    """

    value: str
    name: str
    description: str | None = None


class Option:
    """A choice among values. The default is the first one.

        kit = Kit(agent, options=[Option("model", [("small", "Small"), ("large", "Large")], default="large")])

    Specification: https://agentclientprotocol.com/protocol/v1/session-config-options
    """

    def __init__(
        self,
        option_id: str,
        choices: Sequence[Choice | tuple[str, str] | str],
        *,
        default: str | None = None,
        name: str | None = None,
        description: str | None = None,
        category: str | None = None,
    ) -> None:
        self.id = option_id
        self.name = name or _readable(option_id)
        self.description = description
        self.category = category
        self.choices = [_choice(choice) for choice in choices]
        if not self.choices:
            raise ValueError(f"option {option_id!r} offers nothing to choose")
        self.default: Value = self.choices[0].value if default is None else default
        if not self.allows(self.default):
            raise ValueError(f"option {option_id!r} does not offer its own default {default!r}")

    def allows(self, value: object) -> bool:
        """Whether this is one of its values."""
        return any(value == choice.value for choice in self.choices)

    def as_option(self, value: Value) -> v1.SessionConfigOption:
        """Return the option for the client, with this value."""
        return v1.SessionConfigSelect(
            id=self.id,
            name=self.name,
            description=_or_unset(self.description),
            category=_or_unset(self.category),
            current_value=str(value),
            options=[
                v1.SessionConfigSelectOption(
                    value=choice.value, name=choice.name, description=_or_unset(choice.description)
                )
                for choice in self.choices
            ],
        )


class Switch:
    """A setting that is on or off. Clients that do not announce support for switches do not see it.

        kit = Kit(agent, options=[Switch("thinking", default=True, name="Think first")])

    Specification: https://agentclientprotocol.com/protocol/v1/session-config-options
    """

    def __init__(
        self,
        option_id: str,
        *,
        default: bool = False,
        name: str | None = None,
        description: str | None = None,
        category: str | None = None,
    ) -> None:
        self.id = option_id
        self.name = name or _readable(option_id)
        self.description = description
        self.category = category
        self.default: Value = default

    def allows(self, value: object) -> bool:
        """Whether this is on or off."""
        return isinstance(value, bool)

    def as_option(self, value: Value) -> v1.SessionConfigOption:
        """Return the switch for the client, with this value."""
        return v1.SessionConfigBoolean(
            id=self.id,
            name=self.name,
            description=_or_unset(self.description),
            category=_or_unset(self.category),
            current_value=bool(value),
        )


class Modes(Option):
    """The modes of an agent; exactly one is active at any time.

        kit = Kit(agent, modes=Modes(("ask", "Ask first"), ("edit", "Edit files"), default="ask"))

    Specification: https://agentclientprotocol.com/protocol/v1/session-modes
    """

    def __init__(
        self,
        *choices: Choice | tuple[str, str] | str,
        default: str | None = None,
        name: str = "Mode",
        description: str | None = None,
    ) -> None:
        super().__init__(MODE, choices, default=default, name=name, description=description, category=MODE)

    def state(self, value: Value) -> v1.SessionModeState:
        """Return the modes in their older form."""
        return v1.SessionModeState(
            current_mode_id=str(value),
            available_modes=[
                v1.SessionMode(id=choice.value, name=choice.name, description=_or_unset(choice.description))
                for choice in self.choices
            ],
        )


AnyOption: TypeAlias = Option | Switch


def collect_options(modes: Modes | None, options: Sequence[AnyOption]) -> dict[str, AnyOption]:
    """Return all options by id, modes first. Raises `ValueError` for a duplicate id."""
    by_id: dict[str, AnyOption] = {} if modes is None else {modes.id: modes}
    for option in options:
        if option.id in by_id:
            raise ValueError(f"two options are called {option.id!r}")
        by_id[option.id] = option
    return by_id


class SessionSettings:
    """The values of one session. A stored value that is no longer offered is replaced by the default."""

    def __init__(
        self, options: Mapping[str, AnyOption], stored_values: Mapping[str, Value] | None = None
    ) -> None:
        self._options = dict(options)
        self._values: dict[str, Value] = {}
        for option_id, option in options.items():
            value = (stored_values or {}).get(option_id)
            self._values[option_id] = value if value is not None and option.allows(value) else option.default

    def __getitem__(self, option_id: str) -> Value:
        return self._values[option_id]

    def __bool__(self) -> bool:
        return bool(self._options)

    @property
    def values(self) -> dict[str, Value]:
        return dict(self._values)

    def change(self, option_id: str, value: object) -> bool:
        """Set one value; return whether it has changed. Raises the error for the client."""
        option = self._options.get(option_id)
        if option is None:
            raise invalid_params("there is no such option")
        if not option.allows(value):
            raise invalid_params(f"this is not a value of the option {option_id}")
        assert isinstance(value, str | bool)
        is_changed, self._values[option_id] = self._values[option_id] != value, value
        return is_changed

    def redeclare(self, option: AnyOption) -> None:
        """Offer other choices under the same id, or a new option; the value stays if it is still offered."""
        self._options[option.id] = option
        value = self._values.get(option.id)
        self._values[option.id] = value if value is not None and option.allows(value) else option.default

    def modes(self) -> v1.SessionModeState | UnsetType:
        option = self._options.get(MODE)
        return option.state(self._values[MODE]) if isinstance(option, Modes) else UNSET

    def config_options(self, *, switches: bool) -> list[v1.SessionConfigOption]:
        """Return all of them with their values; without switches for clients that do not support them."""
        return [
            option.as_option(self._values[option_id])
            for option_id, option in self._options.items()
            if switches or not isinstance(option, Switch)
        ]


def _choice(choice: Choice | tuple[str, str] | str) -> Choice:
    if isinstance(choice, Choice):
        return choice
    return Choice(choice, _readable(choice)) if isinstance(choice, str) else Choice(*choice)


def _readable(word: str) -> str:
    """`full_speed` for people; a name that is more than lower case words stays as it is."""
    plain = word.replace("_", " ")
    return plain.capitalize() if word.islower() and plain.replace(" ", "").isalpha() else word


def _or_unset(text: str | None) -> str | UnsetType:
    return UNSET if text is None else text
