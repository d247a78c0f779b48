"""Our agents in the settings of editors: shown first, comments kept, twice the same, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LocalMistake
from dragoman_app.cli import main
from dragoman_app.cli.editors import EDITORS
from dragoman_app.cli.jsonc_edit import put_members, remove_members
from dragoman_app.cli.options import shell
from dragoman_local.known.jsonc import parse_jsonc

SETTINGS = """// my settings
{
  // a dark one
  "theme": "One Dark", // really
  "agent_servers": {
    "Mine": { "command": "mine", "env": { "KEY": "a-secret" } }, // keep
    /* more to come */
  },
  "list": [1, /* two */ 2,],
}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_comments_and_everything_else_stay() -> None:
    text = put_members(SETTINGS, "agent_servers", {"Ours": {"command": "x", "args": ["a"]}}, path="s")
    for part in (
        "// my settings",
        "// a dark one",
        "// really",
        "// keep",
        "/* more to come */",
        "/* two */",
    ):
        assert part in text
    assert [line for line in SETTINGS.splitlines() if line not in text.splitlines()] == []
    assert parse_jsonc(text.encode(), path="s")["agent_servers"]["Ours"] == {"command": "x", "args": ["a"]}
    assert put_members(text, "agent_servers", {"Ours": {"command": "x", "args": ["a"]}}, path="s") == text
    assert remove_members(text, "agent_servers", ("Ours",), path="s") == SETTINGS


KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | KEYS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)
GAPS = st.sampled_from(["", " ", "\n  ", " // note, {\n", " /* } */ "])


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    def write(value: object) -> str:
        if isinstance(value, dict):
            items = [
                f"{draw(GAPS)}{json.dumps(key)}{draw(GAPS)}:{write(item)}{draw(GAPS)}"
                for key, item in value.items()
            ]
            return "{" + ",".join(items) + draw(GAPS) + "}"
        return f" {json.dumps(value)} "

    inner = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    root = draw(st.dictionaries(KEYS, VALUES, max_size=3)) | ({"t": inner} if draw(st.booleans()) else {})
    return draw(GAPS) + write(root) + draw(GAPS)


@given(settings_texts(), st.dictionaries(KEYS, VALUES, max_size=2))
def test_any_settings_mean_what_they_meant_and_what_was_added(text: str, members: dict[str, object]) -> None:
    before = parse_jsonc(text.encode(), path="s")
    if not isinstance(before.get("t", {}), dict):
        return
    after = put_members(text, "t", members, path="s")
    assert parse_jsonc(after.encode(), path="s") == {**before, "t": {**before.get("t", {}), **members}}
    without = remove_members(after, "t", tuple(members), path="s")
    remaining = {key: value for key, value in before.get("t", {}).items() if key not in members}
    assert parse_jsonc(without.encode(), path="s") == {**before, "t": remaining}


def test_settings_of_another_shape_are_left_alone() -> None:
    for text in ('{"agent_servers": []}', "[1]", "{ nonsense"):
        with pytest.raises(LocalMistake):
            put_members(text, "agent_servers", {"a": {}}, path="s")


@pytest.mark.parametrize("editor", sorted(EDITORS))
def test_an_editor_is_installed_twice_and_taken_back(
    editor: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = EDITORS[editor]().path
    assert home in path.parents
    assert main(["editors", "install", editor, "--dry-run"]) == 0
    assert not path.exists()
    assert main(["editors", "install", editor]) == 2  # nobody agreed
    assert not path.exists()
    assert main(["editors", "install", editor, "--yes"]) == 0
    text = path.read_text()
    assert "Dragoman Review" in text
    capsys.readouterr()
    assert main(["editors", "install", editor, "--yes", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["changed"], path.read_text()) == (False, text)
    assert main(["editors", "uninstall", editor, "--yes"]) == 0
    assert not path.exists() or "Dragoman" not in path.read_text()


def test_what_was_there_is_kept_and_secrets_of_others_are_not_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = EDITORS["zed"]().path
    path.parent.mkdir(parents=True)
    path.write_text(SETTINGS)
    path.chmod(0o600)
    assert main(["editors", "install", "zed", "--agent", "review", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert '+    "Dragoman Review": {' in shown
    assert "a-secret" not in shown
    (kept,) = path.parent.glob("settings.json.before-*")
    assert kept.read_text() == SETTINGS
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_options_name_every_editor() -> None:
    assert sorted(shell.EDITORS) == sorted(EDITORS)
