"""`dragoman agents install`, `update`, `rollback`, `uninstall` and `registry`, by real npm, pip and archives.

No test needs a network: packages are files, made here.
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_local.known import AgentSource, find_agent
from dragoman_local.known.installation.store import locked_store, store_folder
from tests.cli.command_forks import run_command
from tests.cli.install_ground import (
    agents,
    archive_list,
    home,
    installations,
    list_with,
    needs_npm,
    npm_list,
    output_of_tiny,
    shelf,
)

__all__ = ["home", "shelf"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts with a first line")


@needs_npm
@pytest.mark.bound(40)
def test_a_package_of_npm_is_installed_run_updated_and_rolled_back(
    shelf: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = json.loads(
        agents(capsys, "install", "tiny", "--from", npm_list(shelf, "1.0.0"), "--yes", "--json")[0]
    )
    (installed,) = report["installed"]
    digest = hashlib.sha512((shelf / "tiny-acp-agent-1.0.0.tgz").read_bytes()).digest()
    expected = {
        "name": "tiny-acp-agent",
        "version": "1.0.0",
        "hash": f"sha512-{base64.b64encode(digest).decode()}",
    }
    assert installed["packages"] == [expected]
    assert installed["scripts_not_run"] == ["tiny-acp-agent"]
    assert not list(store_folder().rglob("script-ran"))

    done = run_command("run", "hi", "--agent", "tiny", cwd=home, env=dict(os.environ))
    assert (done.returncode, done.stdout.strip()) == (0, "tiny 1.0.0 --acp"), done.stderr

    assert "tiny    installed  tiny-agent --acp" in agents(capsys, "list")[0]

    out, _ = agents(
        capsys, "update", "tiny", "--kind", "binary", "--from", archive_list(shelf, "1.1.0"), "--yes"
    )
    assert "version 1.0.0 → 1.1.0" in out
    assert "comes as binary, was npx" in out
    assert "packages: 1 new, 1 gone, 1 in all" in out
    assert installations() == ["1.0.0", "1.1.0"]
    assert "tiny is 1.0.0 again, it was 1.1.0" in agents(capsys, "rollback", "tiny")[0]
    assert "1.0.0-" in find_agent("tiny").command[0]


@needs_npm
@pytest.mark.slow
@pytest.mark.bound(40)
def test_a_package_of_another_hash_is_not_kept_and_scripts_run_if_they_are_allowed(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = npm_list(shelf, "1.0.0", integrity="sha512-AAAA")
    _, err = agents(capsys, "install", "tiny", "--from", wrong, "--allow-scripts", "--yes", status=1)
    assert "the list of agents says sha512-AAAA; nothing was kept" in err
    assert installations() == []

    needy = npm_list(shelf, "1.0.0", needs_scripts=True)
    _, err = agents(capsys, "install", "tiny", "--from", needy, "--yes", status=2)
    assert "--allow-scripts runs them" in err
    out, _ = agents(capsys, "install", "tiny", "--from", needy, "--allow-scripts", "--yes")
    assert "scripts were not run" not in out
    assert len(list(store_folder().rglob("script-ran"))) == 1


@pytest.mark.slow
@pytest.mark.bound(60)
def test_a_wheel_is_installed_into_an_environment_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "tiny-2.0.0-py3-none-any.whl"
    parts = {
        "tiny_wheel.py": "import sys\ndef main():\n    print('wheel', *sys.argv[1:])\n",
        "tiny-2.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 2.0.0\n",
        "tiny-2.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny-2.0.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny_wheel:main\n",
        "tiny-2.0.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as zipped:
        for name, text in parts.items():
            zipped.writestr(name, text)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    source = {"package": wheel.name, "args": ["acp"], "sha256": digest}
    agents(capsys, "install", "tiny", "--from", list_with(tmp_path, "2.0.0", uvx=source), "--yes")
    assert output_of_tiny() == "wheel acp\n"
    (record,) = store_folder().glob("tiny/*/install.json")
    assert json.loads(record.read_text())["packages"] == [
        {"name": "tiny", "version": "2.0.0", "hash": f"sha256:{digest}"}
    ]


def test_an_archive_is_installed_with_its_variables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents(capsys, "install", "tiny", "--from", archive_list(tmp_path, "1.0.0"), "--yes")
    assert output_of_tiny() == "1.0.0 on\n"
    assert find_agent("TINY").source is AgentSource.INSTALLED
    shown = json.loads(agents(capsys, "show", "tiny", "--json")[0])
    assert (shown["source"], shown["title"], shown["env"]) == ("installed", "Tiny 1.0.0", ["TINY_MODE"])


def test_a_failure_leaves_the_version_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents(capsys, "install", "tiny", "--from", archive_list(tmp_path, "1.0.0"), "--yes")
    wrong = archive_list(tmp_path, "1.1.0", sha256="0" * 64)
    assert "nothing was unpacked" in agents(capsys, "update", "tiny", "--from", wrong, "--yes", status=1)[1]
    empty = archive_list(tmp_path, "1.2.0", cmd="./other")
    _, err = agents(capsys, "install", "tiny", "--from", empty, "--yes", status=1)
    assert "the archive has no program './other'" in err
    assert installations() == ["1.0.0"]
    assert output_of_tiny() == "1.0.0 on\n"


def test_what_a_killed_installation_left_is_removed_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store_folder() / "tiny" / "1.0.0-deadbeef").mkdir(parents=True)
    assert "dragoman has not installed 'tiny'" in agents(capsys, "rollback", "tiny", status=2)[1]
    agents(capsys, "install", "tiny", "--from", archive_list(tmp_path, "1.0.0"), "--yes")
    assert installations() == ["1.0.0"]
    assert not list(store_folder().rglob("*deadbeef"))


def test_an_archive_without_a_hash_needs_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = archive_list(tmp_path, "1.0.0", sha256=None)
    assert "--allow-unverified" in agents(capsys, "install", "tiny", "--from", bare, "--yes", status=2)[1]
    out, _ = agents(capsys, "install", "tiny", "--from", bare, "--yes", "--allow-unverified")
    assert "Not verified: no list has a hash for this version." in out


def test_a_plan_that_was_shown_is_done_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = archive_list(tmp_path, "1.0.0")
    out, _ = agents(capsys, "install", "tiny", "--from", source, "--dry-run", "--json")
    (plan,) = [plan["plan"] for plan in json.loads(out)["would_install"]]
    other = archive_list(tmp_path, "1.1.0")
    _, err = agents(capsys, "install", "tiny", "--from", other, "--plan", plan, "--yes", status=2)
    assert "has changed since you saw it" in err
    assert installations() == []
    agents(capsys, "install", "tiny", "--from", source, "--plan", plan, "--yes")
    assert installations() == ["1.0.0"]


def test_nothing_is_installed_without_a_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = archive_list(tmp_path, "1.0.0")
    _, err = agents(capsys, "install", "tiny", "--from", source, status=2)
    assert "will download agent-1.0.0.tar.gz" in err
    assert "can't ask you without a terminal. Add --yes" in err
    out, _ = agents(capsys, "install", "tiny", "--from", source, "--dry-run", "--json")
    assert json.loads(out)["would_install"][0]["version"] == "1.0.0"
    assert not store_folder().exists()


def test_a_list_cannot_write_lines_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(archive_list(tmp_path, "1.0.0"))
    path.write_text(path.read_text().replace('"Tiny"', r'"Tiny\n  will do nothing\u001b[8m"'))
    _, err = agents(capsys, "install", "tiny", "--from", str(path), "--dry-run")
    assert not any(line.startswith("  will do nothing") for line in err.splitlines())
    assert "\x1b" not in err


@pytest.fixture
def endless_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm that tells its process id in a pipe and never ends."""
    (tmp_path / "bin").mkdir()
    os.mkfifo(pipe := tmp_path / "npm.pid")
    npm = tmp_path / "bin" / "npm"
    npm.write_text(f"#!/bin/sh\n[ -p {pipe} ] && echo $$ > {pipe}\nexec sleep 1000\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return pipe


def test_who_is_told_to_end_takes_npm_and_its_files_with_it(endless_npm: Path, tmp_path: Path) -> None:
    source = list_with(tmp_path, "1.0.0", npx={"package": "tiny@1.0.0"})
    words = [sys.executable, "-m", "dragoman", "agents", "install", "tiny", "--from", source, "--yes"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        npm = int(endless_npm.read_text())
        process.terminate()
        assert process.wait(patience(20)) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(npm, 0)
    assert not (store_folder() / "tiny").exists()


def test_npm_is_ended_when_its_time_is_up(
    endless_npm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endless_npm.unlink()
    source = list_with(tmp_path, "1.0.0", npx={"package": "tiny.tgz"})
    words = ("install", "tiny", "--from", source, "--yes", "--timeout", "0.1")
    assert "npm was ended because its time was up" in agents(capsys, *words, status=1)[1]
    assert not (store_folder() / "tiny").exists()


def test_two_installations_at_a_time_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = archive_list(tmp_path, "1.0.0")
    with locked_store():
        assert "another dragoman" in agents(capsys, "install", "tiny", "--from", source, "--yes", status=2)[1]


def test_going_back_twice_goes_forward_and_two_versions_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        agents(capsys, "install", "tiny", "--from", archive_list(tmp_path, version), "--yes")
    assert installations() == ["1.1.0", "1.2.0"]
    for version in ("1.1.0", "1.2.0"):
        agents(capsys, "rollback", "tiny")
        assert output_of_tiny() == f"{version} on\n"


def test_an_update_of_everything_leaves_what_is_current_and_what_was_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = archive_list(tmp_path, "1.0.0"), archive_list(tmp_path, "1.1.0")
    agents(capsys, "install", "tiny", "--from", first, "--yes")
    assert "tiny 1.0.0 is up to date" in agents(capsys, "update", "--from", first)[1]
    agents(capsys, "install", "tiny@1.0.0", "--from", first, "--yes")
    assert "tiny stays at 1.0.0" in agents(capsys, "update", "--from", second, "--yes")[1]
    agents(capsys, "update", "tiny", "--from", second, "--yes")
    assert output_of_tiny() == "1.1.0 on\n"


def test_uninstall_removes_all_and_remove_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents(capsys, "install", "tiny", "--from", archive_list(tmp_path, "1.0.0"), "--yes")
    assert "dragoman agents uninstall tiny" in agents(capsys, "remove", "tiny", status=2)[1]
    agents(capsys, "add", "tiny", "other-agent")
    assert find_agent("tiny").command == ("other-agent",)
    assert "installed version 1.0.0" in agents(capsys, "remove", "tiny")[0]
    agents(capsys, "uninstall", "tiny", "--yes")
    assert not (store_folder() / "tiny").exists()
    assert "installed are: none" in agents(capsys, "uninstall", "tiny", "--yes", status=2)[1]


def test_what_the_list_does_not_have_is_told_before_anything_is_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "no agent named 'nope' in the list" in agents(capsys, "install", "nope", status=2)[1]
    assert "no other version" in agents(capsys, "install", "amp-acp@9.9.9", status=2)[1]
    assert "is not a version" in agents(capsys, "install", "codex@../x", status=2)[1]
    _, err = agents(capsys, "install", "claude-acp@1.2.3", "--dry-run")
    assert "npm install --ignore-scripts" in err
    assert "@agentclientprotocol/claude-agent-acp@1.2.3" in err


def test_a_newer_list_is_kept_only_if_it_makes_sense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = agents(capsys, "registry", "refresh", archive_list(tmp_path, "3.0.0"))
    assert "tiny (new) → 3.0.0" in out
    agents(capsys, "install", "tiny", "--yes")
    (tmp_path / "bad.json").write_text("<html>")
    assert "is not JSON" in agents(capsys, "registry", "refresh", "bad.json", status=2)[1]
    assert (
        "not an https address"
        in agents(capsys, "registry", "refresh", "http://x.example/r.json", status=1)[1]
    )
    listing = json.loads(agents(capsys, "registry", "--json")[0])
    assert {"tiny", "claude"} <= {entry["name"] for entry in listing["agents"]}
    assert listing["origin"].endswith("list-3.0.0.json")
    agents(capsys, "registry", "reset")
    assert json.loads(agents(capsys, "registry", "--json")[0])["origin"] is None


def test_an_archive_of_one_version_is_not_sold_as_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("install", "tiny@0.9.0", "--kind", "binary", "--from", archive_list(tmp_path, "1.0.0"), "--yes")
    assert "1.0.0 alone, no other version" in agents(capsys, *words, status=2)[1]


def test_an_update_never_goes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = archive_list(tmp_path, "1.6.0"), archive_list(tmp_path, "2.5.0")
    agents(capsys, "install", "tiny", "--from", new, "--yes")
    _, err = agents(capsys, "update", "tiny", "--from", old, "--yes")
    assert "tiny stays at 2.5.0" in err
    assert "1.6.0, which is not newer" in err
    assert output_of_tiny() == "2.5.0 on\n"
    _, err = agents(capsys, "install", "tiny", "--from", old, "--yes")
    assert "goes back from 2.5.0, which is installed and newer" in err
    assert output_of_tiny() == "1.6.0 on\n"
