"""What a session needed of a sandbox is what it did and was not refused."""

from __future__ import annotations

from dragoman_local.workspace.proof.session_needs import SessionNeeds, needs_of
from tests.workspace.proof.recording import ROOT, Recording


def test_a_session_that_only_looked_needs_no_more_than_looking() -> None:
    session = Recording()
    session.command("git log -1 && ls")
    session.command("rm -rf build", "no")
    session.edit(f"{ROOT}/a.py", "no")
    assert needs_of(session.acts()) == SessionNeeds(profile="read-only", has_commands=True)


def test_what_was_changed_and_named_is_told_by_folders_and_hosts() -> None:
    session = Recording()
    for path in (f"{ROOT}/src/a.py", f"{ROOT}/src/b/c.py", f"{ROOT}/notes", "/elsewhere/x/y"):
        session.edit(path)
    session.command("git clone git@code.example.org:a/b && curl https://me:pw@Example.com:8080/x")
    session.ask("f", kind="fetch", rawInput={"url": "http://127.0.0.1/x"})
    assert needs_of(session.acts()) == SessionNeeds(
        profile="workspace",
        writes=("notes", "src"),
        outside=("/elsewhere/x",),
        hosts=("127.0.0.1", "code.example.org", "example.com"),
        has_commands=True,
    )


def test_a_command_that_may_write_needs_a_workspace() -> None:
    for line in ("make", "sed -i s/a/b/ x", "echo x > y"):
        session = Recording()
        session.command(line)
        assert needs_of(session.acts()).profile == "workspace", line
