"""Cases about who was at work, and about files that are no plain text in one repository."""

from __future__ import annotations

import base64
import os
import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path

from tests.lab_memory.scene import PERSON, UNKNOWN, UNSEEN, Scene, agent, command, scene

LOOK = {"do": "review", "paths": [".gitignore"]}


@scene
def a_person_types_right_behind_an_agents_line(scene: Scene) -> None:
    """No tool call comes after it; then a turn does, that changes nothing."""
    made = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2"))
    scene.change("app.py", lambda lines: [lines[0], "typed = 3", *lines[1:], "typed_last = 4"])
    scene.expect("app.py", agent(made), PERSON, agent(made), PERSON)
    scene.turn("one", LOOK)
    scene.expect("app.py", agent(made), PERSON, agent(made), PERSON)


@scene
def a_person_types_while_the_turn_runs(scene: Scene) -> None:
    """Behind the agent's write through us, in the same file and in another: never the agent's."""

    def typing() -> None:
        scene.change("app.py", lambda lines: [*lines, "typed = 3"])
        scene.write("mine.py", "alone = 4")

    made = scene.turn_with_person("one", [scene.lent("app.py", "first = 1", "second = 2")], typing)
    scene.expect("app.py", agent(made), agent(made), UNSEEN)
    scene.expect("mine.py", UNSEEN)


@scene
def an_agent_that_only_reviews(scene: Scene) -> None:
    """It reads, and says lines of the file: nobody's line changes."""
    made = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2"))
    scene.change("app.py", lambda lines: ["typed = 0", *lines])
    scene.turn("two", {"do": "review", "paths": ["app.py"]}, {"do": "review", "paths": ["app.py"]})
    scene.expect("app.py", PERSON, agent(made), agent(made))


@scene
def an_agent_writes_the_whole_file_again(scene: Scene) -> None:
    """With a person's lines in it as they were: only what differs is the agent's."""
    scene.turn("one", LOOK)
    scene.write("app.py", "typed = 1", "typed_too = 2", "typed_last = 3")
    made = scene.turn("one", scene.lent("app.py", "typed = 1", "made = 9", "typed_too = 2", "typed_last = 3"))
    again = scene.turn("two", scene.own("app.py", "typed = 1", "made = 9", "typed_too = 2", "typed_last = 3"))
    scene.expect("app.py", PERSON, agent(made), PERSON, PERSON)
    scene.expect_true(made != again, "each prompt is another")


@scene
def undone_by_a_person_and_made_again(scene: Scene) -> None:
    """The turn that wrote it last is its author."""
    scene.write("app.py", "typed = 1")
    scene.commit()
    scene.turn("one", scene.lent("app.py", "typed = 1", "made = 2"))
    scene.git("checkout", "-q", "app.py")
    again = scene.turn("two", scene.lent("app.py", "typed = 1", "made = 2"))
    scene.expect("app.py", UNSEEN, agent(again))


@scene
def part_of_a_line(scene: Scene) -> None:
    """The last editor has it, in both directions."""
    one = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2", "third = 3"))
    scene.change("app.py", lambda lines: [lines[0], "second = 22", lines[2]])
    two = scene.turn("two", scene.own("app.py", "first = 1", "second = 222", "third = 3"))
    scene.expect("app.py", agent(one), agent(two), agent(one))
    scene.change("app.py", lambda lines: [*lines[:2], "third = 33"])
    scene.expect("app.py", agent(one), agent(two), PERSON)


@scene
def empty_lines(scene: Scene) -> None:
    """Those in an agent's block, and the lines behind them, are the agent's."""
    scene.turn("one", LOOK)
    scene.write("app.py", "typed = 1", "", "typed_last = 2")
    made = scene.turn(
        "one", scene.lent("app.py", "typed = 1", "", "made = 3", "", "", "made_too = 4", "", "typed_last = 2")
    )
    either = frozenset({PERSON, agent(made)})
    between = agent(made)
    scene.expect("app.py", PERSON, either, agent(made), between, between, agent(made), either, PERSON)


@scene
def the_last_line_had_no_end(scene: Scene) -> None:
    """A line that only got its end is whose it was."""
    scene.turn("one", LOOK)
    scene.stage.write({"app.py": {"text": "typed = 1\ntyped_last = 2"}})
    made = scene.turn("one", scene.lent("app.py", "typed = 1", "typed_last = 2", "made = 3"))
    scene.expect("app.py", PERSON, PERSON, agent(made))


@scene
def line_ends_of_another_system(scene: Scene) -> None:
    """A person turns the file's line ends around: every line is whose it was."""
    made = scene.turn("one", scene.lent("app.py", "first = 1", "second = 2"))
    scene.stage.write({"app.py": {"text": "first = 1\r\nsecond = 2\r\n"}})
    scene.turn("one", LOOK)
    scene.expect("app.py", agent(made), agent(made))


@scene
def an_edit_that_nothing_announces(scene: Scene) -> None:
    """The agent writes by its own hand and says nothing: its turn or unknown, never a person's."""
    act = {"writes": {"app.py": {"text": "made = 1\n"}}}
    made = scene.turn("one", {"do": "silent", "act": act})
    scene.expect("app.py", frozenset({UNKNOWN, agent(made), command(made)}))


@scene
def three_hands_in_one_turn(scene: Scene) -> None:
    """A file lent, an edit of its own, a command of ours and one of its own, all in one file."""
    lines = ["lent = 1", "own = 2", "terminal = 3", "shell = 4"]
    texts = ["\n".join(lines[: count + 1]) + "\n" for count in range(4)]
    acts = [{"writes": {"app.py": {"text": text}}} for text in texts]
    made = scene.turn(
        "one",
        {"do": "lent", "path": "app.py", "text": texts[0], "shown": ["", texts[0]]},
        {"do": "own", "act": acts[1], "shown": {"app.py": [texts[0], texts[1]]}},
        {"do": "terminal", "act": acts[2]},
        {"do": "shell", "act": acts[3]},
    )
    scene.expect("app.py", agent(made), agent(made), command(made), command(made))


@scene
def two_turns_at_the_same_moment(scene: Scene) -> None:
    """Both write through us, in files of their own and behind each other in one: each has its own."""
    scene.stage.write({"app.py": {"text": "typed = 1\n"}})
    scene.turn("one", LOOK)
    scene.turn("two", LOOK)
    first, second = (str(scene.stage.root / word) for word in ("first-wrote", "second-wrote"))
    one, two = scene.turns_at_once(
        (
            "one",
            [
                scene.lent("app.py", "typed = 1", "made_one = 2"),
                scene.lent("one.py", "only_one = 1"),
                {"do": "mark", "path": first},
                {"do": "until", "path": second},
            ],
        ),
        (
            "two",
            [
                {"do": "until", "path": first},
                scene.lent("app.py", "typed = 1", "made_one = 2", "made_two = 3"),
                scene.lent("two.py", "only_two = 1"),
                {"do": "mark", "path": second},
            ],
        ),
    )
    scene.expect("app.py", UNSEEN, agent(one), agent(two))
    scene.expect("one.py", agent(one))
    scene.expect("two.py", agent(two))


@scene
def binary_files(scene: Scene) -> None:
    """No lines, no answer, no breakdown; text beside them is told as ever."""
    data = base64.b64encode(b"\0\xff\xfe" * 5000).decode()
    writes = {
        "table.bin": {"bytes": data},
        "latin.py": {"bytes": base64.b64encode(b"x = 1  # \xe9\n").decode()},
    }
    made = scene.turn("one", {"do": "own", "act": {"writes": writes}}, scene.lent("app.py", "made = 1"))
    scene.expect_sound("blame", "table.bin", "--json", "--folder", str(scene.stage.folder))
    scene.expect_sound("blame", "latin.py", "--json", "--folder", str(scene.stage.folder))
    scene.expect_sound("blame", "nowhere.py", "--json", "--folder", str(scene.stage.folder))
    scene.expect("app.py", agent(made))


@scene
def deletions(scene: Scene) -> None:
    """An agent deletes a file and lines; a person brings the file back, as it was."""
    made = scene.turn("one", scene.lent("app.py", "made = 1", "more = 2", "last = 3"))
    scene.change("app.py", lambda lines: [lines[0], "typed = 9", *lines[1:]])
    scene.commit()
    scene.turn("two", {"do": "own", "act": {"writes": {"app.py": None}}})
    scene.git("checkout", "-q", "app.py")
    scene.expect("app.py", agent(made), PERSON, agent(made), agent(made))
    scene.turn("two", scene.lent("app.py", "made = 1", "typed = 9", "last = 3"))
    scene.expect("app.py", agent(made), PERSON, agent(made))


@scene
def symlinks(scene: Scene) -> None:
    """A link is answered or refused, and nothing is kept of what one leads out to."""
    outside = scene.stage.root / "outside.py"
    outside.write_text("private = 1\n", encoding="utf-8")
    act = {"writes": {"inside_link.py": {"link": "app.py"}, "outside_link.py": {"link": str(outside)}}}
    made = scene.turn("one", scene.lent("app.py", "made = 1"), {"do": "own", "act": act})
    scene.expect("app.py", agent(made))
    for link in ("inside_link.py", "outside_link.py"):
        scene.expect_sound("blame", link, "--json", "--folder", str(scene.stage.folder))
    scene.turn("one", LOOK)
    kept = [path for path in scene.stage.home.rglob("*") if path.is_file() and holds(path, b"private = 1")]
    scene.expect_true(not kept, f"what a link leads out to was kept: {kept}")


@scene
def modes(scene: Scene) -> None:
    """A mode that changes changes no line."""
    one = scene.turn("one", scene.lent("app.py", "made = 1", "more = 2"))
    act = {"writes": {"app.py": {"text": "made = 1\nmore = 2\n", "mode": 0o755}}}
    scene.turn("two", {"do": "shell", "act": act})
    os.chmod(scene.stage.folder / "app.py", 0o700)
    scene.turn("two", LOOK)
    scene.expect("app.py", agent(one), agent(one))


@scene
def a_repository_inside(scene: Scene) -> None:
    """A folder with a repository of its own, which ours does not track."""
    inner = scene.stage.folder / "inner"
    inner.mkdir()
    scene.stage.git("init", "-q", folder=inner)
    scene.turn("one", LOOK)
    scene.write("inner/app.py", "typed = 1")
    made = scene.turn("one", scene.lent("inner/app.py", "typed = 1", "made = 2"))
    scene.stage.git("add", "-A", folder=inner)
    scene.stage.git("commit", "-q", "-m", "Inner", folder=inner)
    scene.turn("one", LOOK)
    scene.expect("inner/app.py", PERSON, agent(made))


@scene
def a_submodule(scene: Scene) -> None:
    """A person moves it to another commit, then an agent edits in it."""
    library = scene.stage.root / "library"
    library.mkdir()
    scene.stage.git("init", "-q", "-b", "main", folder=library)
    (library / "part.py").write_text("colleague = 1\n", encoding="utf-8")
    scene.stage.git("add", "-A", folder=library)
    scene.stage.git("commit", "-q", "-m", "Part", folder=library)
    scene.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "library")
    scene.commit()
    made = scene.turn("one", scene.own("library/part.py", "colleague = 1", "made = 2"))
    scene.turn("one", LOOK)
    scene.expect("library/part.py", UNSEEN, agent(made))


SECRET = b"lab-secret-4f81c2d97ab3"


@scene
def secret_files(scene: Scene) -> None:
    """A key that a person keeps in `.env` is in no file of ours, and its line is no turn's."""
    scene.turn("one", LOOK)
    scene.write(".env", f"TOKEN={SECRET.decode()}")
    made = scene.turn("one", scene.lent("app.py", "made = 1"))
    scene.turn("one", {"do": "shell", "act": {"writes": {"app.py": {"text": "made = 1\nran = 2\n"}}}})
    scene.expect(".env", UNSEEN)
    scene.expect_true(scene.lines("app.py") == ["made = 1", "ran = 2"], "the turns ran")
    kept = [path for path in scene.stage.home.rglob("*") if path.is_file() and holds(path, SECRET)]
    scene.expect_true(not kept, f"a secret was kept in {kept}")
    scene.expect_true(made, "there was a turn")


def holds(path: Path, needle: bytes) -> bool:
    """Whether these bytes are in the file: as they are, packed as a stream, or in a value of a database."""
    data = path.read_bytes()
    values = [data]
    if data.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            tables = [
                row[0] for row in database.execute("select name from sqlite_master where type = 'table'")
            ]
            for table in tables:
                with suppress(sqlite3.Error):  # a virtual table whose module is not here
                    for row in database.execute(f'select * from "{table}"'):
                        values += [
                            value.encode() if isinstance(value, str) else value
                            for value in row
                            if isinstance(value, (bytes, str))
                        ]
    return any(needle in value or needle in _unpacked(value) for value in values)


def _unpacked(data: bytes) -> bytes:
    """Streams of zlib that begin anywhere in it, as git's packs have them."""
    found, place = [], data.find(b"\x78")
    while place >= 0:
        with suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(data[place:]))
        place = data.find(b"\x78", place + 1)
    return b"".join(found)
