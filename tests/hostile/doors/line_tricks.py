"""Lines of holders of narrower tokens that two readers may read in two ways. The words with `$` are those of
`token_tricks`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.token_tricks import ALLOW
from tests.hostile.doors.tricks import Trick

YES = json.dumps(ALLOW)


@dataclass(frozen=True, kw_only=True)
class LineTrick(Trick):
    """Lines that the holder of a token sends as they are."""

    token: str
    lines: Sequence[str]
    introduction: dict[str, Any] | None = None
    """Members of `initialize` in the place of the usual ones."""
    query: str = ""
    """Of the address."""

    @property
    def answered(self) -> list[str]:
        """Ids of requests that are answered before the turn ends. One with a key that stands there twice may
        be answered as if it had no id.
        """
        messages = [json.loads(line) for line in self.lines if '"method"' in line and not has_twins(line)]
        return [one["id"] for one in messages if one["id"] != "turn"]


def has_twins(text: str) -> bool:
    """Whether a key of an object stands there twice, at any depth."""
    twins = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twins
        twins |= len(dict(pairs)) < len(pairs)
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return twins


def line(method: str, params: str, *, number: str = '"1"') -> str:
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "{method}", "params": {params}}}'


def cornered(name: str, *lines: str, effect: str = "", **more: Any) -> LineTrick:
    return LineTrick(
        name=f"a cornered holder: {name}",
        axis="tokens",
        said="the owner made a token for one agent and one folder",
        does="sends lines that two readers may read in two ways",
        effect=effect or "a session elsewhere or of another agent, or a word of the owner's session",
        token="cornered",
        lines=lines,
        **more,
    )


def new(params: str) -> str:
    return line("session/new", f'{{"mcpServers": [], {params}}}', number='"new"')


def new_with_agent(meta: str) -> str:
    return new(f'"cwd": "$CORNER", {meta}')


TEXT = '[{"type": "text", "text": "[{\\"do\\": \\"$CORNER/who\\"}]"}]'
"""A prompt whose agent says which one it is, in the file `who`."""

PLACES = [
    cornered("the folder twice, the foreign one last", new('"cwd": "$CORNER", "cwd": "$FOLDER"')),
    cornered("the folder twice, the foreign one first", new('"cwd": "$FOLDER", "cwd": "$CORNER"')),
    cornered("a way up out of the folder", new('"cwd": "$CORNER/../$NAME"')),
    cornered("a link in the folder that leads out", new('"cwd": "$CORNER/way-out"')),
    cornered("a folder whose name only begins like the own one", new('"cwd": "$CORNER-evil"')),
    cornered("a foreign folder besides", new('"cwd": "$CORNER", "additionalDirectories": ["$FOLDER"]')),
    cornered("a way up besides", new('"cwd": "$CORNER", "additionalDirectories": ["$CORNER/../$NAME"]')),
    cornered("no folder at all", new('"x": 1')),
    cornered("a folder in capital letters of the key", new('"CWD": "$FOLDER", "cwd": "$CORNER"')),
    cornered("a folder under an empty key", new('"": "$FOLDER", "cwd": "$CORNER"')),
    cornered("a folder with an escaped key", new('"cwd": "$CORNER", "\\u0063wd": "$FOLDER"')),
    cornered("a folder that is a list", new('"cwd": ["$FOLDER"]')),
    cornered("a folder with a NUL behind it", new('"cwd": "$FOLDER\\u0000$CORNER"')),
    cornered(
        "params twice, the foreign ones last",
        new('"cwd": "$CORNER"')[:-1] + ', "params": {"cwd": "$FOLDER", "mcpServers": []}}',
    ),
    cornered(
        "params twice, the foreign ones first",
        new('"cwd": "$FOLDER"')[:-1] + ', "params": {"cwd": "$CORNER", "mcpServers": []}}',
    ),
]

AGENTS = [
    cornered("another agent in _meta", new_with_agent('"_meta": {"dragoman": {"agent": "v1"}}')),
    cornered(
        "two agents in _meta", new_with_agent('"_meta": {"dragoman": {"agent": "haven", "agent": "v1"}}')
    ),
    cornered(
        "two agents in _meta, the other way round",
        new_with_agent('"_meta": {"dragoman": {"agent": "v1", "agent": "haven"}}'),
    ),
    cornered(
        "_meta twice",
        new_with_agent('"_meta": {"dragoman": {"agent": "haven"}}, "_meta": {"dragoman": {"agent": "v1"}}'),
    ),
    cornered(
        "_meta twice, the other way round",
        new_with_agent('"_meta": {"dragoman": {"agent": "v1"}}, "_meta": {"dragoman": {"agent": "haven"}}'),
    ),
    cornered(
        "dragoman twice",
        new_with_agent('"_meta": {"dragoman": {"agent": "haven"}, "dragoman": {"agent": "v1"}}'),
    ),
    cornered(
        "dragoman twice, the other way round",
        new_with_agent('"_meta": {"dragoman": {"agent": "v1"}, "dragoman": {"agent": "haven"}}'),
    ),
    cornered(
        "an agent in an escaped key",
        new_with_agent('"_meta": {"dragoman": {"agent": "haven", "\\u0061gent": "v1"}}'),
    ),
    cornered("an agent that is a list", new_with_agent('"_meta": {"dragoman": {"agent": ["v1"]}}')),
    cornered("an agent in capital letters", new_with_agent('"_meta": {"dragoman": {"agent": "V1"}}')),
    cornered("an agent with blanks", new_with_agent('"_meta": {"dragoman": {"agent": " v1 "}}')),
    cornered("Dragoman in capital letters", new_with_agent('"_meta": {"Dragoman": {"agent": "v1"}}')),
    cornered(
        "another agent at the introduction",
        new('"cwd": "$CORNER"'),
        introduction={"_meta": {"dragoman": {"agent": "v1"}}},
    ),
    cornered("another agent in the address", new('"cwd": "$CORNER"'), introduction={}, query="?agent=v1"),
    cornered(
        "two agents in the address", new('"cwd": "$CORNER"'), introduction={}, query="?agent=haven&agent=v1"
    ),
    cornered(
        "a hand-over of the own session to another agent",
        line("_dragoman/hub/handover", '{"sessionId": "$OWN", "agent": "v1", "force": true}'),
    ),
]

SESSIONS = [
    cornered(
        "a load of the foreign session in the own folder",
        line("session/load", '{"sessionId": "$VICTIM", "cwd": "$CORNER", "mcpServers": []}'),
    ),
    cornered(
        "a resume of the foreign session in the own folder",
        line(
            "session/resume",
            '{"sessionId": "$VICTIM", "cwd": "$CORNER", "mcpServers": [], '
            '"_meta": {"dragoman": {"after": ""}}}',
        ),
    ),
    cornered(
        "a fork of the foreign session into the own folder",
        line("session/fork", '{"sessionId": "$VICTIM", "cwd": "$CORNER", "mcpServers": []}'),
    ),
    cornered(
        "a hand-over of the foreign session to the own agent",
        line("_dragoman/hub/handover", '{"sessionId": "$VICTIM", "agent": "haven", "cwd": "$CORNER"}'),
    ),
    cornered(
        "a prompt with two sessions, the foreign one last",
        line("session/prompt", f'{{"sessionId": "$OWN", "sessionId": "$VICTIM", "prompt": {TEXT}}}'),
    ),
    cornered(
        "a prompt with two sessions, the foreign one first",
        line("session/prompt", f'{{"sessionId": "$VICTIM", "sessionId": "$OWN", "prompt": {TEXT}}}'),
    ),
    cornered(
        "a prompt with the foreign session in an escaped key",
        line("session/prompt", f'{{"sessionId": "$OWN", "\\u0073essionId": "$VICTIM", "prompt": {TEXT}}}'),
    ),
    cornered(
        "an answer with two sessions, the foreign one last",
        line(
            "_dragoman/hub/answer",
            f'{{"sessionId": "$OWN", "sessionId": "$VICTIM", "request": "$REQUEST", "result": {YES}}}',
        ),
    ),
    cornered(
        "an answer with two sessions, the foreign one first",
        line(
            "_dragoman/hub/answer",
            f'{{"sessionId": "$VICTIM", "sessionId": "$OWN", "request": "$REQUEST", "result": {YES}}}',
        ),
    ),
    cornered(
        "a history with two sessions",
        line("_dragoman/hub/history", '{"sessionId": "$OWN", "sessionId": "$VICTIM"}'),
        line("_dragoman/hub/history", '{"sessionId": "$VICTIM", "sessionId": "$OWN"}', number='"2"'),
    ),
    cornered(
        "progress of many, the foreign one among them",
        line("_dragoman/hub/progress", '{"sessionIds": ["$OWN", "$VICTIM"]}'),
    ),
    cornered(
        "a cancel with two sessions",
        line("session/cancel", '{"sessionId": "$OWN", "sessionId": "$VICTIM"}'),
        line("session/cancel", '{"sessionId": "$VICTIM", "sessionId": "$OWN"}'),
    ),
    cornered(
        "a search in the foreign session alone",
        line("_dragoman/hub/search", '{"text": "zebra", "sessionId": "$VICTIM"}'),
    ),
    cornered(
        "a file of the foreign folder through the own session",
        line("_dragoman/hub/file", '{"sessionId": "$OWN", "path": "$FOLDER/notes"}'),
        line("_dragoman/hub/file", '{"sessionId": "$OWN", "path": "../$NAME/notes"}', number='"2"'),
        effect="a word of the foreign file",
    ),
    cornered("a watch, while the owner goes on", line("_dragoman/hub/watch", '{"on": true}')),
    cornered(
        "a list of a foreign folder",
        line("session/list", '{"cwd": "$FOLDER"}'),
        line(
            "_dragoman/hub/sessions", '{"cwd": "$FOLDER", "agent": "v1", "archived": "include"}', number='"2"'
        ),
    ),
]


def answers(numbers: range, *, quote: str = "") -> list[str]:
    return [
        f'{{"jsonrpc": "2.0", "id": {quote}{number}{quote}, "result": {json.dumps(ALLOW)}}}'
        for number in numbers
    ]


def narrow(token: str, name: str, does: str, effect: str, *lines: str, **more: Any) -> LineTrick:
    holder = {"watcher": "observe", "prompter": "prompt", "approver": "approve"}[token]
    return LineTrick(
        name=f"a holder of {holder}: {name}",
        axis="tokens",
        said=f"the owner made a token with the scope {holder}",
        does=does,
        effect=effect,
        token=token,
        lines=lines,
        **more,
    )


ATTACH = line("_dragoman/hub/attach", '{"sessionId": "$VICTIM", "after": ""}', number='"a"')
KEY = '"_meta": {"dragoman": {"key": "$KEY"}}'
EDIT = line(
    "_dragoman/hub/queue/edit", f'{{"sessionId": "$VICTIM", "key": "$KEY", "prompt": {TEXT}}}', number='"e"'
)
WITHDRAW = line("_dragoman/hub/queue/withdraw", '{"sessionId": "$VICTIM", "key": "$KEY"}', number='"w"')
CLAIM = {"_meta": {"dragoman": {"agent": "v1", "client": "client-of-the-owner", "events": True}}}

OTHERS = [
    narrow(
        "watcher",
        "answers to guessed numbers",
        "follows the session and sends answers with every likely id",
        "the question is settled",
        ATTACH,
        *answers(range(24)),
    ),
    narrow(
        "watcher",
        "answers to guessed numbers as texts",
        "the same with ids that are texts",
        "the question is settled",
        ATTACH,
        *answers(range(24), quote='"'),
    ),
    narrow(
        "watcher",
        "the name of the owner's client",
        "introduces itself by the name of the owner's client, and answers",
        "the question is settled",
        ATTACH,
        *answers(range(24)),
        introduction=CLAIM,
    ),
    narrow(
        "watcher",
        "a subscription to buttons",
        "subscribes to push with buttons that answer",
        "a ticket to answer with",
        line(
            "_dragoman/hub/push/subscribe",
            '{"endpoint": "https://127.0.0.1:9/", "keys": {"p256dh": "x", "auth": "y"}, "answers": true}',
        ),
    ),
    narrow(
        "prompter",
        "a prompt under the owner's key, then an edit of it",
        "sends a prompt with the key of the owner's, then edits it as its own",
        "the owner's prompt says something else",
        line("session/prompt", f'{{"sessionId": "$VICTIM", "prompt": {TEXT}, {KEY}}}', number='"turn"'),
        EDIT,
    ),
    narrow(
        "prompter",
        "a prompt under the owner's key, then its withdrawal",
        "sends a prompt with the key of the owner's, then withdraws it",
        "the owner's prompt is gone",
        line("session/prompt", f'{{"sessionId": "$VICTIM", "prompt": {TEXT}, {KEY}}}', number='"turn"'),
        WITHDRAW,
    ),
    narrow(
        "prompter",
        "a resume that claims the owner's key as written",
        "resumes with `wrote` and `prompts`, then edits",
        "the owner's prompt says something else",
        line(
            "session/resume",
            '{"sessionId": "$VICTIM", "cwd": "$FOLDER", "mcpServers": [], '
            '"_meta": {"dragoman": {"after": "", "wrote": ["$KEY"], "prompts": ["$KEY"]}}}',
            number='"r"',
        ),
        EDIT,
        WITHDRAW,
    ),
    narrow(
        "prompter",
        "the name of the owner's client, then an edit",
        "introduces itself by the name of the owner's client, and edits",
        "the owner's prompt says something else",
        ATTACH,
        EDIT,
        WITHDRAW,
        introduction=CLAIM,
    ),
    narrow(
        "prompter",
        "answers to guessed numbers",
        "follows the session and answers",
        "the question is settled",
        ATTACH,
        *answers(range(24)),
        introduction=CLAIM,
    ),
    narrow(
        "prompter",
        "an edit that says whose it is",
        "edits with `by` and an owner's name",
        "the owner's prompt says something else",
        EDIT.replace('"key"', '"by": "owner", "key"'),
    ),
    narrow(
        "approver",
        "an option that was not offered",
        "answers with an option that nobody offered",
        "the question is settled",
        line(
            "_dragoman/hub/answer",
            '{"sessionId": "$VICTIM", "request": "$REQUEST", "result": '
            '{"outcome": {"outcome": "selected", "optionId": "allow_always"}}}',
        ),
    ),
    narrow(
        "approver",
        "an answer from another moment",
        "answers with another `askedAt`",
        "the question is settled",
        line(
            "_dragoman/hub/answer",
            f'{{"sessionId": "$VICTIM", "request": "$REQUEST", "askedAt": 1, "result": {json.dumps(ALLOW)}}}',
        ),
    ),
]

LINE_TRICKS: Sequence[LineTrick] = [*PLACES, *AGENTS, *SESSIONS, *OTHERS]
