"""Every option that a message, a help text or a page names exists, in the command that it is named for."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dragoman_app.cli.parser import Parser, make_parser
from tests.boxes import modules, room_folders

ROOT = Path(__file__).parents[4]
SOURCE = ROOT / "packages/app/src/dragoman_app"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]\b")
COMMAND = re.compile(r"\bdragoman ([a-z][^\n`|;&#…]*)")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")

FOREIGN = {
    "--acp": "agents",
    "--eggs": "an agent of the story",
    "--now": "systemctl",
    "--user": "systemctl",
    **dict.fromkeys(("--upgrade", "--require-hashes"), "pip"),
    "--ignore-scripts": "npm",
    **dict.fromkeys(("--oneline", "--stat"), "git log"),
    **dict.fromkeys(("--exec-path", "--upload-pack", "--upload-pa", "--pager"), "git"),
    **dict.fromkeys(("--force", "--fo", "--recursive", "--rec"), "rm, written out and shortened"),
    **dict.fromkeys(("--to-command", "--compress-program"), "tar and sort"),
    **dict.fromkeys(("--eval", "--require", "--exec", "--pre", "--request"), "node, fd, rg and curl"),
    "--repo": "gh",
    "--bg": "tailscale",
    "--url": "cloudflared",
    **dict.fromkeys(("--write", "--repositories"), "tools/review_corpus.py and review_figure.py"),
    "--mount": "docker",
    **dict.fromkeys(("--build", "--cap-drop", "--name", "--read-only", "--tmpfs", "--volume"), "podman"),
    "--install-extension": "VS Code",
    "--record-cassettes": "our plugin of pytest",
    "--dragoman-agent": "our plugin of pytest",
    "--update-golden": "our plugin of pytest",
}
"""Options of other programs, and whose they are."""

EVIDENCE = ROOT / "docs" / "compatibility.md"


def filled(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """With everything that the command takes, which is added when it is chosen."""
    if isinstance(parser, Parser):
        parser.fill_now()
    return parser


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    filled(parser)
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(action.choices)
    return found


@cache
def options_of(parser: argparse.ArgumentParser) -> frozenset[str]:
    return frozenset(option for action in filled(parser)._actions for option in action.option_strings)


def all_options(parser: argparse.ArgumentParser) -> frozenset[str]:
    return options_of(parser).union(*map(all_options, commands_of(parser).values()))


@cache
def root() -> argparse.ArgumentParser:
    return make_parser()


@cache
def texts(path: Path) -> list[str]:
    """The strings of a source file that are shown to somebody: sentences that are not docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    documents = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in documents]
    values = [node.value for node in constants]
    return [value for value in values if isinstance(value, str) and " " in value.strip()]


def mistakes(text: str) -> Iterator[str]:
    """Options in commands of ours that the command does not have."""
    if "dragoman" not in text:
        return
    for line in COMMAND.findall(QUOTED.sub("", text)):
        parser, known = root(), set(options_of(root()))
        for word in line.replace(":", " ").split():
            if word == "--":
                break
            if word in commands_of(parser):
                parser = commands_of(parser)[word]
                known |= options_of(parser)
            elif (found := OPTION.match(word)) and found[0] not in known | FOREIGN.keys():
                yield f"dragoman {line.strip()}: {found[0]}"


def test_this_finds_a_command_with_an_option_that_it_does_not_have() -> None:
    text = "`dragoman hub --listen x --nonsense y`, `dragoman hub token add n --scope a -- --acp`"
    assert list(mistakes(text)) == ["dragoman hub --listen x --nonsense y: --nonsense"]


def test_commands_in_messages_have_their_options() -> None:
    # Reading a thousand files as Python takes seconds, and few of them name a command.
    files = [path for _, path in modules() if "dragoman " in path.read_text("utf-8")]
    assert [one for path in files for text in texts(path) for one in mistakes(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_a_page_have_their_options(page: Path) -> None:
    assert list(mistakes(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("name", sorted(commands_of(make_parser())))
def test_messages_of_a_command_name_options_of_that_command(name: str) -> None:
    """By the name of its module: `cli/hub.py`, `cli/hub_tokens.py`, and the room behind it."""
    files = [*(SOURCE / "cli").glob(f"{name}.py"), *(SOURCE / "cli").glob(f"{name}_*.py")]
    files += (SOURCE / "apps" / name).glob("*.py")
    files += room_folders().get(name, SOURCE / name).glob("*.py")
    said = [COMMAND.sub("", text) for path in files for text in texts(path)]  # commands are looked at above
    known = all_options(commands_of(root())[name]) | FOREIGN.keys()
    assert sorted({option for text in said for option in OPTION.findall(text)} - known) == []


@pytest.mark.parametrize(
    "place", [SOURCE / "cli", SOURCE / "apps", *PAGES], ids=lambda place: str(place.relative_to(ROOT))
)
def test_options_exist_wherever_they_are_named(place: Path) -> None:
    sources = place.rglob("*.py")
    said = (
        [place.read_text("utf-8")] if place.is_file() else [text for path in sources for text in texts(path)]
    )
    if place == EVIDENCE:  # its lists quote what other people's programs wrote
        said = [re.sub(r"(?m)^- .*$", "", text) for text in said]
    known = all_options(root()) | FOREIGN.keys()
    assert sorted({option for text in said for option in OPTION.findall(text)} - known) == []
