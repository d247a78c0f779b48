"""Command lines for the oracle: generated ones that are easily misread, and ones that people wrote."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.workspace.policy.command_lines import NOT_UNDERSTOOD, READABLE, UNREADABLE
from tests.workspace.policy.count_questions import REPOSITORY, recorded_acts
from tests.workspace.policy.decision_lines import decision_lines

_PROGRAMS: Final = [
    *("git", "ls", "cat", "grep", "npm", "make", "a", "b", "true", "echo", "cd", "test"),
    *("timeout 5", "nohup", "command", "time", "sh"),
]
_WORDS: Final = (
    "push -f --x=y x 0 2 a#b # #x ~ ~/x ~root a~b = =x A=1 CI=1 A+=1 % ^ ! !! : , @ + é ] if do in"
)
_BARE: Final = _WORDS.split()
_SIGNS: Final = ["$", "`", "(", ")", "{", "}", "*", "?", "[", "&", "\\", "'", '"', "<", ">", ";", "|"]
_EXPANSIONS: Final = [
    *("$x", "${x}", "${x:-y}", "$'a\\tb'", "$'a'", '$"a"', "$(a)", "`a`", "$((1+1))", "$$", "$1", "$@", "$"),
    *("{a,b}", "{1..3}", "{a}", "*", "?", "[ab]", "a*b", "@(a|b)", "<(a)", ">(a)", "~+", "~-"),
]
_QUOTES: Final = [
    *(
        "'a b'",
        "''",
        "'$x'",
        "'a\"b'",
        "'a\\'",
        '"a b"',
        '""',
        '"$x"',
        '"\\$x"',
        '"a\\\nb"',
        '"`a`"',
        '"a\'b"',
    ),
    *(
        "a'b'c",
        'a"b"c',
        "\\a",
        "\\ ",
        "\\;",
        "\\'",
        "\\\n",
        "a\\\nb",
        "'a\nb'",
        '"a;b"',
        "'a#'",
        '"\\a"',
        '"!"',
    ),
]
_REDIRECTIONS: Final = [
    *(
        "2>&1",
        ">/dev/null",
        "> /dev/null",
        "2>/dev/null",
        "</dev/null",
        ">>/dev/null",
        ">&2",
        "1>&2",
        "2>&1x",
    ),
    *(
        "<<E",
        "<<-E",
        "<<<x",
        ">x",
        "2>x",
        "<x",
        "<>x",
        ">|x",
        "&>x",
        "&>>x",
        ">&x",
        ">&-",
        "3>&1",
        "2>&1>/dev/null",
    ),
]
_OPERATORS: Final = [
    " ; ",
    " && ",
    " || ",
    " | ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    " & ",
    " |& ",
    ";;",
    "\n\n",
    " &&\n",
]
_FRAMES: Final = [
    *("({})", "{{ {}; }}", "if {}; then a; fi", "for x in a b; do {}; done"),
    *(
        "f() {{ {}; }}; f",
        "! {}",
        "sh -c '{}'",
        'bash -c "{}"',
        "{} # x",
        "{}\nE\n",
        "eval {}",
        "case x in x) {};; esac",
    ),
    *("time {}", "sh -lc '{}'", "{};", "\n{}", "[[ x ]] && {}", "coproc {}", "function f {{ {}; }}"),
]
_BLANKS: Final = [" ", " ", " ", " ", "  ", "\t", " \\\n ", "\\\n", "\u00a0", "\r", ""]


def generated_lines(count: int, *, seed: int = 1) -> Iterator[str]:
    """Lines of a shell's grammar, most of them nearly plain: what is wholly wild is refused at once."""
    draw = random.Random(seed)
    for _ in range(count):
        line = "".join(
            (draw.choice(_OPERATORS) if at else "") + _command(draw)
            for at in range(draw.choice((1, 1, 1, 2, 2, 3)))
        )
        if draw.random() < 0.12:
            line = draw.choice(_FRAMES).format(line)
        if draw.random() < 0.06:
            at = draw.randrange(len(line) + 1)
            line = line[:at] + draw.choice(_SIGNS) + line[at:]
        yield line


def _command(draw: random.Random) -> str:
    words = (
        [draw.choice(("A=1", "CI=1", "NO_COLOR=", "LC_ALL='C'", "PATH=x"))] if draw.random() < 0.06 else []
    )
    words.append(draw.choice(_PROGRAMS))
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        kinds = (_BARE, _QUOTES, _QUOTES, _REDIRECTIONS, _EXPANSIONS)
        words.append(draw.choice(draw.choices(kinds, weights=(50, 25, 10, 12, 4))[0]))
    return draw.choice(_BLANKS).join(words) if draw.random() < 0.3 else " ".join(words)


def collected_lines(most: int = 20_000) -> list[str]:
    """What people and agents wrote: our tables, recordings, scripts of packages, our Makefile."""
    lines = (
        [line for line, _ in READABLE]
        + UNREADABLE
        + NOT_UNDERSTOOD
        + [line for _, line, _ in decision_lines()]
    )
    lines += [act.script.text for _, act in recorded_acts() if act.script is not None]
    lines += re.findall(r"^\t[@-]*(.+)", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for file in sorted((REPOSITORY / ".github").rglob("*.y*ml")):
        lines += re.findall(r"^\s*(?:- )?run: (.+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    ours = (REPOSITORY / "packages/hub/web", REPOSITORY / "vscode")
    for folder in (*ours, Path("/usr/lib"), Path("/usr/local/lib")):
        for file in sorted((folder / "node_modules").rglob("package.json")):
            lines += _scripts(file)
    lines = [re.sub(r"/bin/(?=(ba)?sh )", "", line) for line in lines]
    return list(dict.fromkeys(line for line in lines if not _UNSAFE.search(line)))[:most]


def strangers_lines(count: int) -> list[str]:
    """Lines of shell scripts and Makefiles of this machine, which nobody wrote for us."""
    lines: dict[str, None] = {}
    for file in _strangers_files():
        if len(lines) >= 8 * count:  # enough to draw from
            break
        try:
            text = file.read_text(encoding="utf-8").replace("\\\n", "")
        except (OSError, UnicodeDecodeError):
            continue
        found = (line.strip() for line in text.splitlines())
        lines |= {line: None for line in found if line and line[0] != "#" and not _UNSAFE.search(line)}
    return random.Random(1).sample(list(lines), min(count, len(lines)))


def _strangers_files() -> Iterator[Path]:
    """Scripts that install Debian's packages, samples of git's hooks, and what else is there."""
    for pattern in ("var/lib/dpkg/info/*.p*", "usr/share/git-core/templates/hooks/*", "etc/init.d/*"):
        yield from sorted(file for file in Path("/").glob(pattern) if _is_script(file))
    for folder in ("/usr/share", "/usr/lib", "/etc", "/usr/bin", "/usr/local/bin"):
        for top, folders, names in os.walk(folder):
            folders.sort()
            yield from (file for name in sorted(names) if _is_script(file := Path(top, name)))


def _is_script(file: Path) -> bool:
    if file.suffix in (".sh", ".mk") or file.name == "Makefile":
        return True
    try:
        with file.open("rb") as opened:
            return _SHEBANG.match(opened.read(64)) is not None
    except OSError:
        return False


_SHEBANG: Final = re.compile(rb"#! ?/(usr/)?bin/(env )?(ba|da)?sh\b")

_UNSAFE: Final = re.compile(r"[\x1e\0]|/(bin|sbin|usr|opt|home|root|work)/|>\|?[ \t]*/(?!dev/null)")
"""What the oracle could not separate, or might really run if we had misread it."""


def _scripts(file: Path) -> list[str]:
    try:
        scripts = json.loads(file.read_bytes()).get("scripts", {})
    except (OSError, ValueError, AttributeError):
        return []
    return [line for line in scripts.values() if isinstance(line, str)] if isinstance(scripts, dict) else []
