"""What is not understood is asked: no program, option or spelling that the table does not hold is allowed."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.policy.program_calls import ProgramEntry, _table, read_call
from dragoman_local.workspace.policy.program_options import PROGRAM_OPTIONS
from tests.every import every
from tests.workspace.policy.decision_lines import RULES, lines_of
from tests.workspace.policy.makers import ROOT, command, policy

EVERYTHING = policy(RULES["nothing-denied"])
TABLE = _table()
FREE = [
    (name, entry)
    for name, entry in TABLE.items()
    if not entry.marks & {"any", "script", "carries", "onedash"}
]


@every("line", lines_of("options-ask"))
def test_a_rule_with_a_star_allows_nothing_that_is_not_understood(line: str) -> None:
    assert EVERYTHING.decide(command(line)).outcome == "ask"


@every("line", lines_of("options-ask"))
def test_a_rule_that_writes_a_command_out_allows_exactly_that(line: str) -> None:
    act = command(line)
    if act.script is None or len(act.script.commands) != 1 or act.objection() is not None:
        return
    quoted = " ".join(f"'{word}'" for word in act.script.commands[0])
    if any(sign in quoted for sign in "*?[\\") or quoted.count("'") != 2 * len(act.script.commands[0]):
        return
    rule = f'[[rule]]\ndecision = "allow"\ncommand = """{quoted}"""\n'
    # In another folder git may find another repository: that rule must name the folder.
    rule += f'folder = "{ROOT}"\n' if " -C " in line else ""
    assert policy(rule).decide(act).outcome == "allow"
    assert policy(rule).decide(command(f"{line} x")).outcome == "ask"


@given(st.sampled_from(FREE), st.data())
def test_no_shortened_option_and_no_unknown_letter_is_understood(
    entry: tuple[tuple[str, str], ProgramEntry], data: st.DataObject
) -> None:
    (program, subcommand), known = entry
    words = [program, *([subcommand] if subcommand else [])]
    longs = [name for name in known.options if name.startswith("--") and len(name) > 4]
    if longs:
        option = data.draw(st.sampled_from(longs))
        cut = option[: data.draw(st.integers(3, len(option) - 1))]
        if cut not in known.options:
            assert read_call((*words, cut)).doubt
            assert read_call((*words, f"{cut}=x")).doubt
    letter = data.draw(st.sampled_from(string.ascii_letters))
    flags = [name for name in known.options if len(name) == 2 and not known.options[name].takes]
    if f"-{letter}" not in known.options:
        bundle = "".join(flag[1] for flag in data.draw(st.permutations(flags))[:3])
        assert read_call((*words, f"-{bundle}{letter}")).doubt


def test_a_dash_is_a_program_for_those_that_run_one_and_text_for_the_others() -> None:
    assert [read_call((name, "-")).doubt for name in ("cat", "sort", "grep")] == [None] * 3
    assert read_call(("python3", "-")).doubt == "python would run its input"


def test_every_line_of_the_table_is_an_entry_of_its_own() -> None:
    starts = [line for line in PROGRAM_OPTIONS.splitlines() if line and not line.startswith(" ")]
    assert len(starts) == len(TABLE)


@pytest.mark.parametrize("line", ["git -C x status", "git status"])
def test_git_is_understood_in_the_sessions_own_folder_alone(line: str) -> None:
    rule = f'[[rule]]\ndecision = "allow"\ncommand = "{line}"\n'
    below = command(line) if " -C " in line else command(line, cwd=f"{ROOT}/src/x")
    assert policy(rule).decide(below).outcome == "ask"
    assert policy(f'{rule}folder = "{below.start}"\n').decide(below).outcome == "allow"
