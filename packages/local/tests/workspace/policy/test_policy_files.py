import os
from pathlib import Path

import pytest

from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import (
    is_trusted,
    load_policy,
    read_file,
    read_text,
)
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths
from tests.workspace.policy.makers import command

ALLOW_MAKE = '[[rule]]\ndecision = "allow"\ncommand = "make"\n'
DENY_MAKE = '[[rule]]\ndecision = "deny"\ncommand = "make"\n'


class Ground:
    """A home and a project on a real disk."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.config = self.home / ".config" / "dragoman"
        (self.project / ".dragoman").mkdir(parents=True)
        self.config.mkdir(parents=True)
        self.theirs = self.project / ".dragoman" / "policy.toml"

    def load(self, file: str | None = None) -> Policy:
        return load_policy(roots=[str(self.project)], file=file, environ={"HOME": str(self.home)})

    def outcome(self, file: str | None = None) -> str:
        return self.load(file).decide(command("make")).outcome


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_without_any_file_everything_is_asked(ground: Ground) -> None:
    assert ground.outcome() == "ask"


def test_the_users_file_is_found_in_the_configuration_folder(ground: Ground) -> None:
    (ground.config / "policy.toml").write_text(ALLOW_MAKE)
    assert ground.outcome() == "allow"


def test_a_projects_file_permits_only_if_the_user_trusts_its_folder(ground: Ground) -> None:
    ground.theirs.write_text(ALLOW_MAKE)
    assert ground.outcome() == "ask"
    (ground.config / "policy.toml").write_text(f'trust = ["{ground.project}"]\n')
    assert ground.outcome() == "allow"


def test_a_projects_file_cannot_trust_itself(ground: Ground) -> None:
    ground.theirs.write_text(f'trust = ["/**", "{ground.project}"]\n{ALLOW_MAKE}')
    assert ground.outcome() == "ask"


def test_a_projects_file_may_always_deny(ground: Ground) -> None:
    (ground.config / "policy.toml").write_text(ALLOW_MAKE)
    ground.theirs.write_text(DENY_MAKE)
    assert ground.outcome() == "deny"


def test_a_file_that_is_named_comes_before_the_users(ground: Ground, tmp_path: Path) -> None:
    (ground.config / "policy.toml").write_text(DENY_MAKE)
    (tmp_path / "p.toml").write_text(ALLOW_MAKE)
    assert ground.outcome(str(tmp_path / "p.toml")) == "allow"


def test_a_file_that_is_named_must_be_there(ground: Ground) -> None:
    with pytest.raises(PolicyError, match="there is no such file"):
        ground.load("/nowhere/p.toml")


def test_a_broken_file_stops_everything_rather_than_being_skipped(ground: Ground) -> None:
    ground.theirs.write_text("nonsense")
    with pytest.raises(PolicyError, match=r"policy\.toml:1: "):
        ground.load()


def test_answers_given_for_good_are_read(ground: Ground) -> None:
    (ground.config / "remembered.toml").write_text(ALLOW_MAKE)
    assert ground.outcome() == "allow"


def test_a_pipe_a_folder_and_a_huge_file_are_no_policies(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_bytes(b"#" * 1_048_577)
    (tmp_path / "latin").write_bytes(b"# one\n# \xe9\n")
    for name, why in (("pipe", "not a regular file"), ("huge", "larger than"), ("latin", ":2: is not UTF-8")):
        with pytest.raises(PolicyError, match=why):
            read_text(str(tmp_path / name))
    with pytest.raises(PolicyError):
        read_text(str(tmp_path))
    assert read_text(str(tmp_path / "none")) is None
    assert read_text(str(tmp_path / "huge" / "below")) is None


def test_trust_follows_links_to_where_they_lead(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "real")
    trust = [f"{tmp_path}/mine/**"]
    assert is_trusted(str(tmp_path / "mine"), trust, home="/h")
    assert not is_trusted(str(tmp_path / "mine" / "link"), trust, home="/h")
    assert not is_trusted(str(tmp_path / "mine2"), trust, home="/h")
    assert not is_trusted(str(tmp_path / "real"), ["real", "**"], home="/h")


def test_folders_come_from_the_environment_if_they_are_absolute() -> None:
    assert policy_paths({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}).policy == "/c/dragoman/policy.toml"
    assert (
        policy_paths({"HOME": "/h", "XDG_STATE_HOME": "state"}).audit
        == "/h/.local/state/dragoman/audit.jsonl"
    )


def test_the_files_that_decide_are_protected(ground: Ground) -> None:
    (ground.config / "policy.toml").write_text('[[rule]]\ndecision = "allow"\nunreadable = true\n')
    assert ground.load().decide(command(f"cp x {ground.config}/policy.toml")).outcome == "ask"
    assert ground.load().decide(command(f"cp x {ground.project}/.dragoman/policy.toml")).outcome == "ask"
    assert ground.outcome() == "allow"


def test_a_text_is_parsed_once_and_a_change_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('default = "allow"\n')
    first = read_file(str(file))
    assert read_file(str(file)) is first
    status = file.stat()
    file.write_text('default = "deny" \n')  # as long as before
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read_file(str(file)).default == "deny"
