"""`dragoman agents install` with a registry of packages: what it checks, and what it says without a network.

The registry is a server on loopback, asked by the real npm; the index of pip is a folder.
"""

import base64
import hashlib
import json
import os
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dragoman_local.known.installation import packages
from tests.cli.install_ground import agents, home, installations, list_with, needs_npm, shelf

__all__ = ["home", "shelf"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts with a first line")


class PackageRegistry(ThreadingHTTPServer):
    """What npm asks a registry for: the versions of one package, and their files."""

    def __init__(self, shelf: Path) -> None:
        super().__init__(("127.0.0.1", 0), PackageAnswers)
        self.data = (shelf / "tiny-acp-agent-1.0.0.tgz").read_bytes()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    @property
    def integrity(self) -> str:
        return f"sha512-{base64.b64encode(hashlib.sha512(self.data).digest()).decode()}"


class PackageAnswers(BaseHTTPRequestHandler):
    server: PackageRegistry

    def do_GET(self) -> None:
        body = self.server.data
        if not self.path.endswith(".tgz"):
            dist = {"tarball": f"{self.server.address}tiny.tgz", "integrity": self.server.integrity}
            package = {"name": "tiny-acp-agent", "version": "1.0.0", "bin": {"tiny-agent": "agent.js"}}
            body = json.dumps(
                {"name": "tiny-acp-agent", "versions": {"1.0.0": {**package, "dist": dist}}}
            ).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def package_registry(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageRegistry]:
    with PackageRegistry(shelf) as server:
        monkeypatch.setenv("npm_config_registry", server.address)
        monkeypatch.delenv("npm_config_offline")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@needs_npm
@pytest.mark.bound(40)
def test_a_version_that_the_list_does_not_have_is_not_verified_and_shows_no_hash(
    tmp_path: Path, package_registry: PackageRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"package": "tiny-acp-agent@0.9.0", "integrity": "sha512-of-0.9.0"}
    words = ("tiny@1.0.0", "--from", list_with(tmp_path, "0.9.0", npx=source), "--json")
    out, err = agents(capsys, "install", *words, "--dry-run")
    (plan,) = json.loads(out)["would_install"]
    assert (plan["version"], plan["checked_by"]) == ("1.0.0", "registry")
    assert "sha512-of-0.9.0" not in out + err
    assert "licence: not known" in err, "the list's licence is that of another version"
    (installed,) = json.loads(agents(capsys, "install", *words, "--yes")[0])["installed"]
    assert (installed["verified"], installed["checked_by"]) == (False, "registry")
    assert [package["hash"] for package in installed["packages"]] == [package_registry.integrity]


@needs_npm
@pytest.mark.bound(40)
def test_a_package_with_the_hash_of_the_list_is_verified(
    tmp_path: Path, package_registry: PackageRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"package": "tiny-acp-agent@1.0.0", "integrity": package_registry.integrity}
    words = ("install", "tiny", "--from", list_with(tmp_path, "1.0.0", npx=source))
    assert (
        f"check it by {package_registry.integrity}, from the list" in agents(capsys, *words, "--dry-run")[1]
    )
    assert "Verified: its hash is the one in the list." in agents(capsys, *words, "--yes")[0]


@needs_npm
@pytest.mark.bound(40)
def test_without_a_network_npm_and_its_registry_are_named_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("npm_config_offline")
    with socket.create_server(("127.0.0.1", 0)) as taken:  # nobody listens there when it is closed
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{taken.getsockname()[1]}/")
    source = list_with(tmp_path, "1.0.0", npx={"package": "tiny-acp-agent@1.0.0"})
    _, err = agents(capsys, "install", "tiny", "--from", source, "--yes", status=1)
    assert "npm could not reach its registry to get tiny-acp-agent@1.0.0" in err
    assert "npm config get registry" in err
    assert installations() == []


@needs_npm
@pytest.mark.bound(40)
def test_a_registry_that_never_answers_is_given_up_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "LOOK_SECONDS", 0.1)
    monkeypatch.delenv("npm_config_offline")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{mute.getsockname()[1]}/")
        source = list_with(tmp_path, "1.0.0", npx={"package": "tiny-acp-agent@1.0.0"})
        _, err = agents(capsys, "install", "tiny", "--from", source, "--yes", status=1)
    assert "npm could not reach its registry to get tiny-acp-agent@1.0.0" in err


def put_wheel(folder: Path, python: str) -> None:
    with zipfile.ZipFile(folder / "tiny-2.0.0-py3-none-any.whl", "w") as zipped:
        head = f"Metadata-Version: 2.1\nName: tiny\nVersion: 2.0.0\nRequires-Python: {python}\n"
        zipped.writestr("tiny-2.0.0.dist-info/METADATA", head)
        zipped.writestr("tiny-2.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        zipped.writestr("tiny-2.0.0.dist-info/RECORD", "")


@pytest.mark.bound(40)
def test_a_package_for_another_python_says_how_to_name_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_wheel(tmp_path, ">=3.99")
    page = tmp_path / "index" / "tiny"
    page.mkdir(parents=True)
    link = '<a href="../../tiny-2.0.0-py3-none-any.whl" data-requires-python="&gt;=3.99">tiny-2.0.0</a>'
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    for package in ("tiny==2.0.0", "tiny-2.0.0-py3-none-any.whl"):
        source = list_with(tmp_path, "2.0.0", uvx={"package": package})
        _, err = agents(capsys, "install", "tiny", "--from", source, "--yes", status=1)
        assert "needs Python >=3.99" in err
        assert "--python python3.99" in err
