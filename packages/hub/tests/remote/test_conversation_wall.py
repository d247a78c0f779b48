"""What a changed program on the other side sends to the editor here, in spellings that a stranger tries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman_hub.remote.conversation import RemoteWall
from tests.every import every

READ = '{"sessionId":"s","path":"/etc/passwd"}'

TRICKS = [
    f'{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{READ}}}',
    f'{{"id":1,"method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"fs\\/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"\\u0066s/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"m\\u0065thod":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"Method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"METHOD":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"session/update","method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","method":"session/update","params":{READ}}}',
    f'{{"jsonrpc":"2.0","method":"session/update","Method":"fs/read_text_file","id ":1,"params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":null,"method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":"1","method":"fs/write_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","method":"fs/write_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1.5,"method":"terminal/create","params":{READ}}}',
    f'[{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{READ}}}]',
    f'{{"jsonrpc":"2.0","id":1,"result":{{}},"method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"result":{{}},"Method":"fs/read_text_file","params":{READ}}}',
    f' \t{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{READ}}}',
    f'\ufeff{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file ","params":{READ}}}',
    f'{{"jsonrpc":"2.0","id":1,"method":"Fs/Read_Text_File","params":{READ}}}',
    '{"jsonrpc":"2.0","method":"_dragoman/hub/asked","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"_editor/open","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"readTextFile","params":{}}',
]


@every("line", TRICKS)
def test_nothing_that_the_other_side_sends_asks_for_files_of_this_machine(line: str) -> None:
    refusals: list[bytes] = []
    passed = RemoteWall(refusals.append).pass_on(line.encode() + b"\n")
    if passed is None:
        return
    # A reader of any kind finds nothing in it but what we judged: an update, or an answer.
    members = json.loads(passed, object_pairs_hook=only_once)
    assert {name.strip().lower() for name in members} == set(members), "no odd names are left"
    assert members.get("method", "session/update") == "session/update"
    assert not ("method" in members and "id" in members)


def only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"a":[1]}}\n',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"\\u00e9"}}\n',
        b'{"jsonrpc":"2.0","method":"_agent/status","params":{}}\n',
        b'{"jsonrpc":"2.0","id":"x","result":{"stopReason":"end_turn"}}\n',
        b'{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no","data":{"a":1}}}\n',
    ],
)
def test_what_an_agent_says_to_a_client_goes_on_as_it_was(line: bytes) -> None:
    assert RemoteWall(pytest.fail).pass_on(line) == line


def test_a_refused_request_is_answered_there() -> None:
    refusals: list[bytes] = []
    line = b'{"jsonrpc":"2.0","id":7,"method":"terminal/create","params":{}}\n'
    assert RemoteWall(refusals.append).pass_on(line) is None
    (refusal,) = map(json.loads, refusals)
    assert (refusal["id"], refusal["error"]["code"]) == (7, -32601)
