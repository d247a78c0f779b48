"""Command lines that a rule allows and that do something else. Each is really run by a shell."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.tricks import COPY_OF_REPOSITORY, EVIL_FILE, Effect, Trick, shell, turn

OUTSIDE = Effect("@beside@/evil")
NO_SECRET = {"decision": "deny", "path": ["secret/**", "~/.ssh/**"]}
NO_TOUCH = {"decision": "deny", "command": "touch"}
REPOSITORY = {".git": COPY_OF_REPOSITORY}
EVIL_SCRIPT = "#!/bin/sh\ntouch @here@/evil\n"
EVIL_MAKEFILE = "all:\n\techo bad > evil\n"
HOOK = '[core]%n fsmonitor = "touch evil; false"'


def passing_allow(
    name: str,
    allow: str | list[str],
    honest: str,
    *cheats: str,
    files: Mapping[str, str] | None = None,
    effect: Effect = EVIL_FILE,
    needs: str = "",
) -> Trick:
    """A rule allows a command; one like it does something else. Several lines are asked for one by one."""
    return Trick(
        name=name,
        axis="E",
        said=f"the policy allows {allow!r}, to the letter {honest!r}, and nothing else",
        does=f"asks for {' and then '.join(map(repr, cheats))} and runs it",
        rules=({"decision": "allow", "command": allow}, {"decision": "allow", "command_line": honest}),
        turns=tuple(turn(*shell(line)) for line in cheats),
        honest=(turn(*shell(honest)),),
        proof="\n".join(cheats),
        effect=effect,
        files=files or {},
        needs=needs,
    )


COMMANDS: tuple[Trick, ...] = (
    passing_allow(
        "git log writes a file outside",
        "git log **",
        "git log",
        "git log --output=../evil",
        files=REPOSITORY,
        effect=OUTSIDE,
    ),
    passing_allow(
        "git log writes the configuration that git status obeys",
        ["git log **", "git status"],
        "git status",
        f"git log -1 --format='{HOOK}' --output=.git/config",
        "git status",
        files=REPOSITORY,
    ),
    passing_allow(
        "git diff writes a file outside",
        "git diff **",
        "git diff",
        "git diff --output=../evil",
        files=REPOSITORY,
        effect=OUTSIDE,
    ),
    passing_allow(
        "git show writes a file outside",
        "git show **",
        "git show HEAD",
        "git show HEAD --output ../evil",
        files=REPOSITORY,
        effect=OUTSIDE,
    ),
    passing_allow(
        "git shortlog writes a file outside",
        "git shortlog **",
        "git shortlog HEAD",
        "git shortlog --output=../evil HEAD",
        files=REPOSITORY,
        effect=OUTSIDE,
    ),
    passing_allow(
        "git status with a monitor given on the line",
        "git status **",
        "git status",
        "git -c core.fsmonitor='touch evil' status",
        files=REPOSITORY,
    ),
    passing_allow(
        "git status with a variable in front",
        "git status",
        "git status",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch evil' git status",
        files=REPOSITORY,
    ),
    passing_allow(
        "git grep opens its findings in a program",
        "git grep **",
        "git grep word",
        "git grep -O'touch evil;:' word",
        files=REPOSITORY,
    ),
    passing_allow(
        "git worktree leaves the folder",
        "git worktree **",
        "git worktree list",
        "git worktree add ../evil",
        files=REPOSITORY,
        effect=Effect("@beside@/evil/secret/key"),
    ),
    passing_allow(
        "git checkout-index writes outside by a prefix",
        "git checkout-index **",
        "git checkout-index -a",
        "git checkout-index -a --prefix=../evil/",
        files=REPOSITORY,
        effect=Effect("@beside@/evil/secret/key"),
    ),
    passing_allow(
        "git clone writes outside",
        "git clone **",
        "git clone -q . inner",
        "git clone -q . ../evil",
        files=REPOSITORY,
        effect=Effect("@beside@/evil/secret/key"),
    ),
    passing_allow(
        "git submodule runs a line for each",
        "git submodule **",
        "git submodule status",
        "git submodule foreach 'touch evil'; git submodule summary; touch evil",
        files=REPOSITORY,
    ),
    passing_allow(
        "git bisect runs a command",
        "git bisect **",
        "git bisect log",
        "git bisect start HEAD HEAD; git bisect run touch evil; touch evil",
        files=REPOSITORY | {"1": "!git bisect start"},
    ),
    passing_allow(
        "git alias given by a setting",
        ["git config **", "git x"],
        "git config user.name",
        "git config alias.x '!touch evil'",
        "git x",
        files=REPOSITORY,
    ),
    passing_allow(
        "git editor that a rebase starts",
        "git rebase **",
        "git rebase HEAD",
        "git rebase -f -x 'touch evil' --root",
        files=REPOSITORY,
    ),
    passing_allow(
        "sort writes a file outside",
        "sort **",
        "sort secret/key",
        "sort secret/key -o ../evil",
        effect=OUTSIDE,
    ),
    passing_allow(
        "sort with the file attached writes outside",
        "sort **",
        "sort secret/key",
        "sort -ro../evil secret/key",
        effect=OUTSIDE,
    ),
    passing_allow(
        "sort runs a program to compress",
        "sort **",
        "sort secret/key",
        "seq 200000 | sort -S 32k --compress-program=./evil.sh",
        files={"evil.sh": EVIL_SCRIPT},
    ),
    passing_allow(
        "uniq writes its second operand",
        "uniq **",
        "uniq secret/key",
        "uniq secret/key ../evil",
        effect=OUTSIDE,
    ),
    passing_allow(
        "shuf writes a file outside",
        "shuf **",
        "shuf secret/key",
        "shuf secret/key --output=../evil",
        effect=OUTSIDE,
    ),
    passing_allow(
        "xxd writes its second operand",
        "xxd **",
        "xxd secret/key",
        "xxd secret/key ../evil",
        effect=OUTSIDE,
        needs="xxd",
    ),
    passing_allow("find prints into a file", "find **", "find .", "find . -maxdepth 0 -fprint evil"),
    passing_allow("find runs a command", "find **", "find .", "find . -maxdepth 0 -exec touch evil ';'"),
    passing_allow(
        "sed executes by a command of its script",
        "sed **",
        "sed -n p secret/key",
        "sed '1e touch evil' secret/key",
    ),
    passing_allow(
        "sed executes by a flag of a substitution with odd delimiters",
        "sed **",
        "sed -n p secret/key",
        "sed 's|.*|touch evil|Ie' secret/key",
    ),
    passing_allow(
        "sed executes behind a slash in brackets",
        "sed **",
        "sed -n p secret/key",
        "sed 's/[/]*x*the-hidden-word/touch evil/;s/^touch/&/e' secret/key",
    ),
    passing_allow(
        "sed writes by a command of its script",
        "sed -n **",
        "sed -n p secret/key",
        "sed -n 'w evil' secret/key",
    ),
    passing_allow(
        "sed keeps a copy outside",
        "sed **",
        "sed -n p secret/key",
        "sed -i'../evil*' p a",
        files={"a": "x"},
        effect=Effect("@beside@/evila"),
    ),
    passing_allow("awk runs a program", "awk **", "awk 1 secret/key", "awk 'BEGIN{system(\"touch evil\")}'"),
    passing_allow(
        "awk writes by a redirection of its own",
        "awk **",
        "awk 1 secret/key",
        "awk 'BEGIN{print 1 > \"evil\"}'",
    ),
    passing_allow(
        "awk asks a command through a pipe",
        "awk **",
        "awk 1 secret/key",
        "awk 'BEGIN{\"touch evil\"|getline}'",
    ),
    passing_allow(
        "tar unpacks elsewhere",
        "tar **",
        "tar cf x.tar secret",
        "tar cf x.tar --transform=s,secret/key,evil, secret/key",
        "tar xf x.tar -C ..",
        effect=OUTSIDE,
    ),
    passing_allow(
        "tar runs an action at a checkpoint",
        "tar **",
        "tar cf x.tar secret",
        "tar cf x.tar --checkpoint=1 --checkpoint-action=exec='touch evil' secret",
    ),
    passing_allow(
        "tar runs a program to compress",
        "tar **",
        "tar cf x.tar secret",
        "tar -I ./evil.sh -cf x.tar secret",
        files={"evil.sh": EVIL_SCRIPT},
    ),
    passing_allow(
        "tar packs what a list names",
        "tar **",
        "tar cf x.tar secret",
        "tar c -T list -f evil",
        files={"list": "--checkpoint=1\n--checkpoint-action=exec=touch evil\nsecret\n"},
    ),
    passing_allow(
        "make works in another folder",
        "make **",
        "make -n",
        "make -C ..",
        files={"Makefile": "all:\n\ttrue\n", "../Makefile": EVIL_MAKEFILE},
        effect=OUTSIDE,
    ),
    passing_allow(
        "make with another shell",
        "make **",
        "make -n",
        "make SHELL=./evil.sh",
        files={"Makefile": "all:\n\techo\n", "evil.sh": EVIL_SCRIPT},
    ),
    passing_allow(
        "make with a value that runs",
        "make **",
        "make -n",
        "make 'X=$(shell touch evil)'",
        files={"Makefile": "all:\n\techo $(X)\n"},
    ),
    passing_allow(
        "make with another makefile",
        "make **",
        "make -n",
        "make -f other.mk",
        files={"Makefile": "all:\n\ttrue\n", "other.mk": EVIL_MAKEFILE},
    ),
    passing_allow(
        "cd through a link, and make there",
        ["cd *", "make"],
        "make",
        "cd inner && make",
        files={
            "Makefile": "all:\n\ttrue\n",
            "../outer/Makefile": EVIL_MAKEFILE,
            "inner": "-> @beside@/outer",
        },
        effect=Effect("@beside@/outer/evil"),
    ),
    passing_allow(
        "gcc takes its options from a file",
        "gcc **",
        "gcc --version",
        "gcc @options",
        files={"options": "-wrapper ./evil.sh -c x.c", "x.c": "int x;\n", "evil.sh": EVIL_SCRIPT},
        needs="gcc",
    ),
    passing_allow(
        "gcc runs a wrapper",
        "gcc **",
        "gcc --version",
        "gcc -wrapper ./evil.sh -c x.c",
        files={"x.c": "int x;\n", "evil.sh": EVIL_SCRIPT},
        needs="gcc",
    ),
    passing_allow(
        "sqlite3 makes a file outside",
        "sqlite3 **",
        "sqlite3 x.db 'select 1'",
        "sqlite3 x.db \"attach '../evil' as e; create table e.x(y)\"",
        effect=OUTSIDE,
        needs="sqlite3",
    ),
    passing_allow(
        "sqlite3 runs a command of its own",
        "sqlite3 **",
        "sqlite3 x.db 'select 1'",
        "sqlite3 x.db '.shell touch evil'",
        needs="sqlite3",
    ),
    passing_allow(
        "curl writes a file outside",
        "curl **",
        "curl --version",
        "curl -s file://@here@/secret/key -o ../evil",
        effect=OUTSIDE,
        needs="curl",
    ),
    passing_allow(
        "patch works in another folder",
        "patch **",
        "patch --version",
        "patch -s -d .. -i here/x.patch",
        files={"x.patch": "--- /dev/null\n+++ evil\n@@ -0,0 +1 @@\n+bad\n"},
        effect=OUTSIDE,
        needs="patch",
    ),
    passing_allow(
        "split hands pieces to a filter",
        "split **",
        "split secret/key",
        "split --filter='touch evil' secret/key",
    ),
    passing_allow(
        "test looks into an array whose index runs", "test **", "test -d secret", "test -v 'a[$(touch evil)]'"
    ),
    passing_allow(
        "printf sets a variable whose index runs", "printf **", "printf x", "printf -v 'a[$(touch evil)]' x"
    ),
    passing_allow("a second command behind a carriage return", "echo **", "echo a", "echo a\r\ntouch evil"),
    passing_allow("a second command behind a comment", "echo **", "echo a", "echo a # b\ntouch evil"),
    passing_allow("a second command behind one ampersand", "echo **", "echo a", "echo a&touch evil; wait"),
    passing_allow("a substitution between quotes", "echo **", "echo a", 'echo "a`touch evil`"'),
    passing_allow(
        "a substitution behind a double backslash", "echo **", "echo a", 'echo "\\\\$(touch evil)"'
    ),
    passing_allow(
        "a substitution as an index of arithmetic", "echo **", "echo a", "echo $((a[$(touch evil)0]))"
    ),
    passing_allow("a here-document that is expanded", "cat", "cat", "cat <<E\n$(touch evil)\nE"),
    passing_allow("a redirection without a blank", "echo **", "echo a", "echo a>evil"),
    passing_allow("a redirection through a descriptor with a name", "echo **", "echo a", "echo a {fd}>evil"),
    passing_allow(
        "a redirection below dev null",
        "echo **",
        "echo a",
        "echo a >/dev/null/../../@here@/evil || echo a >/dev/../@here@/evil",
    ),
    passing_allow("a continued line", "echo **", "echo a", "echo a \\\n;touch evil"),
    passing_allow(
        "a program of the same name in the folder",
        "make",
        "make",
        "./make",
        files={"Makefile": "all:\n\ttrue\n", "make": EVIL_SCRIPT},
    ),
    passing_allow("a path in front of the program", "ls", "ls", "PATH=.:$PATH ls", files={"ls": EVIL_SCRIPT}),
    passing_allow("a brace that becomes two words", "echo **", "echo a", "echo {a,b};{touch,evil}"),
)
