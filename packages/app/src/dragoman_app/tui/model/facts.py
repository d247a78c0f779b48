"""The current facts of a session: commands, mode, options, usage, title. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman import TurnResult
from dragoman.schema import v1
from dragoman.schema.base import Unknown


class Facts:
    """Facts from updates and answers."""

    def __init__(self) -> None:
        self.title = ""
        self.commands: Sequence[v1.AvailableCommand] = ()
        self.modes: Sequence[v1.SessionMode] = ()
        self.mode: str | None = None
        self.options: Sequence[v1.SessionConfigOption] = ()
        self.plan: Sequence[v1.PlanEntry] = ()
        self.used = 0
        self.size = 0
        self.cost = ""
        self.tokens_in = 0
        self.tokens_out = 0

    def learn(self, update: v1.SessionUpdate | Unknown) -> bool:
        """Read an update; return whether it contains a fact."""
        match update:
            case v1.AvailableCommandsUpdate(available_commands=commands):
                self.commands = commands
            case v1.CurrentModeUpdate(current_mode_id=mode):
                self.mode = mode
            case v1.ConfigOptionUpdate(config_options=options):
                self.options = options
            case v1.SessionInfoUpdate(title=str(title)):
                self.title = title
            case v1.UsageUpdate():
                self.used, self.size = update.used, update.size
                if update.cost:
                    self.cost = cost_text((update.cost.amount, update.cost.currency))
            case _:
                return False
        return True

    def on_open(self, modes: v1.SessionModeState | None, options: Sequence[v1.SessionConfigOption]) -> None:
        """Read the agent's answer when the session was opened."""
        if modes is not None:
            self.modes, self.mode = modes.available_modes, modes.current_mode_id
        self.options = options

    def on_turn_end(self, result: TurnResult) -> None:
        """Note the end of a turn."""
        if result.usage is not None:
            self.tokens_in += result.usage.input_tokens
            self.tokens_out += result.usage.output_tokens

    @property
    def mode_name(self) -> str:
        """Return the mode's name for people, from any field of the agent."""
        for mode in self.modes:
            if mode.id == self.mode:
                return mode.name
        for option in self.options:
            if isinstance(option, v1.SessionConfigSelect) and option.category == "mode":
                return option.current_value
        return ""

    @property
    def steps_done(self) -> tuple[int, int]:
        return sum(step.status == "completed" for step in self.plan), len(self.plan)


def cost_text(cost: tuple[float, str]) -> str:
    """Format a cost so that a small one never looks like zero."""
    amount, currency = cost
    if 0 < amount < 0.001:
        return f"< 0.001 {currency}"
    needs_three = abs(amount) < 0.0995 and round(amount * 1000) % 10 != 0
    return f"{amount:.3f} {currency}" if needs_three else f"{amount:,.2f} {currency}"
