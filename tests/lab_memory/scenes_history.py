"""Cases about the history of a repository: squashed, rebased, switched, moved, formatted."""

from __future__ import annotations

import subprocess

from tests.lab_memory.lab import ruff
from tests.lab_memory.scene import PERSON, UNSEEN, Scene, agent, scene

FIRST = ("alpha = 1", "beta = 2", "gamma = 3", "delta = 4", "omega = 5")


@scene
def interleaved_sessions_squashed(scene: Scene) -> None:
    """Two sessions write in one file in turn; all commits become one, and the old ones are gone."""
    base = scene.commit()
    one = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2"))
    scene.commit()
    two = scene.turn("two", scene.own("app.py", "first = 1", "middle = 7", "second = 2"))
    scene.commit()
    three = scene.turn("one", scene.lent("app.py", "first = 1", "middle = 7", "second = 2", "third = 3"))
    scene.change("app.py", lambda lines: [*lines, "typed = 4"])
    scene.commit()
    _squash(scene, base)
    scene.expect("app.py", agent(one), agent(two), agent(one), agent(three), PERSON)
    scene.turn("two", {"do": "review", "paths": ["app.py"]})
    scene.expect("app.py", agent(one), agent(two), agent(one), agent(three), PERSON)


def _squash(scene: Scene, base: str) -> None:
    scene.git("reset", "-q", "--soft", base)
    scene.git("commit", "-q", "-m", "All at once")
    scene.git("reflog", "expire", "--expire=now", "--all")
    scene.git("gc", "-q", "--prune=now")


@scene
def conflict_resolved_in_a_rebase(scene: Scene) -> None:
    """The line that a person writes to end a conflict is the person's; the agent's others stay."""
    scene.write("app.py", *FIRST)
    scene.commit()
    scene.git("branch", "other")
    made = scene.turn(
        "one", scene.lent("app.py", "alpha = 1", "beta = 20", "gamma = 3", "delta = 4", "omega = 50")
    )
    scene.commit("Agent's")
    scene.git("checkout", "-q", "other")
    scene.write("app.py", "alpha = 1", "beta = 200", "gamma = 3", "delta = 4", "omega = 5")
    scene.commit("Other's")
    scene.git("checkout", "-q", "main")
    try:
        scene.git("rebase", "other")
    except AssertionError:
        scene.write("app.py", "alpha = 1", "beta = 20 + 200", "gamma = 3", "delta = 4", "omega = 50")
        scene.git("add", "-A")
        scene.git("-c", "core.editor=true", "rebase", "--continue")
    else:
        raise AssertionError("this case needs a conflict")
    scene.expect("app.py", UNSEEN, PERSON, UNSEEN, UNSEEN, agent(made))


@scene
def conflict_ended_by_taking_the_agents_side(scene: Scene) -> None:
    """A line that is taken as it is keeps its author."""
    scene.write("app.py", *FIRST)
    scene.commit()
    scene.git("branch", "other")
    made = scene.turn("one", scene.lent("app.py", "alpha = 1", "beta = 20", *FIRST[2:]))
    scene.commit("Agent's")
    scene.git("checkout", "-q", "other")
    scene.write("app.py", "alpha = 1", "beta = 200", *FIRST[2:])
    scene.commit("Other's")
    scene.git("checkout", "-q", "main")
    scene.git("rebase", "-X", "theirs", "other")
    scene.expect("app.py", UNSEEN, agent(made), UNSEEN, UNSEEN, UNSEEN)


@scene
def squash_on_the_server_without_notes(scene: Scene) -> None:
    """Somebody squashes on another machine; what comes back has the same lines and none of our commits."""
    server, other = scene.stage.root / "server.git", scene.stage.root / "other"
    scene.git("init", "-q", "--bare", "-b", "main", str(server))
    scene.git("remote", "add", "origin", str(server))
    scene.git("push", "-q", "origin", "main")
    base = scene.git("rev-parse", "HEAD").strip()
    one = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2"))
    scene.commit()
    two = scene.turn("two", scene.lent("app.py", "first = 1", "second = 2", "third = 3"))
    scene.commit()
    scene.git("push", "-q", "origin", "main")
    scene.git("clone", "-q", str(server), str(other))
    (other / "app.py").write_text("first = 1\nsecond = 2\nthird = 3\ncolleague = 4\n", encoding="utf-8")
    scene.stage.git("reset", "-q", "--soft", base, folder=other)
    scene.stage.git("add", "-A", folder=other)
    scene.stage.git("commit", "-q", "-m", "Squashed", folder=other)
    scene.stage.git("push", "-q", "--force", "origin", "main", folder=other)
    scene.git("fetch", "-q")
    scene.git("reset", "-q", "--hard", "origin/main")
    scene.expect("app.py", agent(one), agent(one), agent(two), UNSEEN)
    scene.turn("one", {"do": "review", "paths": ["app.py"]})
    scene.expect("app.py", agent(one), agent(one), agent(two), UNSEEN)


@scene
def branch_switched_away_and_back(scene: Scene) -> None:
    """A turn runs while another branch is in the folder; back on the first, every line is whose it was."""
    scene.write("app.py", *FIRST)
    scene.commit()
    scene.git("branch", "other")
    one = scene.turn("one", scene.lent("app.py", *FIRST, "made = 6"))
    scene.change("app.py", lambda lines: [*lines, "typed = 7"])
    scene.commit()
    scene.git("checkout", "-q", "other")
    two = scene.turn("two", scene.own("app.py", *FIRST, "else_made = 8"))
    scene.commit()
    scene.expect("app.py", *[UNSEEN] * 5, agent(two))
    scene.git("checkout", "-q", "main")
    scene.turn("two", {"do": "review", "paths": ["app.py"]})
    scene.expect("app.py", *[UNSEEN] * 5, agent(one), PERSON)


PLAIN = (
    "def add(left,right):",
    "    total=left+right",
    "    rows=[ 1,2,3 ]",
    "    return gather(first_part=left, second_part=right, third_part=total, fourth_part=rows, fifth=None)",
)


def _format(scene: Scene, path: str) -> None:
    place = str(scene.stage.folder / path)
    subprocess.run([ruff(), "format", "--isolated", "--no-cache", "-q", place], check=True)


@scene
def a_persons_formatter_over_an_agents_code(scene: Scene) -> None:
    """Every line stays the agent's, also those that the formatter broke into several."""
    made = scene.turn("one", scene.lent("app.py", *PLAIN))
    _format(scene, "app.py")
    count = len(scene.lines("app.py"))
    scene.expect_true(count == 10, "this case needs a formatter that breaks a line into seven")
    scene.expect("app.py", *[agent(made)] * count)
    scene.turn("two", {"do": "review", "paths": ["app.py"]})
    scene.expect("app.py", *[agent(made)] * count)


@scene
def an_agents_formatter_over_a_persons_code(scene: Scene) -> None:
    """A command of a turn formats: the person's lines stay the person's."""
    scene.turn("one", {"do": "review", "paths": [".gitignore"]})
    scene.write("app.py", *PLAIN)
    _format(scene, "app.py")
    formatted = scene.lines("app.py")
    scene.write("app.py", *PLAIN)
    act = {"writes": {"app.py": {"text": "\n".join(formatted) + "\n"}}}
    scene.turn("one", {"do": "terminal", "act": act})
    scene.expect("app.py", *[PERSON] * len(formatted))


BLOCK = (
    "def carry(cargo):",
    "    ship = cargo.ship",
    "    port = ship.port",
    "    tide = port.tide",
    "    wind = 4",
)


@scene
def an_agent_moves_a_persons_function(scene: Scene) -> None:
    """To another file, whole: its lines stay the person's, and what the agent adds is the agent's."""
    scene.turn("one", {"do": "review", "paths": [".gitignore"]})
    scene.write("old.py", "import sys", "", *BLOCK, "    return tide, wind")
    scene.turn("one", {"do": "review", "paths": ["old.py"]})
    made = scene.turn(
        "one",
        scene.lent("old.py", "import sys"),
        scene.lent("new.py", "import os", "", *BLOCK, "    return tide, wind"),
    )
    answers = [PERSON] * 6
    scene.expect("new.py", agent(made), frozenset({agent(made), PERSON}), *answers)


@scene
def renamed_and_changed_by_a_person(scene: Scene) -> None:
    made = scene.turn("one", scene.lent("old.py", *BLOCK))
    scene.commit()
    scene.git("mv", "old.py", "new.py")
    scene.change("new.py", lambda lines: [*lines[:4], "    wind = 9", "    return wind"])
    scene.commit()
    scene.expect("new.py", *[agent(made)] * 4, PERSON, PERSON)
    scene.turn("two", {"do": "review", "paths": ["new.py"]})
    scene.expect("new.py", *[agent(made)] * 4, PERSON, PERSON)
