"""Types are first decoded by many threads at once, and the interpreter survives it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dragoman.testing.pace import patience
from tests.boxes import modules

BUILTIN = {"dict", "list", "str", "int", "object", "Raw", "msgspec", "None"}
"""Types of which msgspec keeps no table."""

RACE = """
import os, sys, threading
sys.setswitchinterval(1e-6)
{imports}
content = b'{{"type":"text","text":"x"}}'
TEXT = b'{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":' + content + b'}}}}'
together = threading.Barrier(8)
def decode():
    together.wait()
    {work}
def race():
    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
for _ in range({times}):
    if os.fork() == 0:
        race()
        os._exit(0)
    assert os.wait()[1] == 0
"""
"""Imports once, and decodes for the first time in each of its forks."""

RACES = {
    "messages of the protocol": (
        "from dragoman.schema import v1\nfrom dragoman.schema.codec import read",
        "for kind in (v1.SessionNotification, v1.InitializeRequest, v1.InitializeResponse):\n"
        "        try: read(TEXT, kind)\n"
        "        except ValueError: pass",
    ),
    "rules of the reviewer": ("from dragoman_review.risks import warm", "warm()"),
    "runs of updates": (
        "from dragoman.sdk.client.runs import NoteFrame, run_reader",
        "run_reader.__wrapped__(NoteFrame)",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_threads_that_decode_a_type_for_the_first_time_do_not_crash(name: str) -> None:
    imports, work = RACES[name]
    script = RACE.format(imports=imports, work=work, times=2)
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=patience(60), check=False
    )
    assert process.returncode == 0, process.stderr


BUILDS = re.compile(r"msgspec.*(?:Decoder|convert)|(?:json|msgpack)\.(?:decode|Decoder)\(")
"""What one of them would match: parsing all modules takes seconds."""


def test_no_module_builds_a_decoder_by_itself() -> None:
    found = [
        f"{module}:{line}"
        for module, path in modules()
        if path.name != "decoders.py" and BUILDS.search(text := path.read_text("utf-8"))
        for line in _own_decoders(ast.parse(text))
    ]
    assert not found, "build decoders with dragoman.decoders"


def test_own_decoders_are_noticed() -> None:
    for text in (
        "msgspec.json.Decoder(Thing)",
        "msgspec.msgpack.Decoder(Thing)",
        "from msgspec.json import Decoder",
        "from msgspec import convert",
        "msgspec.convert(value, Thing)",
        "msgspec.json.decode(raw, type=list[Thing])",
    ):
        assert BUILDS.search(text), text
        assert list(_own_decoders(ast.parse(text))), text
    for text in ("msgspec.json.Decoder()", "msgspec.json.decode(raw, type=dict[str, Raw] | None)"):
        assert not list(_own_decoders(ast.parse(text))), text


def _own_decoders(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("msgspec"):
            imported = {alias.name for alias in node.names}
            yield from [node.lineno] * bool(imported & {"Decoder", "convert"})
        elif isinstance(node, ast.Call) and _builds_decoder(node):
            yield node.lineno


def _builds_decoder(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("decode", "convert", "Decoder"):
        return False
    name = ast.unparse(call.func)
    if name.endswith(("json.decode", "msgpack.decode")):
        kinds = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
        return not all(map(_is_builtin, kinds))
    return name == "msgspec.convert" or (
        name.endswith(("json.Decoder", "msgpack.Decoder")) and bool(call.args)
    )


def _is_builtin(kind: ast.expr) -> bool:
    return {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)} <= BUILTIN
