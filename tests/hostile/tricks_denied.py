"""Command lines that do what a rule denies. Each is really run by a shell."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.tricks import ANYTHING, EVIL_FILE, LEAK, Effect, Trick, shell, turn

NO_SECRET = {"decision": "deny", "path": ["secret/**", "~/.ssh/**"]}
NO_TOUCH = {"decision": "deny", "command": "touch"}


def passing_deny(
    name: str,
    rule: Mapping[str, object],
    cheat: str,
    *,
    files: Mapping[str, str] | None = None,
    effect: Effect = EVIL_FILE,
    needs: str = "",
    honest: str = "echo fine",
) -> Trick:
    """A rule denies something, everything else is allowed; a line does what is denied."""
    out = "leak" if effect is LEAK else ""
    return Trick(
        name=name,
        axis="D" if effect is LEAK else "E",
        said=f"the policy denies {dict(rule)} and allows the rest",
        does=f"asks for {cheat!r} and runs it",
        rules=(rule, ANYTHING),
        turns=(turn(*shell(cheat, out=out)),),
        honest=(turn(*shell(honest)),),
        proof=cheat,
        effect=effect,
        files=files or {},
        needs=needs,
    )


DENIED: tuple[Trick, ...] = (
    passing_deny("a denied program through an index of an array", NO_TOUCH, "test -v 'a[$(touch evil)]'"),
    passing_deny(
        "a denied program through the shell's own image", NO_TOUCH, "/proc/self/exe -c 'touch evil'"
    ),
    passing_deny("a denied program as a copy", NO_TOUCH, "cp /bin/touch t && ./t evil"),
    passing_deny("a denied program through a link", NO_TOUCH, "ln -s /bin/touch t; ./t evil"),
    passing_deny("a denied program in a debugger", NO_TOUCH, "gdb -batch -ex '!touch evil'", needs="gdb"),
    passing_deny(
        "a denied program behind a wrapper that is little known",
        NO_TOUCH,
        "bin/cross-env A=1 touch evil",
        files={"bin/cross-env": '#!/bin/sh\nshift\nexec "$@"\n'},
    ),
    passing_deny(
        "a denied program from a database's script",
        NO_TOUCH,
        "sqlite3 x.db < list",
        files={"list": ".shell touch evil\n"},
        needs="sqlite3",
    ),
    passing_deny("a denied program spelled in parts", NO_TOUCH, "a=tou; b=ch; $a$b evil"),
    passing_deny("a denied program split at another separator", NO_TOUCH, "IFS=,; x=touch,evil; $x"),
    passing_deny("a denied program as a function's body", NO_TOUCH, "f() { touch evil; }; f"),
    passing_deny("a denied program in escapes of the shell", NO_TOUCH, "$'\\x74ouch' evil"),
    passing_deny("a denied program as a pattern", NO_TOUCH, "/bin/tou[c]h evil"),
    passing_deny("a denied program in a pipe to a shell", NO_TOUCH, "echo dG91Y2ggZXZpbAo= | base64 -d | sh"),
    passing_deny("a denied program at the end of the shell", NO_TOUCH, "trap 'touch evil' EXIT"),
    passing_deny("a denied program in a file of the same line", NO_TOUCH, "printf 'touch evil' > x; sh ./x"),
    passing_deny(
        "a denied program as a hook of the same line",
        NO_TOUCH,
        "git init -q .; git config core.fsmonitor 'touch evil;false'; git status",
    ),
    passing_deny(
        "a denied program behind a loader",
        NO_TOUCH,
        "/lib64/ld-linux-x86-64.so.2 /bin/touch evil",
        needs="/lib64/ld-linux-x86-64.so.2",
    ),
    passing_deny("a denied program with a blank that is none", NO_TOUCH, "touch\tevil"),
    passing_deny(
        "a denied file by the folder of the process", NO_SECRET, "cat /proc/self/cwd/secret/key", effect=LEAK
    ),
    passing_deny(
        "a denied file by the root of the process",
        NO_SECRET,
        "cat /proc/self/root@here@/secret/key",
        effect=LEAK,
    ),
    passing_deny(
        "a denied file through a link in a command",
        NO_SECRET,
        "cat pub/key",
        files={"pub": "-> secret"},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file through a hard link in a command",
        NO_SECRET,
        "cat hard",
        files={"hard": "= secret/key"},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file with a percent sign in its address",
        NO_SECRET,
        "curl -s file://@here@/sec%72et/key",
        effect=LEAK,
        needs="curl",
    ),
    passing_deny(
        "a denied file in a list of names",
        NO_SECRET,
        "sort --files0-from=list",
        files={"list": "secret/key"},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file in a list for tar",
        NO_SECRET,
        "tar c -T list",
        files={"list": "secret/key"},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file through a link and two dots",
        NO_SECRET,
        "cat away/../here/secret/key",
        files={"away": "-> @beside@/other", "../other/x": ""},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file of the home folder through a link",
        NO_SECRET,
        "cat house/.ssh/key",
        files={"house": "-> @home@"},
        effect=LEAK,
    ),
    passing_deny(
        "a denied file with the home folder in braces", NO_SECRET, 'cat "${HOME%/}"/.ssh/key', effect=LEAK
    ),
    passing_deny("a denied file from within its folder", NO_SECRET, "cd secret && cat key", effect=LEAK),
    passing_deny(
        "a denied file through a descriptor", NO_SECRET, "exec 3<secret/key; cat /dev/fd/3", effect=LEAK
    ),
    passing_deny("a denied file that is packed with its folder", NO_SECRET, "tar c .", effect=LEAK),
    passing_deny("a denied file as a pattern", NO_SECRET, "cat */k?y", effect=LEAK),
    passing_deny("a denied file in escapes of the shell", NO_SECRET, "cat $'sec\\x72et/key'", effect=LEAK),
)
