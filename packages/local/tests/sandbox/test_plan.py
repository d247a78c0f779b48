"""What a boundary says, for folders, repositories, homes and agents of every kind."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LocalMistake
from dragoman_local.sandbox.boundary import BASES, Boundary, Network, parse_profile, read_profile
from dragoman_local.sandbox.plan import boundary_for, showing_program
from tests.every import every

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the sandbox is Linux's")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def plan(home: Path, *folders: Path, **options: object) -> Boundary:
    env = {"HOME": str(home)}
    return boundary_for("workspace", [str(folder) for folder in folders], environ=env, **options)  # type: ignore[arg-type]


def made(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def git(*words: str, cwd: Path) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True)


def writable(boundary: Boundary) -> list[str]:
    return [place.path for place in boundary.writable]


def test_the_folder_of_a_session_is_writable_and_settings_in_it_are_not(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    policy, settings = made(folder / ".dragoman/policy.toml"), made(folder / ".claude/settings.json")
    boundary = plan(home, folder)
    assert writable(boundary) == [str(folder), str(folder / ".claude")]
    assert boundary.read_only == (str(Path(policy).parent), settings)


def test_secrets_of_the_home_folder_are_hidden(home: Path) -> None:
    made(home / ".ssh/id")
    made(home / ".config/gcloud/credentials.db")
    made(home / ".npmrc", "registry=x")
    assert {str(home / ".ssh"), str(home / ".config/gcloud")} <= set(plan(home).hidden)
    assert str(home / ".npmrc") not in plan(home).hidden
    made(home / ".npmrc", "//x/:_authToken=abc")
    assert str(home / ".npmrc") in plan(home).hidden


def test_what_only_its_owner_may_read_is_hidden_by_whatever_name(home: Path) -> None:
    """But not what others need: start-up files, programs on PATH, folders of sessions."""
    private = [made(home / name, "x") for name in (".tool/token", ".config/tool/login", ".keys")]
    needed = [made(home / name, "x") for name in (".bashrc", ".runtime/bin/tool", ".project/file")]
    plain = [made(home / name, "x") for name in (".a", ".b", ".c", ".d/e", ".config/tool/colours")]
    for path in (*private, *needed):
        os.chmod(path, 0o600)
    for folder in (".runtime", ".project"):
        os.chmod(home / folder, 0o700)
    os.mkfifo(home / ".pipe", 0o600)  # it holds nothing
    env = {"HOME": str(home), "PATH": str(home / ".runtime/bin")}
    hidden = boundary_for("workspace", [str(home / ".project")], environ=env).hidden
    assert set(private) <= set(hidden)
    assert str(home / ".pipe") not in hidden
    assert not [path for path in hidden if any(seen.startswith(path) for seen in (*needed, *plain))]
    for path in plain:
        os.chmod(path, 0o600)
    assert not set(private) & set(boundary_for("workspace", [], environ=env).hidden), "it says nothing"


def test_files_of_ours_are_hidden_but_for_agents_that_were_installed(home: Path) -> None:
    made(home / ".local/share/dragoman/hub.db")
    made(home / ".local/share/dragoman/agents/x/bin")
    made(home / ".config/dragoman/config.toml")
    boundary = plan(home)
    assert {str(home / ".local/share/dragoman"), str(home / ".config/dragoman")} <= set(boundary.hidden)
    assert str(home / ".local/share/dragoman/agents") in boundary.read_only


def test_a_session_in_the_home_folder_cannot_write_start_up_files(home: Path) -> None:
    bashrc, git_config = made(home / ".bashrc"), made(home / ".gitconfig")
    boundary = plan(home, home)
    assert {bashrc, git_config} <= set(boundary.read_only)
    assert str(home / ".zshrc") in boundary.reserved


def test_the_state_of_an_agent_is_writable_its_settings_are_not_and_its_login_is_seen(home: Path) -> None:
    settings = made(home / ".claude/settings.json")
    login = made(home / ".claude/.credentials.json")
    other = made(home / ".codex/auth.json")
    boundary = plan(home, state=(".claude", ".gone"))
    assert writable(boundary) == [str(home / ".claude")]
    assert settings in boundary.read_only
    assert login not in boundary.hidden
    assert other in boundary.hidden
    assert login in plan(home).hidden


def test_a_repository_above_the_folder_takes_commits_but_no_hooks(home: Path, tmp_path: Path) -> None:
    git("init", "repo", cwd=tmp_path)
    folder = tmp_path / "repo/below/deep"
    folder.mkdir(parents=True)
    boundary = plan(home, folder)
    places = tmp_path / "repo/.git"
    assert writable(boundary) == [str(folder), str(places)]
    assert set(boundary.read_only) == {str(places / "hooks"), str(places / "config")}


def test_a_work_tree_gets_what_a_commit_needs_of_its_repository(home: Path, tmp_path: Path) -> None:
    git("init", "repo", cwd=tmp_path)
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "repo")
    git("worktree", "add", "../tree", cwd=tmp_path / "repo")
    common = tmp_path / "repo/.git"
    boundary = plan(home, tmp_path / "tree")
    assert set(writable(boundary)) == {
        str(tmp_path / "tree"),
        *(str(common / name) for name in ("worktrees/tree", "objects", "refs", "logs")),
    }
    assert str(tmp_path / "tree/.git") in boundary.read_only
    assert str(common / "worktrees/tree/commondir") in boundary.read_only


def test_a_file_that_claims_to_be_a_work_tree_of_a_repository_gets_nothing(
    home: Path, tmp_path: Path
) -> None:
    git("init", "repo", cwd=tmp_path)
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "repo")
    git("worktree", "add", "../tree", cwd=tmp_path / "repo")
    folder = tmp_path / "liar"
    made(folder / ".git", f"gitdir: {tmp_path}/repo/.git/worktrees/tree\n")
    assert writable(plan(home, folder)) == [str(folder)]
    made(folder / ".git", f"gitdir: {tmp_path}/repo/.git\n")
    assert writable(plan(home, folder)) == [str(folder)]


def test_submodules_nested_repositories_and_hooks_elsewhere_are_protected(home: Path, tmp_path: Path) -> None:
    git("init", "part", cwd=tmp_path)
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "part")
    git("init", "repo", cwd=tmp_path)
    repo = tmp_path / "repo"
    git("submodule", "add", str(tmp_path / "part"), "module", cwd=repo)
    git("init", "vendor/nested", cwd=repo)
    made(repo / ".husky/pre-commit")
    git("config", "core.hooksPath", ".husky", cwd=repo)
    found = plan(home, repo).read_only
    expected = (".husky", "module/.git", ".git/modules/module/config", ".git/modules/module/hooks")
    for name in (*expected, "vendor/nested/.git/hooks", "vendor/nested/.git/config"):
        assert str(repo / name) in found, name


def test_what_gits_settings_include_is_protected_or_reserved(home: Path, tmp_path: Path) -> None:
    made(home / ".gitconfig", "[core]\n  hooksPath = .global-hooks\n")
    git("init", "repo", cwd=tmp_path)
    repo = tmp_path / "repo"
    folder = repo / ".git"
    for name in (".husky/_/pre-commit", "nested.conf", ".global-hooks/x", "worktrees"):
        made(repo / name)
    made(repo / "shared.conf", '[include]\n path = "nested.conf" ; a remark\n')
    with (folder / "config").open("a") as file:
        file.write('[Include] path = ../shared.conf\n[includeIf "onbranch:a]b"]\n\tpath = ../later.conf\n')
        file.write("[core]\nhooksPath = .husky/_\n[extensions] worktreeConfig = true\n")
    made(folder / "worktrees/other/gitdir")
    made(folder / "modules/vendor/part/HEAD")
    boundary = plan(home, repo)
    names = (".husky", "shared.conf", "nested.conf", ".global-hooks")
    inside = ("config.worktree", "worktrees/other/config.worktree", "modules/vendor/part/hooks")
    expected = {*(str(repo / name) for name in names), *(str(folder / name) for name in inside)}
    assert expected <= set(boundary.read_only)
    reserved = ("later.conf", ".git/commondir", ".git/modules/vendor/part/commondir")
    assert {str(repo / name) for name in reserved} <= set(boundary.reserved)


def test_a_repository_without_hooks_gets_an_empty_folder_to_protect(home: Path, tmp_path: Path) -> None:
    git("init", "--template=", "repo", cwd=tmp_path)
    assert str(tmp_path / "repo/.git/hooks") in plan(home, tmp_path / "repo").read_only


def test_nothing_is_made_in_the_repository_of_a_work_tree(home: Path, tmp_path: Path) -> None:
    git("init", "--template=", "repo", cwd=tmp_path)
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "repo")
    git("config", "extensions.worktreeConfig", "true", cwd=tmp_path / "repo")
    git("worktree", "add", "../tree", cwd=tmp_path / "repo")
    before = sorted(path.name for path in (tmp_path / "repo/.git").iterdir())
    plan(home, tmp_path / "tree")
    assert sorted(path.name for path in (tmp_path / "repo/.git").iterdir()) == before


def test_the_whole_file_system_is_no_workspace(home: Path) -> None:
    with pytest.raises(LocalMistake, match="whole file system"):
        plan(home, Path("/"))


def test_a_boundary_is_text_and_json(home: Path, tmp_path: Path) -> None:
    made(home / ".ssh/id")
    boundary = plan(home, tmp_path)
    text = boundary.text()
    assert f"writable   {tmp_path}" in text
    assert f"hidden     {home}/.ssh" in text
    assert msgspec.json.decode(msgspec.json.encode(boundary), type=Boundary) == boundary


def test_a_profile_is_a_base_and_what_is_added_to_it() -> None:
    assert [parse_profile(name) for name in BASES] == list(BASES)
    parts = read_profile("workspace+memory:4G+net:a.example, *.b.example:8443,localhost:5432+processes:500")
    assert parts.base == "workspace"
    assert parts.network is not None
    assert parts.network.places == ("a.example", "*.b.example:8443", "localhost:5432")
    assert parts.network.ports == (5432,)
    assert {name: parts.limits[name] for name in ("DATA", "NPROC", "CORE")} == {
        "DATA": 4 << 30,
        "NPROC": 500,
        "CORE": 0,
    }
    assert read_profile("read-only+net").network == Network()
    assert read_profile("workspace").network is None


@every(
    ("text", "why"),
    [
        ("strict", "unknown sandbox profile"),
        ("", "unknown sandbox profile"),
        ("off+net", "unknown sandbox profile"),
        ("workspace+net:", "is not a place of the network"),
        ("workspace+net:1.2.3.4", "addresses are not permitted"),
        ("workspace+net:a.example,,b.example", "is not a place"),
        ("workspace+net+net:a.example", "each once"),
        ("workspace+speed:4", "cannot be added"),
        ("workspace+memory:much", "write a number"),
        ("workspace+memory", "write a number"),
        ("workspace+processes:10", "301 is the least"),
        ("workspace+cpu:0", "1 is the least"),
        ("workspace+net:" + ",".join(f"a{number}.example" for number in range(201)), "200 places"),
    ],
)
def test_what_is_no_profile_says_why(text: str, why: str) -> None:
    with pytest.raises(LocalMistake, match=why):
        parse_profile(text)


def test_a_boundary_says_its_network_and_its_limits(home: Path, tmp_path: Path) -> None:
    profile = "workspace+net:a.example+memory:4G+processes:500"
    lines = boundary_for(profile, [str(tmp_path)], environ={"HOME": str(home)}).text().splitlines()
    assert "network    a.example" in lines
    assert "network    a loopback of its own; nothing else" in lines
    assert "limit      memory 4G for each process" in lines
    assert "limit      processes 500 for all together" in lines
    lines = plan(home, tmp_path).text().splitlines()
    assert "network    not restricted" in lines
    assert "limit      memory none; if the machine runs out of memory, these processes end first" in lines


def test_sockets_of_other_programs_are_hidden_where_the_network_is_filtered(
    home: Path, tmp_path: Path
) -> None:
    """Each leads to a program that has the network. One of the session's own folder is the session's."""
    project = tmp_path / "project"
    project.mkdir()
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as own:
        other.bind(str(home / "other sock"))
        own.bind(str(project / "own"))
        for profile, is_hidden in (("workspace", False), ("workspace+net", True)):
            hidden = boundary_for(profile, [str(project)], environ={"HOME": str(home)}).hidden
            assert (str(home / "other sock") in hidden) is is_hidden
            assert str(project / "own") not in hidden


def test_programs_and_folders_in_temporary_folders_can_be_seen(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        base = Path(os.path.realpath(name))
        tool, project = made(base / "tools/bin/tool"), base / "project"
        project.mkdir()
        env = {"HOME": str(home), "PATH": f"/usr/bin:{base}/tools/bin"}
        assert boundary_for("read-only", [str(project)], environ=env).read_only == (
            str(project),
            str(base / "tools"),
        )
        inside = boundary_for("workspace", [str(base)], environ=env)
        assert inside.read_only == ()
        without = boundary_for("workspace", [str(project)], environ={"HOME": str(home)})
        assert showing_program(without, tool).read_only == (str(base / "tools"),)
        assert showing_program(without, "/bin/sh") is without
