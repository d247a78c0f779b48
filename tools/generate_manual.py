"""Writes the manual page and the completions of shells, from the table of commands.

    python tools/generate_manual.py FOLDER

FOLDER then holds `dragoman.1` and `dragoman.bash`, `dragoman.zsh`, `dragoman.fish` and `dragoman.tcsh`. A
packager puts them where its system looks for them. The first three ask `dragoman complete`; tcsh cannot.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from dragoman_app.cli.parser import fill_all, make_parser

SCRIPTS = Path(__file__).parent.parent / "packages/app/src/dragoman_app/cli/completions"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parser = make_parser()
    fill_all(parser)
    for script in SCRIPTS.iterdir():
        shutil.copy(script, folder / script.name)
    (folder / "dragoman.tcsh").write_text(shtab.complete(parser, shell="tcsh"), "utf-8")
    (folder / "dragoman.1").write_text(str(Manpage(parser)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
