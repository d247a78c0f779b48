from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_check.agent.prompts import (
    KNOWN,
    WORD,
    BadPrompts,
    PromptCatalogue,
    packaged_prompts,
    read_prompts,
)


def test_the_packaged_catalogue_has_words_for_agents_that_it_does_not_know() -> None:
    prompts = packaged_prompts().of("somebody else")
    without = {name for name in KNOWN if not prompts.text(name)}
    assert without == {"command", "elicit"}
    assert prompts.extra == []


def test_places_are_filled_in() -> None:
    prompts = PromptCatalogue({"default": {"read": "read {file} and {word} {unknown}"}}).of("")
    assert prompts.text("read", file="/a b/c.py") == f"read /a b/c.py and {WORD} {{unknown}}"


def test_an_agent_has_words_of_its_own_for_some_things() -> None:
    catalogue = PromptCatalogue(
        {
            "default": {"hello": "hello", "run": "run"},
            "agents": {"x": {"hello": "hi", "run": "", "dance": "d"}},
        }
    )
    assert catalogue.of("x").text("hello") == "hi"
    assert catalogue.of("x").text("run") == ""
    assert catalogue.of("x").extra == ["dance"]
    assert catalogue.of("y").text("run") == "run"


def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text('[default]\nhello = "Guten Tag"\n[agents.echo]\nplan = ""\nword = "otter"\n')
    catalogue = read_prompts(path)
    assert catalogue.of("anybody").text("hello") == "Guten Tag"
    assert catalogue.of("anybody").text("recall") == packaged_prompts().of("anybody").text("recall")
    assert catalogue.of("echo").text("plan") == ""
    assert catalogue.of("echo").text("run") == "/run pwd"
    assert catalogue.of("echo").word == "otter"


@pytest.mark.parametrize(
    "text", ["hello", "[default]\nhello = 5\n", "[defaults]\n", 'agents = "x"\n', "[agents]\nx = 1\n"]
)
def test_what_is_no_catalogue_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text(text)
    with pytest.raises(BadPrompts):
        read_prompts(path)
