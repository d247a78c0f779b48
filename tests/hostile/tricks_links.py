"""Commands that name a file through a link: what counts is the file to which it leads."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.tricks import COPY_OF_REPOSITORY, LEAK, Effect, Trick
from tests.hostile.tricks_commands import EVIL_SCRIPT, passing_allow
from tests.hostile.tricks_denied import NO_SECRET, passing_deny

NEW = Effect("@here@/secret/new")
LINK = {"pub": "-> secret"}
BELOW = {"sub/pub": "-> ../secret"}
MANY = " ".join("=".join(f"{letter}{number}" for number in range(39)) for letter in "abcdefgh")
REPOSITORY = {".git": COPY_OF_REPOSITORY, "a": "a\n"}


def read_through(name: str, line: str, files: Mapping[str, str] = LINK, *, needs: str = "") -> Trick:
    return passing_deny(f"a denied file {name}", NO_SECRET, line, files=files, effect=LEAK, needs=needs)


def written_through(name: str, line: str, files: Mapping[str, str] = LINK) -> Trick:
    return passing_deny(f"a new denied file {name}", NO_SECRET, line, files={"x": "", **files}, effect=NEW)


def guarded_through(
    name: str, program: str, honest: str, cheat: str, files: Mapping[str, str], effect: Effect
) -> Trick:
    return passing_allow(name, f"{program} **", honest, cheat, files={**REPOSITORY, **files}, effect=effect)


LINKS: tuple[Trick, ...] = (
    read_through("through a link in a folder that is entered", "cd sub && cat pub/key", BELOW),
    read_through("through a link in a folder that is pushed", "pushd sub; cat pub/key", BELOW),
    read_through("through a link in a folder for env", "env -C sub cat pub/key", BELOW),
    read_through("through a link in a value", "dd if=pub/key"),
    read_through("through a link in an address", "curl -s file://@here@/pub/key", needs="curl"),
    read_through("through a link and a pattern", "cat pub/k*"),
    read_through("through a link that a pattern finds", "cat ?ub/k*"),
    read_through("through a link in an inner shell", "bash -c 'cat pub/key; exit $?'"),
    read_through("in an address of this host", "curl -s file://localhost@here@/secret/key", {}, needs="curl"),
    read_through("in the script of a program", """awk 'BEGIN{getline x < "secret/key"; print x}'""", {}),
    written_through("through a link", "tee pub/new"),
    written_through("that is copied through a link", "cp x pub/new"),
    written_through("through a link in a value", "dd if=x of=pub/new"),
    written_through("through a link behind a redirection", "echo a > pub/new"),
    written_through("through a link in a folder that is entered", "cd sub && echo a > pub/new", BELOW),
    guarded_through(
        "a file of the repository through a link",
        "tee",
        "tee a",
        "tee inner/evil",
        {"inner": "-> .git"},
        Effect("@here@/.git/evil"),
    ),
    guarded_through(
        "a hook through a link to the folder of hooks",
        "cp",
        "cp a b",
        "cp evil-hook hooks/pre-commit",
        {"hooks": "-> .git/hooks", "evil-hook": EVIL_SCRIPT, ".git/hooks/none": ""},
        Effect("@here@/.git/hooks/pre-commit"),
    ),
    guarded_through(
        "a hook in a tree that is copied over a link",
        "cp",
        "cp a b",
        "cp -r tree/. inner",
        {"inner": "-> .git", "tree/hooks/pre-commit": EVIL_SCRIPT},
        Effect("@here@/.git/hooks/pre-commit"),
    ),
    guarded_through(
        "a file of the repository that is edited through a link",
        "sed",
        "sed -n 1p a",
        "sed -i s/a/evil/ inner/some",
        {"inner": "-> .git", ".git/some": "a\n"},
        Effect("@here@/.git/some", "evil"),
    ),
    guarded_through(
        "a file of the repository behind many words",
        "tee",
        "tee a",
        f"tee {MANY} .git/evil",
        {},
        Effect("@here@/.git/evil"),
    ),
    passing_allow(
        "a script outside through a link",
        "python3 **",
        "python3 script.py",
        "python3 away/script.py",
        files={"script.py": "", "../outer/script.py": "open('evil', 'w')", "away": "-> @beside@/outer"},
    ),
)
