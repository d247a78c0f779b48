"""ADIR: additional directories."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, status
from tests.check.rules.test_folders import allow, read, worked
from tests.every import every

LOAD: dict[str, Any] = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
NEW: dict[str, Any] = {"cwd": "/w", "mcpServers": []}


def rooted(*roots: Any, talk: Talk | None = None) -> Talk:
    return (Talk() if talk is None else talk).new("s", additionalDirectories=list(roots))


def reloaded(*roots: Any) -> Talk:
    """A session with the root /a that is loaded with other roots."""
    more = {"additionalDirectories": list(roots)} if roots else {}
    return rooted("/a").call("session/close", {"sessionId": "s"}).call("session/load", {**LOAD, **more})


def test_adir_01_roots_are_for_agents_that_take_them() -> None:
    keeps("ADIR-01", rooted("/a"), "client")
    breaks("ADIR-01", rooted("/a", talk=Talk({})), "client")
    says_nothing("ADIR-01", rooted(talk=Talk({})), "client")


def test_adir_02_roots_are_absolute() -> None:
    keeps("ADIR-02", rooted("/a"), "client")
    breaks("ADIR-02", rooted("a"), "client")


@every("bad", ["/a", [5], [""], ["src"]])
def test_adir_03_bad_roots_are_refused(bad: Any) -> None:
    keeps("ADIR-03", Talk().call("session/new", {**NEW, "additionalDirectories": bad}, code=-32602))
    breaks("ADIR-03", Talk().new("s", additionalDirectories=bad))
    says_nothing("ADIR-03", rooted("/a"))


def test_adir_04_without_roots_there_is_only_the_folder() -> None:
    keeps("ADIR-04", Talk().new("s").prompt("s", *read("/w/a")))
    other = Talk().new("t", additionalDirectories=["/a"]).new("s")
    breaks("ADIR-04", other.prompt("s", *read("/a/x")))


def test_adir_05_roots_that_were_not_given_again_are_not_used() -> None:
    keeps("ADIR-05", reloaded().prompt("s", *read("/w/a")))
    breaks("ADIR-05", reloaded().prompt("s", *read("/a/x")))
    says_nothing("ADIR-05", reloaded("/a").prompt("s", *read("/a/x")))
    says_nothing("ADIR-05", reloaded().prompt("s", *allow(), *read("/a/x")))
    keeps("ADIR-05", reloaded().prompt("s", *worked("/a/x", "failed")))
    breaks("ADIR-05", reloaded().prompt("s", *worked("/a/x", "completed")))


def test_adir_06_roots_are_sent_again() -> None:
    keeps("ADIR-06", reloaded("/a", "/b"), "client")
    breaks("ADIR-06", reloaded(), "client")
    says_nothing("ADIR-06", reloaded("/b"), "client")


def test_adir_07_no_root_is_dropped_in_silence() -> None:
    item = {"sessionId": "s", "cwd": "/w", "additionalDirectories": ["/a"]}
    keeps("ADIR-07", rooted("/a").call("session/list", {}, {"sessions": [item]}))
    breaks("ADIR-07", rooted("/a", "/b").call("session/list", {}, {"sessions": [item]}))
    refused = Talk().call("session/new", {**NEW, "additionalDirectories": ["/a"]}, code=-32602)
    says_nothing("ADIR-07", refused)
    keeps("ADIR-07", refused.mark("root that is not there", last=2))


def test_init_14_advertised_roots_are_taken() -> None:
    can = {"sessionCapabilities": {"additionalDirectories": {}}}
    rooted_request = {**NEW, "additionalDirectories": ["/a"]}
    refused = Talk(can).call("session/new", rooted_request, code=-32602).mark("new with roots", last=2)
    assert status("INIT-14", refused) == "failed"
    taken = Talk(can).call("session/new", rooted_request, {"sessionId": "s"}).mark("new with roots", last=2)
    keeps("INIT-14", taken)


def test_adir_08_relative_paths_start_at_the_folder_only() -> None:
    keeps("ADIR-08", rooted("/a").prompt("s", "see app.py", *read("/w/app.py")))
    breaks("ADIR-08", rooted("/a").prompt("s", "see app.py", *read("/a/app.py")))
    says_nothing("ADIR-08", rooted("/a").prompt("s", "see /a/app.py", *read("/a/app.py")))


def test_adir_10_roots_stand_once() -> None:
    keeps("ADIR-10", rooted("/a", "/b"), "client")
    breaks("ADIR-10", rooted("/a", "/a/"), "client")
    breaks("ADIR-10", rooted("/w"), "client")


def test_adir_11_files_outside_of_the_roots_are_not_served() -> None:
    asked = {"sessionId": "s", "path": "/etc/passwd"}
    keeps("ADIR-11", Talk().new("s").ask("fs/read_text_file", asked, code=-32602), "client")
    breaks("ADIR-11", Talk().new("s").ask("fs/read_text_file", asked, {"content": ""}), "client")
    refused = agent("fs/read_text_file", asked, id=7), client(id=7, error={"code": -32602, "message": "No."})
    keeps("ADIR-11", Talk().new("s").prompt("s", *allow(), *refused), "client")
    inside = {**asked, "path": "/w/a"}
    says_nothing("ADIR-11", Talk().new("s").ask("fs/read_text_file", inside, {"content": ""}), "client")


def test_adir_12_roots_of_a_stored_session_are_taken_or_refused() -> None:
    load = {**LOAD, "additionalDirectories": ["/a"]}
    keeps("ADIR-12", Talk().call("session/load", load, code=-32602))
    breaks("ADIR-12", Talk().call("session/load", load, code=-32603))
