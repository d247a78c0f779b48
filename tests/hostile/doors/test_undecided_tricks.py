"""What a client says before it is known what it speaks does not reach an agent that it is not meant for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.hostile.doors.program import environment, started
from tests.hostile.doors.stage import puppet
from tests.hostile.doors.tricks import must_not, parameters
from tests.hostile.doors.undecided_tricks import HONEST, KEY, NO_TRICKS, UNDECIDED_TRICKS, UndecidedTrick


def agent_knows(folder: Path, lines: Sequence[str], options: Sequence[str], *, is_patient: bool) -> list[str]:
    """Lines of the agent's log that have the key."""
    log = folder / "log"
    words = ["translate", *options, "--", *puppet("v1"), str(log)]
    with started(words, env=environment(folder), cwd=folder) as program:
        for line in lines:
            program.send_text(line)
            if is_patient and "initialize" in line:
                program.answer_to(1)
        if not is_patient:
            program.answer_to(1)
        program.call("nothing/of/the/kind", {})
    told = log.read_text().splitlines()
    assert told, (folder / "stderr").read_text()
    return [line for line in told if KEY in line]


@pytest.mark.parametrize("trick", parameters(UNDECIDED_TRICKS))
def test_no_key_of_an_undecided_client_reaches_the_agent(tmp_path: Path, trick: UndecidedTrick) -> None:
    must_not(agent_knows(tmp_path, trick.lines, trick.options, is_patient=trick.is_patient))


def test_a_key_that_may_be_handed_on_is(tmp_path: Path) -> None:
    assert agent_knows(tmp_path, HONEST, ["--credentials"], is_patient=True)


@pytest.mark.parametrize("lines", NO_TRICKS, ids=["a prompt", "a login of version 1"])
def test_what_is_meant_for_the_agent_reaches_it_also_from_an_undecided_client(
    tmp_path: Path, lines: Sequence[str]
) -> None:
    assert agent_knows(tmp_path, lines, [], is_patient=False)
