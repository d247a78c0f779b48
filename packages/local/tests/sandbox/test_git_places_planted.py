"""Attempts whose author had not read the code of the sandbox: what a command plants for those after it.

A first command writes into its folder whatever it likes. Then git runs there, and another session begins:
what was planted must neither start a program, nor widen the sandbox of that session, nor lead Dragoman
itself, which reads the folder to build that sandbox, to a file elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_local.sandbox.plan import boundary_for
from tests.sandbox.stage import STRANGER, Scene, need_wall, scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")

USERS = [0, STRANGER] if os.getuid() == 0 else [os.getuid()]

ACTS = r"""
export GIT_CONFIG_NOSYSTEM=1 GIT_TEMPLATE_DIR=
evil() { printf '[core]\n fsmonitor = EVIL\n hooksPath = /EVIL\n bare = false\n' >"$1"; }
hooks() { mkdir -p "$1" && echo EVIL >"$1/post-checkout" && chmod +x "$1/post-checkout"; }
copy() { mkdir -p ev && cp -r "$1"/* ev/ && evil ev/config; }
names() { echo "gitdir: $PWD/ev" >"$1/.git" || { rm -f "$1/.git"; echo "gitdir: $PWD/ev" >"$1/.git"; }; }
begin() { mkdir -p "$W/$1" && cd "$W/$1" || exit; }
"""

REPOSITORIES = {
    "config": "evil .git/config",
    "config_lock": "evil .git/config.lock; mv -f .git/config.lock .git/config; git config core.hooksPath E",
    "hooks": "hooks .git/hooks",
    "hooks_moved": "mv .git/hooks .git/away; hooks .git/hooks",
    "hooks_missing": "hooks .git/hooks",
    "hooks_missing_linked": "hooks there; ln -s ../there .git/hooks",
    "commondir": 'copy .git; echo "$PWD/ev" >.git/commondir',
    "commondir_hard_link": 'copy .git; echo "$PWD/ev" >.git/x; ln .git/x .git/commondir',
    "git_moved": "mv .git away; mkdir .git; cp -r away/* .git; evil .git/config",
    "git_exchanged_for_a_link": "copy .git; mv .git away; rm -rf .git; ln -s ev .git",
    "config_worktree": "evil .git/config.worktree",
    "config_worktree_of_a_tree": "evil .git/worktrees/tree/config.worktree",
    "commondir_of_a_tree": 'copy .git; echo "$PWD/ev" >.git/worktrees/tree/commondir',
    "tree_moved": "copy .git; cd .git/worktrees; mv tree t; cp -r t tree; echo $OLDPWD/ev >tree/commondir",
    "file_of_a_tree": "copy .git; names inner",
    "submodule": "evil .git/modules/sub/config; hooks .git/modules/sub/hooks",
    "file_of_a_submodule": "copy .git/modules/sub; names sub",
    "modules_moved": "mv .git/modules .git/m; cp -r .git/m .git/modules; evil .git/modules/sub/config",
    "commondir_of_a_submodule": 'copy .git/modules/sub; echo "$PWD/ev" >.git/modules/sub/commondir',
    "nested": "evil pkg/nested/.git/config; hooks pkg/nested/.git/hooks",
    "nested_commondir": 'copy pkg/nested/.git; echo "$PWD/ev" >pkg/nested/.git/commondir',
    "bare_config": "evil fix/bare.git/config; hooks fix/bare.git/hooks",
    "bare_hooks": "mv fix/bare.git/hooks fix/bare.git/h; hooks fix/bare.git/hooks",
    "included": "evil shared.gitconfig; mv shared.gitconfig x; evil shared.gitconfig",
    "included_by_the_person": "evil team.gitconfig; mv team.gitconfig x; evil team.gitconfig",
    "hooks_elsewhere": "hooks .husky/_",
    "hooks_elsewhere_moved": "mv .husky h; hooks .husky/_",
    "hooks_the_person_names": "hooks .githooks; mv .githooks g; hooks .githooks",
}
"""What git must not obey afterwards, in a copy of the same repository for each."""

MISSING = {
    "included_later": "evil later.gitconfig",
    "included_by_the_person_later": "evil later.gitconfig",
    "hooks_the_person_names_later": "hooks .githooks",
}
"""The same for files that did not exist: Dragoman renames them when the command ends."""

TEMPLATE = r"""
git init -q -b main T; cd T; echo 1 >a; git add a; git commit -q -m 1
git config extensions.worktreeConfig true; git config core.repositoryformatversion 1
git clone -q --bare . bare.git; mkdir fix pkg; mv bare.git fix; git clone -q . pkg/nested; git clone -q . sub
mkdir .git/modules; mv sub/.git .git/modules/sub; echo "gitdir: ../.git/modules/sub" >sub/.git
git -C .git/modules/sub config core.worktree ../../../sub
git config include.path ../shared.gitconfig; git config --add include.path ../later.gitconfig
echo >shared.gitconfig; echo >team.gitconfig; mkdir -p .husky/_ .githooks; echo >.husky/_/x; echo >.githooks/x
mkdir -p .git/hooks .git/worktrees/tree inner
for d in . pkg/nested; do mkdir -p $d/.git/hooks; done; mkdir -p fix/bare.git/hooks .git/modules/sub/hooks
cd ..
for name in $NAMES; do
    mkdir -p "$W/${name%/*}"; cp -r "$O/T" "$W/$name"; cd "$W/$name"; d=.git/worktrees/tree
    echo "gitdir: $PWD/$d" >inner/.git; echo "$PWD/inner/.git" >$d/gitdir; echo ../.. >$d/commondir
    cp .git/HEAD $d/HEAD
    case ${name#*/} in
    hooks_missing*) rm -r .git/hooks;;
    hooks_elsewhere*) git config core.hooksPath .husky/_;;
    hooks_the_person_names_later) rm -r .githooks;;
    esac
    case ${name#*/} in
    included_by*later) printf '[includeIf "gitdir:%s/"]\n path = %s/later.gitconfig\n' "$PWD" "$PWD";;
    included_by*) printf '[includeIf "gitdir:%s/"]\n path = %s/team.gitconfig\n' "$PWD" "$PWD";;
    hooks_the*) printf '[includeIf "gitdir:%s/"]\n path = hooks.gitconfig\n' "$PWD";;
    esac >>"$HOME/.gitconfig"
    case $name in included_by*later) git config --unset-all include.path;; esac
done
printf '[core]\n hooksPath = .githooks\n' >"$HOME/hooks.gitconfig"
"""

JUDGE = r"""
for name in $NAMES; do for d in . sub inner pkg/nested fix/bare.git; do
    cd "$W/$name/$d" 2>/dev/null || continue
    case $(git config -l; cat "$(git rev-parse --git-path hooks)/post-checkout" 2>/dev/null) in
    *EVIL*) echo "$name $d"; break;; esac
done; done; true
"""

LATER = {
    "another_repository": (
        'mkdir x y; echo "gitdir: $PWD/y" >x/.git; cd y; echo "$W/another_repository/x/.git" >gitdir\n'
        'echo "$O/own/.git" >commondir',
        'for f in refs/heads/e logs/e objects/e; do echo changed >"$O/own/.git/$f"; done',
    ),
    "repository_that_knows_nothing": (
        'mkdir x y; echo "gitdir: $O/own/.git" >x/.git; ln -s "$O/own/.git" y/.git',
        'echo changed >"$O/own/.git/refs/heads/f"',
    ),
    "empty_files_by_links": (
        "git init -q x; git -C x config extensions.worktreeConfig true; mkdir -p x/.git/worktrees/f\n"
        'cd x/.git; ln -s "$O/new" config.worktree; ln -s "$O/new2" worktrees/f/config.worktree\n'
        'ln -s "$O/folder" worktrees/e',
        "",
    ),
    "folder_of_hooks_by_a_link": (
        'git init -q x; mkdir x/.git/modules; ln -s "$O/own/.git" x/.git/modules/e; git init -q y\n'
        'ln -s "$O/modules" y/.git/modules',
        "",
    ),
    "secret_as_an_included_file": (
        'git init -q x; git -C x config include.path "$HOME/.ssh/id_ed25519"',
        'cat "$HOME/.ssh/id_ed25519"',
    ),
    "secret_as_hooks": (
        'git init -q x; git -C x config core.hooksPath "$HOME/.netrc"\n'
        'ln -s "$HOME/.aws/credentials" x/.git/commondir',
        'cat "$HOME/.netrc" "$HOME/.aws/credentials"',
    ),
    "secret_as_a_repository": (
        'mkdir x; ln -s "$HOME/.ssh/id_ed25519" x/.git',
        'cat "$HOME/.ssh/id_ed25519"',
    ),
}
"""What the first session does in a folder of its own, and the second in the whole workspace."""

AT_HOME = {
    "around_a_secret": "mv .aws .away; mv .ssh .away2; mv .local/share .away3; mv .local .away4; cat .a*/*",
    "around_a_private_folder": "mv .config .away5; cat .away5/gcloud/c .away5/tool/t",
    "below_a_private_folder": "cat .config/Code/User/globalStorage/s",
}


def act(stage: Scene, script: str, profile: str, folder: Path | None = None, **more: str) -> str:
    """Run a script in a session of its own in this folder, or, if the profile is empty, outside."""
    folder = folder or stage.workspace
    own = {"W": str(stage.workspace), "O": str(stage.outside), **more}
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    words = ["sh", "-c", ACTS + script]
    if profile:
        boundary = boundary_for(profile, [str(folder)], environ=stage.environment)  # as Dragoman: not inside
        words = stage.confined(words, boundary)
    done = subprocess.run(
        words, cwd=folder, env=stage.environment | own | names, capture_output=True, check=False,
        timeout=60, **stage.identity,
    )  # fmt: skip
    assert b"no sandbox" not in done.stderr, done.stderr
    return (
        done.stdout.decode()
        if not profile or folder != stage.workspace
        else (done.stdout + done.stderr).decode()
    )


def each(rows: dict[str, str]) -> str:
    return "".join(f"( begin {name}; {script}\n) 2>/dev/null\n" for name, script in rows.items())


@pytest.mark.bound(60)
@pytest.mark.parametrize("uid", USERS, ids=lambda uid: "root" if uid == 0 else "user")
def test_git_obeys_nothing_that_a_command_planted(uid: int) -> None:
    need_wall()
    rows = REPOSITORIES | MISSING
    rows = dict(list(rows.items())[:: 1 if uid == USERS[0] else 3])
    rows = {f"{number // 8}/{name}": script for number, (name, script) in enumerate(rows.items())}
    for profile in ("workspace", "off") if uid == USERS[0] else ("workspace",):
        with scene(uid) as stage:
            act(stage, f"cd $O\n{TEMPLATE}", "", NAMES=" ".join(rows))
            for group in {name[0] for name in rows}:  # more repositories than one session may have
                some = each({name: script for name, script in rows.items() if name[0] == group})
                act(stage, some, "" if profile == "off" else profile, stage.workspace / group)
            obeyed = {line.split()[0] for line in act(stage, JUDGE, "", NAMES=" ".join(rows)).splitlines()}
        assert obeyed == (set(rows) if profile == "off" else set())


@pytest.mark.parametrize("uid", USERS, ids=lambda uid: "root" if uid == 0 else "user")
def test_what_a_command_planted_does_not_widen_the_next_session(uid: int) -> None:
    need_wall()
    with scene(uid) as stage:
        act(stage, "cd $O; git init -q own; rm -rf own/.git/hooks; mkdir -p folder own/.git/logs modules", "")
        act(stage, "cd $O; cp -r own/.git modules/e", "")
        before = sorted(stage.outside.rglob("*"))
        act(stage, each({name: first for name, (first, _) in LATER.items()}), "workspace")
        told = act(stage, each({name: second for name, (_, second) in LATER.items()}), "workspace")
        assert "secret" not in told.replace("secret_as", "")
        assert sorted(stage.outside.rglob("*")) == before
        told = act(stage, each({name: second for name, (_, second) in LATER.items()}), "")
        assert told.count("secret") >= 4, "without a sandbox they are read"
        assert len(sorted(stage.outside.rglob("*"))) == len(before) + 4


def test_a_submodule_is_not_the_way_to_another(tmp_path: Path) -> None:
    with scene(USERS[-1]) as stage:
        act(stage, f"cd $O\n{TEMPLATE}", "", NAMES="")
        (module,) = stage.outside.glob("T/.git/modules")
        act(stage, "cd $O/T; cp -r .git/modules/sub .git/modules/sub2; mkdir sub2", "")
        folder = stage.outside / "T/sub"
        act(stage, f'mkdir x; echo "gitdir: {module}/sub2" >x/.git', "workspace", folder)
        act(stage, f"echo changed >{module}/sub2/e; echo changed >{module}/sub/e", "workspace", folder)
        assert not (module / "sub2/e").exists()
        assert (module / "sub/e").exists(), "a commit in this submodule needs it"


def test_a_session_in_a_repository_without_a_work_tree_leaves_what_git_obeys() -> None:
    with scene(USERS[-1]) as stage:
        act(stage, "cd $O; git init -q --bare only", "")
        folder = stage.outside / "only"
        act(stage, "echo EVIL >>config; echo EVIL >hooks/post-update; echo x >objects/y", "workspace", folder)
        assert "EVIL" not in (folder / "config").read_text()
        assert not (folder / "hooks/post-update").exists()
        assert (folder / "objects/y").exists(), "a push needs it"


@pytest.mark.parametrize("uid", USERS, ids=lambda uid: "root" if uid == 0 else "user")
def test_no_folder_around_a_secret_can_be_moved_away(uid: int) -> None:
    with scene(uid) as stage:
        act(
            stage,
            "for f in gcloud/c tool/t Code/User/globalStorage/s; do"
            " mkdir -p $HOME/.config/${f%/*}; echo secret >$HOME/.config/$f; done",
            "",
        )
        act(stage, "chmod 700 $HOME/.config/tool $HOME/.config/Code", "")
        for _ in range(2):
            told = [act(stage, script, "workspace", stage.home) for script in AT_HOME.values()]
            assert "secret" not in "".join(told)
        assert (stage.home / ".config/gcloud/c").exists()
        assert "secret" in "".join(act(stage, script, "", stage.home) for script in AT_HOME.values())
