"""What an agent on an official SDK was permitted is what it may do, once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.doors.cheat_tricks import CHEAT_TRICKS, HONEST, CheatTrick
from tests.hostile.doors.stage import hub_of_puppets, make_folder, placed
from tests.hostile.doors.tricks import must_not, parameters
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess
from tests.interop.programs import needs_node

HERE = Path(__file__).parent

SDKS = ["python", pytest.param("typescript", marks=needs_node)]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    agents = {
        "python": [sys.executable, str(HERE / "official_agent.py")],
        "typescript": ["node", str(HERE / "official_agent.mjs")],
    }
    with hub_of_puppets(tmp_path_factory.mktemp("hub"), agents=agents) as hub:
        yield hub


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize("trick", parameters(CHEAT_TRICKS))
def test_no_agent_does_more_than_was_shown(hub: HubProcess, trick: CheatTrick, sdk: str) -> None:
    folder = make_folder(hub, f"{trick.name} {sdk}")
    (folder / "count.sh").write_text("echo x >> count\n")
    (folder / "mark.sh").write_text("touch mark\n")
    (folder / "word.sh").write_text("echo ${WORD:-good} > word\n")
    (folder / "sub" / "mark.sh").write_text("touch evil\n")
    with Visitor(hub.place, hub.token, person="careful") as visitor:
        visitor.introduce(agent=sdk)
        session = visitor.open(str(folder))
        for turn in [HONEST, *trick.turns]:
            assert "result" in visitor.prompt(session, placed(turn, folder))
        visitor.call("session/close", {"sessionId": session})
    assert (folder / "honest").read_text() == "good\n"
    assert (folder / "mark").exists()
    must_not(evil_files(folder), [one["toolCall"] for one in visitor.questions])


def evil_files(folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".sh"
        and (path.name == "evil" or "evil" in path.read_text() or path.read_text().count("x\n") > 1)
    ]
