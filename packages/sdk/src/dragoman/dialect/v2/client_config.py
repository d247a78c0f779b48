"""The settings of a session: v1's config options and modes become v2's single list.

v2 always tells the whole list, so the list is kept here as the client has seen it last.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_object
from dragoman.dialect.v2.to_v2.config import mode_option, options, values
from dragoman.dialect.v2.to_v2.writer import V2Writer, is_list


class V2ClientConfig:
    """The settings of one session, in v2's form."""

    def __init__(self) -> None:
        self._options: list[Object] = []
        self._modes: Object = {}
        self._modes_option: str | None = None  # the id of the option that we made of the modes
        self.is_known = False

    def learn(self, result: Object, writer: V2Writer) -> None:
        """From the answer that began or resumed the session."""
        modes, entries = as_object(result.get("modes")), result.get("configOptions")
        self._modes = modes
        self.is_known = bool(modes) or is_list(entries)
        self.replace(entries, writer)

    def replace(self, entries: Json, writer: V2Writer) -> None:
        """Replace the settings by the options that v1 lists. Modes are added unless an option has the same
        meaning.
        """
        self._options, self._modes_option = options(entries, writer), None
        if self._modes and self._mode() is None:
            used_ids = {option["configId"] for option in self._options}
            modes_as_option = mode_option(self._modes, used_ids, writer)
            if modes_as_option is not None:
                self._options.append(modes_as_option)
                self._modes_option = modes_as_option["configId"]

    @property
    def listed_options(self) -> list[Object]:
        return self._options

    def is_made(self, config_id: str) -> bool:
        """Whether this option was made of the agent's modes."""
        return config_id == self._modes_option

    def set_mode(self, mode_id: Json) -> bool:
        """Set the session's mode; false if there are no modes."""
        choice = self._mode()
        if choice is None or mode_id not in values(choice):
            return False
        self._modes = {**self._modes, "currentModeId": mode_id}
        self.set_value(choice["configId"], mode_id)
        return True

    def set_value(self, config_id: str, value: Json) -> None:
        self._options = [
            {**option, "currentValue": value} if option["configId"] == config_id else option
            for option in self._options
        ]

    def _mode(self) -> Object | None:
        mode_options = (
            option
            for option in self._options
            if option.get("category") == "mode" and option["type"] == "select"
        )
        return next(mode_options, None)
