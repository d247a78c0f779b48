"""The pure parts of `make interop`: its catalogue, its judgement, its table, and what its model says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from msgspec.structs import replace

from tests.interop.matrix import __main__ as matrix_command
from tests.interop.matrix.catalogue import BadCatalogue, Catalogue, CatalogueRow, load_catalogue
from tests.interop.matrix.effects import (
    AGENT_EFFECTS,
    CLIENT_EFFECTS,
    EVIDENCE_LIMIT,
    Finding,
    Matrix,
    MatrixRow,
    TurnWitness,
    judge_cancel,
    judge_command,
    judge_denied,
    judge_killed,
    judge_resumed,
    judge_steered,
    judge_stop,
    judge_subagent,
    judge_write,
    no,
    yes,
)
from tests.interop.matrix.installation import InstallFailed, install, installed_hash
from tests.interop.matrix.listing import render_list, row_name, update_list
from tests.interop.matrix.model import (
    WORD,
)
from tests.interop.matrix.table import render_badge, render_page

ROW: dict[str, Any] = {"name": "one", "title": "One", "command": ("one", "--acp"), "npm": ("one@1.2.3",)}


def row(**fields: Any) -> CatalogueRow:
    return CatalogueRow(**{**ROW, **fields})


def result(name: str = "one", *, date: str = "2026-01-01", **effects: Finding) -> MatrixRow:
    return MatrixRow(
        name=name,
        title=name.title(),
        package=f"{name}@1.2.3",
        version="1.2.3",
        date=date,
        install=yes(),
        effects=effects,
    )


def test_the_catalogue_can_be_read_and_every_version_is_pinned() -> None:
    catalogue = load_catalogue()
    assert {"claude", "codex", "gemini", "opencode", "qwen"} <= {row.name for row in catalogue.agent}
    assert all(row.version[0].isdigit() for row in (*catalogue.agent, *catalogue.client))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": "One!"}, "small letters"),
        ({"command": ()}, "command is empty"),
        ({"npm": ()}, "neither npm nor pypi"),
        ({"npm": ("one@latest",)}, "three numbers"),
        ({"npm": (), "pypi": ("one>=1",)}, "NAME==VERSION"),
        ({"files": {"../outside": ""}}, "outside of the home"),
        ({"load_after": 61.0}, "a note that says why"),
        ({"env": {"A": "$adress"}}, "known places"),
    ],
)
def test_a_row_that_cannot_be_meant_is_named_with_the_reason(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadCatalogue, match=complaint):
        Catalogue(agent=(row(**fields),)).check()


def test_two_rows_cannot_have_one_name() -> None:
    with pytest.raises(BadCatalogue, match="one: two rows"):
        Catalogue(agent=(row(),), client=(row(),)).check()


def test_an_unknown_field_of_the_catalogue_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text('[[agent]]\nname = "a"\ntitle = "A"\ncommand = ["a"]\ncolour = "red"\n')
    with pytest.raises(BadCatalogue, match="colour"):
        load_catalogue(path)


def test_only_the_programs_that_are_named_are_chosen() -> None:
    catalogue = Catalogue(agent=(row(), row(name="two")))
    assert [entry.name for entry in catalogue.choose(["two"]).agent] == ["two"]
    assert catalogue.choose([]) == catalogue
    with pytest.raises(BadCatalogue, match="three: no such program; known are one, two"):
        catalogue.choose(["three"])


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        ({"npm": ("@scope/name@1.2.3", "node@22.0.0")}, "1.2.3"),
        ({"npm": (), "pypi": ("name[acp]==0.1.48",)}, "0.1.48"),
    ],
)
def test_the_version_is_that_of_the_first_package(fields: dict[str, Any], version: str) -> None:
    assert row(**fields).version == version


def test_an_unknown_name_on_the_command_line_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix_command.main(["--only", "nobody"]) == 2
    assert "nobody: no such program" in capsys.readouterr().err


def test_a_busy_machine_has_more_time_for_a_step_and_not_without_end() -> None:
    assert [matrix_command.step_seconds(60, pace=pace) for pace in (1, 2.5, 5, 20)] == [60, 150, 300, 300]


def test_an_installation_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(InstallFailed, match=r"Python 3\.99"):
        install(row(npm=(), pypi=("one==1",), python="3.99"), tmp_path)


def put_npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An npm that does this and nothing else."""
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "ERROR: Ignored the following versions that require a different python version: 3.0.0\n"
            "ERROR: Could not find a version of certifi==2026.10.19 (from versions: 1.0, 2.0)\n"
            "ERROR: No matching distribution found for certifi==2026.10.19\n",
            "ERROR: Could not find a version of certifi==2026.10.19 "
            "ERROR: No matching distribution found for certifi==2026.10.19",
        ),
        (
            "npm error 404 Not Found - GET https://mirror.example/@one%2ftwo - Not found\n"
            "npm error A complete log of this run can be found in: /home/ann/log\n",
            "npm error 404 Not Found - GET … - Not found",
        ),
        ("killed\n", "killed"),
        ("", "the installer gave no reason"),
    ],
)
def test_the_reason_of_a_failed_installation_is_short_and_names_no_host(
    text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words").write_text(text)
    put_npm(tmp_path, f"cat {tmp_path}/words >&2; exit 1", monkeypatch)
    with pytest.raises(InstallFailed) as failure:
        install(row(), tmp_path / "installed")
    assert str(failure.value) == reason


def test_an_installer_is_as_urgent_as_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_npm(tmp_path, f"nice > {tmp_path}/niceness", monkeypatch)
    install(row(), tmp_path / "installed")
    assert (tmp_path / "niceness").read_text().strip() == str(os.nice(0))


def test_the_nightly_workflow_has_no_rights_and_no_keys() -> None:
    text = (matrix_command.ROOT / ".github/workflows/interop.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert workflow["jobs"]["matrix"]["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    assert "make interop" in text


# The judgement.


def witness(**fields: Any) -> TurnWitness:
    usual: dict[str, Any] = {"stop_reason": "end_turn", "questions": 1, "is_written": True}
    return TurnWitness(**{**usual, **fields})


def test_a_file_must_be_written_after_a_question() -> None:
    assert judge_write(witness()).verdict == "yes"
    assert "without permission" in judge_write(witness(questions=0)).evidence
    assert "no file" in judge_write(witness(is_written=False)).evidence


def test_a_refusal_must_be_obeyed_and_asked_for() -> None:
    assert judge_denied(witness(is_written=False)).verdict == "yes"
    assert "in spite of" in judge_denied(witness()).evidence
    assert "without permission" in judge_denied(witness(questions=0)).evidence
    assert "not asked for" in judge_denied(witness(questions=0, is_written=False)).evidence


def test_a_command_must_have_its_effect() -> None:
    assert judge_command(witness(questions=0)).verdict == "yes"
    finding = judge_command(witness(is_written=False, tools=("read", "grep"), last_frame="{}"))
    assert finding.evidence.endswith("tools offered: read, grep; last frame: {}")


def test_a_cancelled_turn_says_so_and_leaves_the_model() -> None:
    assert judge_cancel("cancelled", hung_up=True).verdict == "yes"
    assert "went on" in judge_cancel("cancelled", hung_up=False).evidence
    assert "'end_turn'" in judge_cancel("end_turn", hung_up=True).evidence


def test_a_running_command_ends_with_its_turn() -> None:
    assert judge_stop("cancelled", is_gone=True, seconds=10).verdict == "yes"
    assert "10 s after" in judge_stop("cancelled", is_gone=False, seconds=10).evidence
    assert "'end_turn'" in judge_stop("end_turn", is_gone=True, seconds=10).evidence


def test_what_is_said_meanwhile_must_be_read_in_the_turn() -> None:
    assert judge_steered("delivered", WORD).verdict == "yes"
    assert "was queued" in judge_steered("queued", WORD).evidence
    assert "the turn said 'Done.'" in judge_steered("delivered", "Done.").evidence


def test_an_agent_that_is_started_must_ask_the_model_and_the_turn_end_well() -> None:
    assert judge_subagent("end_turn", is_asked=True, text="").verdict == "yes"
    assert "'refusal'" in judge_subagent("refusal", is_asked=True, text="").evidence
    assert "no agent was started" in judge_subagent("end_turn", is_asked=False, text="ok").evidence


def test_a_session_goes_on_and_knows_what_was_said() -> None:
    assert judge_resumed(WORD, knows=True).verdict == "yes"
    assert "knew nothing" in judge_resumed(WORD, knows=False).evidence
    assert judge_resumed("?", knows=True).verdict == "no"
    assert judge_killed(WORD, left=[]).verdict == "yes"
    assert "still running: agent --acp" in judge_killed(WORD, left=["agent --acp"]).evidence
    assert judge_killed("?", left=[]).verdict == "no"


def test_evidence_is_one_line_of_bounded_length() -> None:
    assert no("a\n b").evidence == "a b"
    assert len(no("x" * 10_000).evidence) == EVIDENCE_LIMIT


def test_evidence_names_no_folder_of_this_machine() -> None:
    finding = no("cannot start /home/ann/build/agent").without({"/home/ann/build": "$installed"})
    assert finding.evidence == "cannot start $installed/agent"


# The table.


def test_a_newer_run_replaces_its_rows_and_leaves_the_others() -> None:
    older = Matrix(agents=[result("one"), result("gone"), result("two")])
    newer = Matrix(dragoman="9", agents=[result("one", date="2026-02-02", text=yes())])
    merged = older.merge(newer, order=["two", "one"])
    assert [(row.name, row.date) for row in merged.agents] == [("two", "2026-01-01"), ("one", "2026-02-02")]
    assert merged.dragoman == "9"


def test_the_table_has_the_notes_of_the_catalogue_also_for_rows_that_were_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"DATA": "table.json", "PAGE": "table.md", "BADGES": "badges", "LIST": "list.json"}
    for name, place in places.items():
        monkeypatch.setattr(matrix_command, name, tmp_path / place)
    (tmp_path / "list.json").write_text('{"made": "2026-01-01", "agents": []}')
    catalogue = Catalogue(agent=(row(note="It asks nobody."), row(name="two")))
    before = Matrix()
    first = Matrix(agents=[result("one")])
    matrix_command.write_results(before, first, replace(catalogue, agent=(row(),)))
    assert "asks nobody" not in (tmp_path / "table.md").read_text("utf-8")
    matrix_command.write_results(first, Matrix(agents=[result("two")]), catalogue)
    assert "- One: It asks nobody." in (tmp_path / "table.md").read_text("utf-8")


def test_a_program_that_cannot_be_tried_is_named_with_its_reason() -> None:
    catalogue = load_catalogue()
    assert catalogue.untried
    page = render_page(Matrix(agents=[result()], untried=list(catalogue.untried[:1])))
    assert f"| `{catalogue.untried[0].package}` | {catalogue.untried[0].reason} |" in page
    assert catalogue.choose(["claude"]).untried == catalogue.untried


def test_what_could_not_be_tried_is_named_before_what_was() -> None:
    failed = replace(result("two"), install=no("no such package"))
    page = render_page(Matrix(agents=[result(), failed], untried=list(load_catalogue().untried)))
    assert page.index("| Two | `two@1.2.3` | it cannot be installed") < page.index("## Agents")


def test_evidence_is_never_markup() -> None:
    page = render_page(Matrix(agents=[result(text=no("`<b>` | ``x``"))]))
    assert "- One, text: ``` `<b>` | ``x`` ```" in page
    assert "| **no** |" in page


def test_an_installation_that_failed_is_in_the_table() -> None:
    failed = MatrixRow(
        name="one",
        title="One",
        package="one@1",
        version="1",
        date="2026-01-01",
        install=no("no such package"),
    )
    page = render_page(Matrix(agents=[failed]))
    assert "| not installed |" in page
    assert "- One, installation: `no such package`" in page
    assert "not installed" in render_badge(failed)


@pytest.mark.parametrize(
    ("verdicts", "colour"),
    [(["yes", "not offered"], "#2a7d2a"), (["yes", "yes", "no"], "#a60"), (["no", "yes"], "#b22")],
)
def test_a_badge_counts_what_is_offered(verdicts: list[Any], colour: str) -> None:
    findings = [Finding(verdict=verdict) for verdict in verdicts]
    badge = render_badge(
        replace(result(), effects={str(index): finding for index, finding in enumerate(findings)})
    )
    have = verdicts.count("yes")
    assert f"{have} of {have + verdicts.count('no')}" in badge
    assert colour in badge
    ElementTree.fromstring(badge)


def test_the_committed_page_and_badges_are_those_of_the_committed_results() -> None:
    matrix = matrix_command.read_results()
    assert matrix.agents, "docs/compatibility.json has no agents: make interop"
    again = "docs/compatibility.md is not what docs/compatibility.json says: make interop writes both"
    assert matrix_command.PAGE.read_text("utf-8") == render_page(matrix), again
    rows = [*matrix.agents, *matrix.clients]
    for row in rows:
        assert (matrix_command.BADGES / f"{row.name}.svg").read_text("utf-8") == render_badge(row)
    assert {path.stem for path in matrix_command.BADGES.glob("*.svg")} == {row.name for row in rows}


def test_every_committed_no_has_its_evidence_and_every_effect_is_known() -> None:
    matrix = matrix_command.read_results()
    for rows, effects in ((matrix.agents, AGENT_EFFECTS), (matrix.clients, CLIENT_EFFECTS)):
        for row in rows:
            assert not row.effects or list(row.effects) == list(effects)
            assert all(finding.evidence for finding in row.effects.values() if finding.verdict == "no")


# The list of agents that ships.


def listed(**members: Any) -> dict[str, Any]:
    source = {"package": "one@1.0.0", "args": ["--acp"], "integrity": "sha512-old"}
    entry = {"id": "one", "name": "One", "version": "1.0.0", "distribution": {"npx": source}}
    return {"made": "2025-12-31", "agents": [{**entry, **members}]}


def test_the_list_that_ships_has_what_was_tried_and_nothing_else_of_the_catalogue() -> None:
    shipped = json.loads(matrix_command.LIST.read_bytes())
    matrix = matrix_command.read_results()
    again = "the shipped list of agents is not what docs/compatibility.json says: make interop writes both"
    assert matrix_command.LIST.read_text("utf-8") == render_list(update_list(shipped, matrix)), again
    tried = {row.name: row for row in matrix.agents}
    for pinned in load_catalogue().agent:
        row = tried[pinned.name]
        assert (row.package, row.version) == (pinned.package, pinned.version), (
            f"make interop --only {row.name}"
        )
    for entry in shipped["agents"]:
        if (name := row_name(entry, tried)) in tried:
            assert entry["version"] == tried[name].version
            assert entry.get("tested") == (tried[name].date if tried[name].is_usable else None)


def test_an_agent_that_answered_is_listed_as_it_was_tried() -> None:
    row = replace(result(start=yes(), text=yes()), hash="sha512-new", date="2026-03-03")
    shipped = update_list(
        listed(distribution={"npx": {"package": "x", "args": ["-a"]}, "binary": {}}), Matrix(agents=[row])
    )
    (entry,) = shipped["agents"]
    assert (shipped["made"], entry["tested"], entry["version"]) == ("2026-03-03", "2026-03-03", "1.2.3")
    assert entry["distribution"] == {
        "npx": {"package": "one@1.2.3", "args": ["-a"], "integrity": "sha512-new"}
    }
    wheel = replace(row, package="one==1.2.3", hash="")
    (entry,) = update_list(listed(), Matrix(agents=[wheel]))["agents"]
    assert entry["distribution"] == {"uvx": {"package": "one==1.2.3"}}


@pytest.mark.parametrize("effects", [{}, {"start": no("it died")}, {"start": yes(), "text": no("silence")}])
def test_an_agent_that_did_not_answer_is_listed_without_a_date(effects: dict[str, Finding]) -> None:
    row = replace(result(), effects=effects)
    (entry,) = update_list(listed(tested="2026-01-01"), Matrix(agents=[row]))["agents"]
    assert entry == listed()["agents"][0]


def test_the_hash_is_that_of_the_package_which_was_installed(tmp_path: Path) -> None:
    lock = {"packages": {"node_modules/@a/one": {"integrity": "sha512-x"}, "node_modules/dep": {}}}
    folder = tmp_path / "one"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / ".package-lock.json").write_text(json.dumps(lock))
    assert installed_hash(row(npm=("@a/one@1.2.3", "node@22.0.0")), tmp_path) == "sha512-x"
    assert installed_hash(row(npm=("other@1.2.3",)), tmp_path) == ""

    def report(file: str) -> str:
        info = {"url": f"file:///{file}", "archive_info": {"hashes": {"sha256": "ab12"}}}
        items = [{"metadata": {"name": "One_Two"}, "download_info": info}]
        (folder / "report.json").write_text(json.dumps({"install": items}))
        return installed_hash(row(npm=(), pypi=("one-two[acp]==1.0",)), tmp_path)

    assert report("one_two-1.0-py3-none-any.whl") == "ab12"
    assert report("one_two-1.0-cp312-abi3-linux_x86_64.whl") == "", "another wheel on every system"
