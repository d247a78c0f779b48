"""Writes the manual page and the completions of shells, from the table of commands.

    python tools/generate_manual.py FOLDER

FOLDER then holds `dragoman.1` and `dragoman.bash`, `dragoman.zsh` and `dragoman.tcsh`. A packager puts them
where its system looks for them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from dragoman.cli.parser import fill_all, make_parser

SHELLS = ("bash", "zsh", "tcsh")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parser = make_parser()
    fill_all(parser)
    for shell in SHELLS:
        (folder / f"dragoman.{shell}").write_text(shtab.complete(parser, shell=shell), "utf-8")
    (folder / "dragoman.1").write_text(str(Manpage(parser)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
