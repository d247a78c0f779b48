"""Real programs behind a filtered network, and a server with a name and a certificate on this machine."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nats.certificates import Authority
from tests.sandbox.stage import Scene, scene

NAME = "api.example"

PROGRAMS = {
    "curl": "curl -sS https://PLACE/hello",
    "python3": "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://PLACE/hello\").read().decode())'",
    "git": "git clone -q https://PLACE/repository.git cloned && git -C cloned log -1 --format=format:hello",
    "npm": "npm view --fetch-retries 0 --registry https://PLACE/ thing description",
}
"""Each says `hello` if it reached the server."""

DIRECT = {
    "curl": "curl -sS -m 5 --noproxy '*' https://PLACE/hello",
    "python3": "env -u HTTPS_PROXY -u https_proxy " + PROGRAMS["python3"],
    "git": "git -c http.proxy= clone -q https://PLACE/repository.git direct && echo hello",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def stage() -> Iterator[Scene]:
    with scene(os.getuid()) as found:
        yield found


@pytest.fixture(scope="module")
def place(stage: Scene) -> Iterator[str]:
    """Host and port of a server of HTTPS whose pages are what the programs ask for."""
    pages = stage.base / "pages"
    pages.mkdir()
    (pages / "hello").write_text("hello")
    latest = {"name": "thing", "version": "1.0.0", "description": "hello"}
    listing = {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": latest}}
    (pages / "thing").write_text(json.dumps(listing))
    stage.git("-C", str(stage.workspace), "clone", "--quiet", "--bare", ".", str(pages / "repository.git"))
    stage.git("-C", str(pages / "repository.git"), "update-server-info")
    authority = Authority(stage.base)
    pair = authority.pair(NAME)
    shutil.copy(authority.ca, stage.workspace / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)

    def handle(*words: object) -> Quiet:
        return Quiet(*words, directory=str(pages))  # type: ignore[arg-type]

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handle)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"{NAME}:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def tried(stage: Scene, line: str, *, profile: str) -> subprocess.CompletedProcess[bytes]:
    names = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile")
    trust = dict.fromkeys(names, str(stage.workspace / "ca.pem"))
    words = ["/bin/sh", "-c", line]
    return stage.run(words, profile=profile, named=True, env={**stage.environment, **trust})


def present(programs: dict[str, str]) -> dict[str, str]:
    return {name: line for name, line in programs.items() if shutil.which(name)}


@pytest.mark.bound(60)
def test_programs_that_know_proxies_reach_what_is_permitted(stage: Scene, place: str) -> None:
    lines = present(PROGRAMS)
    line = "; ".join(f"echo {name} $({line})" for name, line in lines.items()).replace("PLACE", place)
    done = tried(stage, line, profile=f"workspace+net:{place}/private")
    assert done.stdout.decode().splitlines() == [f"{name} hello" for name in lines], done.stderr.decode()


@pytest.mark.bound(60)
def test_programs_that_know_no_proxy_have_no_network(stage: Scene, place: str) -> None:
    lines = present(DIRECT)
    line = "; ".join(f"echo {name} $({line})" for name, line in lines.items()).replace("PLACE", place)
    done = tried(stage, line, profile=f"workspace+net:{place}/private")
    assert done.stdout.decode().splitlines() == list(lines), done.stdout.decode()


def test_what_is_not_permitted_is_told_in_a_sentence_on_standard_error(stage: Scene, place: str) -> None:
    if not shutil.which("curl"):
        pytest.skip("there is no curl")
    done = tried(stage, f"curl -sS https://{place}/hello", profile="workspace+net")
    assert done.returncode != 0
    said = f"dragoman: the sandbox refuses {place}: it is not in workspace+net; to permit it, choose the"
    assert f"{said} profile workspace+net:{place}\n" in done.stderr.decode()
    done = tried(stage, f"curl -sS https://{place}/hello", profile=f"workspace+net:{place}")
    assert (
        f"leads to 127.0.0.1, which is not public; to permit that, write {NAME}/private"
        in done.stderr.decode()
    )


def test_a_port_of_this_machine_is_the_same_port_inside_and_no_other_one(stage: Scene, place: str) -> None:
    port = place.rpartition(":")[2]
    line = "curl -sSk --noproxy '*' https://localhost:PORT/hello; ls /proc/net/tcp > /dev/null".replace(
        "PORT", port
    )
    assert tried(stage, line, profile=f"workspace+net:localhost:{port}").stdout == b"hello"
    assert tried(stage, line, profile="workspace+net:localhost:1").stdout == b""


def test_a_server_inside_is_reached_inside_and_not_from_outside(stage: Scene) -> None:
    """What listens in the sandbox is in a network of its own: the same port is free outside."""
    program = stage.workspace / "inside.py"
    program.write_text(
        "import socket, sys\n"
        "server = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "link = socket.create_connection(server.getsockname())\n"
        "server.accept()[0].sendall(b'inside')\n"
        "print(link.recv(100).decode())\n"
    )
    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as outside:
        words = [stage.python, "-I", "-S", "inside.py", str(outside.server_port)]
        assert stage.run(words, profile="workspace+net").stdout == b"inside\n"
        assert stage.run(words, profile="workspace").returncode != 0


def test_the_proxy_ends_with_the_command(stage: Scene) -> None:
    before = _launchers()
    assert stage.run(["/bin/true"], profile="workspace+net:a.example").returncode == 0
    assert _launchers() <= before


def _launchers() -> set[str]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if b"sandbox.launcher" in words and b"a.example" in words:
            found.add(name)
    return found
