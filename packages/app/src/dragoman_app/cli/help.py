"""`dragoman help [TOPIC]`: a page of the documentation from the package itself, without the network.

The pages that help and errors name come with the wheel (`force-include` in pyproject.toml); a checkout has
them all. A command that no page is called after shows its own `--help`.
"""

from __future__ import annotations

import argparse
import pydoc
import re
from pathlib import Path

from dragoman_app.apps.console import UsageMistake, say
from dragoman_app.cli.commands import COMMANDS
from dragoman_app.cli.parser import make_parser, nearest

NOTE = re.compile(r"[ \t]*<!-- .*?-->\n?", re.DOTALL)
"""A note for authors of the pages."""


def run(args: argparse.Namespace) -> int:
    topic = " ".join(args.topic)
    pages = {path.stem: path for path in page_folder().glob("*.md")}
    if not topic:
        say(f"Pages: {', '.join(sorted(pages))}.")
        say("Read one with `dragoman help PAGE`; `dragoman --help` lists the commands.")
        return 0
    if topic in pages:
        pydoc.pager(NOTE.sub("", pages[topic].read_text("utf-8")))
        return 0
    if any(command.name == topic for command in COMMANDS):
        make_parser().parse_args([*args.topic, "--help"])
    names = [*pages, *(command.name for command in COMMANDS if command.help)]
    raise UsageMistake(f"no page named {topic!r}{nearest(topic, names)}", "see `dragoman help`")


def page_folder() -> Path:
    """Return the folder of the pages: in the wheel, or in the checkout."""
    packaged = Path(__file__).parent / "pages"
    return packaged if packaged.is_dir() else Path(__file__).parents[5] / "docs"
