"""The table of commands: every row can be run, and says what it is for."""

from __future__ import annotations

import importlib
import inspect

import pytest

from dragoman.runtime import limits
from dragoman_app.cli.commands import COMMANDS, CommandRow
from dragoman_app.cli.options.values import HANDSHAKE_SECONDS
from dragoman_app.cli.parser import load, make_parser
from tests.test_layers import MAY_IMPORT, room_of

RUNNING = [command for command in COMMANDS if command.run]
NAMES = {command.name for command in RUNNING}


@pytest.mark.parametrize("command", RUNNING, ids=lambda command: command.name)
def test_a_command_names_a_function_that_takes_its_arguments(command: CommandRow) -> None:
    function = load(command.run)
    assert len(inspect.signature(function).parameters) == 1


def test_a_command_runs_in_a_room_that_the_command_line_may_import() -> None:
    assert {room_of(command.run.partition(":")[0]) for command in RUNNING} <= MAY_IMPORT["cli"] | {"cli"}


def test_a_command_without_a_function_has_commands_below_it() -> None:
    parents = {command.parent for command in COMMANDS}
    assert [command.name for command in COMMANDS if not command.run and command.name not in parents] == []
    assert {command.name for command in COMMANDS if command.metavar} == parents - {""}


def test_a_command_of_the_first_level_stands_in_a_group_and_no_other_does() -> None:
    assert [command.name for command in COMMANDS if bool(command.group) == bool(command.parent)] == []


def test_no_name_is_there_twice() -> None:
    names = [command.name for command in COMMANDS]
    assert sorted(names) == sorted(set(names))


def test_every_module_of_options_is_used() -> None:
    for name in {command.options for command in COMMANDS if command.options}:
        module = importlib.import_module(f"dragoman_app.cli.options.{name}")
        mine = {
            function
            for function, value in vars(module).items()
            if function.startswith("add_") and value.__module__ == module.__name__
        }
        rows = {f"add_{row.name}".replace(" ", "_").replace("-", "_") for row in COMMANDS}
        assert mine <= rows


def test_the_help_names_the_deadline_of_the_handshake() -> None:
    assert HANDSHAKE_SECONDS == limits.HANDSHAKE_SECONDS


LISTED_ALONE = [row.parent for row in RUNNING if row.name == f"{row.parent} list" and row.parent in NAMES]
"""Commands that list what they have when they are called without an action."""


@pytest.mark.parametrize("name", LISTED_ALONE)
def test_a_command_that_lists_when_it_is_called_alone_has_every_option_of_the_list(name: str) -> None:
    alone = vars(make_parser().parse_args(name.split()))
    listing = vars(make_parser().parse_args([*name.split(), "list"]))
    missing = {option: value for option, value in listing.items() if option not in alone}
    assert missing == {}, f"set_defaults of `dragoman {name}` has to name these"
    options = listing.keys() - {"action", "command_row"}
    assert {option: alone[option] for option in options} == {option: listing[option] for option in options}
