"""The tools as the model calls them, on this machine."""

import base64
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema.v1 import (
    EmbeddedResource,
    ImageContent,
    Plan,
    ResourceLink,
    TextResourceContents,
    ToolCallLocation,
)
from dragoman.testing.models import call, turn
from dragoman_app.agents.code.tools import OWN_TOOLS, search_tool
from tests.agents.code.coder_runs import calls, coding

pytestmark = pytest.mark.bound(30)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def told(folder: Path, name: str, **arguments: Any) -> str:
    """What the model is told when it calls a tool."""
    async with coding([turn(call(name, **arguments)), turn("Ok.")], folder, mode="full") as coder:
        await coder.prompt("Go")
    (result,) = coder.model.requests[1].results.values()
    return result.text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("import os\n\n\ndef main():\n    print(os.name)\n")
    (folder / "README.md").write_text("# App\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "heap.js").write_text("print(os.name)\n")
    (tmp_path / "secret").write_text("hidden\n")
    (folder / "way-out").symlink_to(tmp_path / "secret")
    return folder


async def test_read_gives_the_lines_that_were_asked_for(project: Path) -> None:
    text = await told(project, "read", path="src/app.py", line=4, limit=1)
    assert text == "     4\tdef main():\n(there is more, from line 5 on)"


async def test_read_shows_a_picture_to_a_model_that_takes_pictures(project: Path) -> None:
    (project / "dot.png").write_bytes(PNG)
    async with coding([turn(call("read", path="dot.png")), turn("A dot.")], project) as coder:
        await coder.prompt("Look")
    (image,) = coder.model.requests[1].images
    assert image.data == PNG


@pytest.mark.parametrize("path", ["../secret", "way-out", "/etc/passwd", "none.py", ".", "a\0b", ""])
async def test_what_cannot_be_read_is_told(path: str, project: Path) -> None:
    text = await told(project, "read", path=path)
    assert "hidden" not in text
    assert "root:" not in text


async def test_list_names_what_is_in_a_folder(project: Path) -> None:
    lines = (await told(project, "list")).splitlines()
    assert lines == ["README.md (6 bytes)", "node_modules/", "src/", "way-out (a link)"]
    assert "such folder" in await told(project, "list", path="README.md")


@pytest.mark.parametrize("path", ["..", "/etc"])
async def test_list_stays_within_the_folders(path: str, project: Path) -> None:
    assert "secret" not in await told(project, "list", path=path)


async def test_glob_finds_files_by_their_paths(project: Path) -> None:
    assert await told(project, "glob", pattern="**/*.py") == "src/app.py"
    assert await told(project, "glob", pattern="*.rs") == "(no file matches)"


@pytest.mark.parametrize("with_ripgrep", [True, False])
async def test_search_finds_lines(with_ripgrep: bool, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_ripgrep and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    monkeypatch.setattr(search_tool, "has_ripgrep", lambda: with_ripgrep)
    (project / ".gitignore").write_text("node_modules\n")
    assert await told(project, "search", pattern=r"os\.name", path="src") == "src/app.py:5:    print(os.name)"
    assert await told(project, "search", pattern="MAIN", ignore_case=True) == "src/app.py:4:def main():"
    assert await told(project, "search", pattern="App", glob="*.py") == "(nothing found)"
    assert "The search failed" in await told(project, "search", pattern="(")
    assert "hidden" not in await told(project, "search", pattern="hidden", path="..")


async def test_a_search_that_never_ends_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_tool, "has_ripgrep", lambda: False)
    monkeypatch.setattr(search_tool, "SECONDS", 1.0)
    (project / "evil").write_text("a" * 60)
    assert "took longer" in await told(project, "search", pattern="(a+)+$b", path="evil")


async def test_run_tells_output_and_exit_status(project: Path) -> None:
    assert await told(project, "run", command="echo out; echo err >&2; exit 3") == "out\nerr\n(exit status 3)"
    assert await told(project, "run", command="true") == "(exit status 0; no output)"


async def test_a_command_that_takes_too_long_is_ended(project: Path) -> None:
    assert "did not end in time" in await told(project, "run", command="sleep 60", timeout=1)


async def test_a_command_gets_no_keys(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("DRAGOMAN_API_KEY", "sk-other")
    assert "sk-" not in await told(project, "run", command="env")


async def test_much_output_is_cut_at_its_beginning(project: Path) -> None:
    text = await told(project, "run", command="seq 1 100000")
    assert len(text) < 31_000
    assert text.startswith("(the beginning is left out)")
    assert text.endswith("100000\n(exit status 0)")


async def test_write_makes_files_and_folders(project: Path) -> None:
    assert await told(project, "write", path="a/b/c.txt", content="x\n") == "Made a/b/c.txt, 2 characters."
    assert (project / "a" / "b" / "c.txt").read_text() == "x\n"
    assert "has this text already" in await told(project, "write", path="README.md", content="# App\n")


@pytest.mark.parametrize("path", ["../secret", "way-out"])
async def test_nothing_is_written_outside_the_folders(path: str, project: Path) -> None:
    await told(project, "write", path=path, content="x")
    assert (project.parent / "secret").read_text() == "hidden\n"


async def test_edit_forgives_small_differences_and_says_so(project: Path) -> None:
    text = await told(project, "edit", path="src/app.py", old="def main():\n  print(os.name)", new="x = 1")
    assert text == "Edited src/app.py at line 4. The place was found but for indentation: check it."
    assert "no such file" in await told(project, "edit", path="none", old="a", new="b")


async def test_a_plan_is_shown_as_a_plan(project: Path) -> None:
    steps = [{"content": "Look", "status": "completed"}, {"content": "Do", "priority": "high"}]
    async with coding([turn(call("plan", steps=steps)), turn("Ok.")], project) as coder:
        _, updates = await coder.prompt("Go")
    (plan,) = [update for update in updates if isinstance(update, Plan)]
    assert [(entry.content, entry.status, entry.priority) for entry in plan.entries] == [
        ("Look", "completed", "medium"),
        ("Do", "pending", "high"),
    ]
    assert not calls(updates)


async def test_a_call_names_the_file_that_it_is_about(project: Path) -> None:
    async with coding([turn(call("read", path="README.md")), turn("Ok.")], project) as coder:
        _, updates = await coder.prompt("Go")
    assert calls(updates)["Read README.md"][0].locations == [
        ToolCallLocation(path=str(project / "README.md"))
    ]


async def test_what_is_attached_reaches_the_model(project: Path) -> None:
    long = "line\n" * 20_000
    script = [
        turn(call("fetch", uri="mem://long", offset=90_000), call("fetch", uri=f"file://{project}/README.md"))
    ]
    async with coding([*script, turn("Ok.")], project) as coder:
        await coder.prompt(
            "Look",
            ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png"),
            EmbeddedResource(resource=TextResourceContents(uri="mem://short", text="short text")),
            EmbeddedResource(resource=TextResourceContents(uri="mem://long", text=long)),
            ResourceLink(name="README", uri=f"file://{project}/README.md"),
        )
    first, second = coder.model.requests
    asked = "".join(message.text for message in first.messages)
    assert 'uri="mem://short"' in asked
    assert "short text" in asked
    assert "76000 more characters; the tool fetch has them" in asked
    assert f'uri="file://{project}/README.md"' in asked
    assert [image.data for image in first.images] == [PNG]
    texts = [result.text for result in second.results.values()]
    assert texts == ["line\n" * 2000, "# App\n"]


async def test_web_pages_are_not_fetched(project: Path) -> None:
    assert "no web pages" in await told(project, "fetch", uri="https://example.com/")


async def test_tools_have_schemas_without_references(project: Path) -> None:
    async with coding([turn("Ok.")], project) as coder:
        await coder.prompt("Hi")
    tools = coder.model.requests[0].tools
    names = {"read", "list", "glob", "search", "fetch", "edit", "write", "run", "plan", "review"}
    assert set(tools) == names
    for tool in tools.values():
        assert tool.parameters["type"] == "object"
        assert "$ref" not in str(tool.parameters)
        assert tool.description


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_schema_is_made_once_and_nobody_changes_it(project: Path, api: str) -> None:
    before = {tool.name: deepcopy(tool.schema) for tool in OWN_TOOLS}
    async with coding([turn("Ok.")], project, api=api) as coder:
        await coder.prompt("Hi")
    for tool in OWN_TOOLS:
        assert tool.schema is tool.schema
        assert tool.schema == before[tool.name]
