"""Attachments, as far as the agent takes them."""

import base64
from pathlib import Path

import pytest

from dragoman.schema import v1
from dragoman.sdk.capabilities import Capabilities
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.attach import EMBEDDED, blocks_of, read_attachments
from tests.apps.run.run_process import run, scripted

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

EVERYTHING = Capabilities(
    v1.AgentCapabilities(
        prompt_capabilities=v1.PromptCapabilities(image=True, audio=True, embedded_context=True)
    )
)
NOTHING = Capabilities()


def test_a_text_is_embedded_if_that_is_taken_and_a_link_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("x = 1\n")
    files = read_attachments([str(tmp_path / "a b.py")], [])
    [embedded] = blocks_of(files, EVERYTHING)
    assert isinstance(embedded, v1.EmbeddedResource)
    assert embedded.resource == v1.TextResourceContents(
        uri=(tmp_path / "a b.py").as_uri(), text="x = 1\n", mime_type="text/x-python"
    )
    [link] = blocks_of(files, NOTHING)
    assert isinstance(link, v1.ResourceLink)
    assert (link.name, link.size, link.uri) == ("a b.py", 6, (tmp_path / "a b.py").as_uri())


@pytest.mark.parametrize("data", [b"\0binary", b"\xff\xfe", b"a" * (EMBEDDED + 1)])
def test_what_is_no_text_or_too_long_is_a_link(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    [link] = blocks_of(read_attachments([str(tmp_path / "a.bin")], []), EVERYTHING)
    assert isinstance(link, v1.ResourceLink)
    assert link.size == len(data)


def test_a_picture_is_known_by_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "picture.txt").write_bytes(PNG)
    [image] = blocks_of(read_attachments([], [str(tmp_path / "picture.txt")]), EVERYTHING)
    assert isinstance(image, v1.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", PNG)


def test_what_is_no_picture_is_not_sent_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(UsageMistake, match="unknown picture format"):
        blocks_of(read_attachments([], [str(tmp_path / "a.txt")]), EVERYTHING)


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_is_no_file_is_a_mistake(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageMistake, match="cannot attach"):
        read_attachments([str(tmp_path / name)], [])


def test_an_agent_that_takes_no_pictures_is_sent_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    agent = scripted(tmp_path, 'agent blind\non new\n  complain "A SESSION"\non prompt\n  say never\n')
    done = run("--agent", agent, "--verbose", "--image", "a.png", "Look", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "does not accept pictures" in done.err
    assert "A SESSION" not in done.err


def test_attachments_reach_the_agent(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "a.txt").write_text("four")
    done = run("--agent", "echo", "--image", "a.png", "--file", "a.txt", "Look", folder=tmp_path)
    assert done.status == 0
    assert "[image image/png, " in done.out
    assert f"[resource {(tmp_path / 'a.txt').as_uri()}, 4 characters]" in done.out
