"""A file of a session as a person sees it: below the session's folders, bounded, secrets covered."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_hub.gate.admission import Grant
from dragoman_hub.lending.file_view import MOST_BYTES, WINDOW, read_file

ANYBODY = Grant("owner", frozenset({"observe"}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "src").mkdir(parents=True)
    (made / "src" / "parser.py").write_text("import os\n\n\ndef split() -> None: ...\n")
    (tmp_path / "secret.txt").write_text("not yours")
    return made


def look(folder: Path, path: str, *, line: int = 1, grant: Grant = ANYBODY) -> dict[str, object]:
    return read_file([str(folder)], path, line=line, grant=grant)


def test_a_file_is_found_by_its_path_and_below_the_folder(folder: Path) -> None:
    found = look(folder, "src/parser.py")
    assert found == look(folder, f"{folder}/src/parser.py")
    assert (found["text"], found["first"]) == ("import os\n\n\ndef split() -> None: ...\n", 1)
    assert (found["isWhole"], found["isCovered"]) == (True, False)


def test_no_way_leads_out_of_the_folders(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    for path in (
        "../secret.txt",
        "link.txt",
        "up/secret.txt",
        str(folder.parent / "secret.txt"),
        "/etc/passwd",
    ):
        with pytest.raises(ErrorAnswer) as refused:
            look(folder, path)
        assert "not yours" not in str(refused.value.data)
    with pytest.raises(ErrorAnswer):
        look(folder, "src/parser.py", grant=Grant("poor", frozenset({"observe"}), roots=("/usr",)))


def test_folders_pictures_and_missing_files_are_refused_in_words(folder: Path) -> None:
    (folder / "picture").write_bytes(b"\x89PNG\0\xff\xfe")
    for path in ("src", "picture", "nothing.txt", "", "a\0b"):
        with pytest.raises(ErrorAnswer) as refused:
            look(folder, path)
        assert refused.value.message, path


def test_of_a_large_file_the_lines_around_the_wanted_one_are_shown(folder: Path) -> None:
    (folder / "long.log").write_text("".join(f"line {number}\n" for number in range(1, 200_001)))
    found = look(folder, "long.log", line=150_000)
    text = str(found["text"])
    assert (found["isWhole"], found["first"]) == (False, 150_000 - WINDOW // 2)
    assert text.startswith(f"line {found['first']}\n")
    assert "line 150000\n" in text
    assert len(text) < MOST_BYTES
    (folder / "one.line").write_text("x" * (3 * MOST_BYTES))
    with pytest.raises(ErrorAnswer, match="more text than is answered at once"):
        look(folder, "one.line")


def test_secrets_are_covered_and_lines_keep_their_numbers(folder: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----\n"
    (folder / "app.py").write_text(f'{key}token: str = ""\nAPI_KEY = "abcdefgh12345"\nlast = 1\n')
    (folder / ".env").write_text("DEBUG=1\nDB_PASSWORD=hunter2\n")
    code = look(folder, "app.py")
    lines = str(code["text"]).split("\n")
    assert lines[3:] == ['token: str = ""', 'API_KEY = "[redacted]"', "last = 1", ""]
    assert "MIIabc" not in str(code["text"])
    assert code["isCovered"] is True
    assert look(folder, ".env")["text"] == "DEBUG=1\nDB_PASSWORD=[redacted]\n"
