"""Holders of narrower tokens at somebody else's session.

The owner has a session in a folder of which nobody else shall know. Its agent waits for an answer, and a
prompt waits behind that. In params, `$VICTIM` is the session, `$FOLDER` its folder, `$REQUEST` what is asked
and `$KEY` the prompt that waits; `$CORNER` is the only folder of a holder with another agent and folder,
`$OWN` a session of the holder's own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.tricks import Outcome, Trick

SECRET_WORD = "zebra"
"""It is in the title, in the folder and in the prompts of the victim."""

ALLOW = {"outcome": {"outcome": "selected", "optionId": "yes"}}

MARK = [{"do": "$FOLDER/evil"}]

PROMPT = {"sessionId": "$VICTIM", "prompt": [{"type": "text", "text": json.dumps(MARK)}]}

SETUP = {"sessionId": "$VICTIM", "cwd": "$FOLDER", "mcpServers": []}

OBSERVE: dict[str, dict[str, Any]] = {
    "session/list": {},
    "session/load": SETUP,
    "session/resume": {**SETUP, "_meta": {"dragoman": {"after": ""}}},
    "session/status": {"sessionId": "$VICTIM"},
    "_dragoman/hub/sessions": {},
    "_dragoman/hub/attach": {"sessionId": "$VICTIM", "after": ""},
    "_dragoman/hub/history": {"sessionId": "$VICTIM"},
    "_dragoman/hub/turns": {"sessionId": "$VICTIM"},
    "_dragoman/hub/search": {"text": SECRET_WORD},
    "_dragoman/hub/progress": {"sessionIds": ["$VICTIM"]},
    "_dragoman/hub/files": {"sessionId": "$VICTIM", "pattern": "n"},
    "_dragoman/hub/file": {"sessionId": "$VICTIM", "path": "$FOLDER/notes"},
    "_dragoman/hub/blame": {"sessionId": "$VICTIM", "path": "$FOLDER/notes"},
    "_dragoman/hub/terminal": {"sessionId": "$VICTIM", "terminalId": "1"},
    "_dragoman/hub/changes": {"sessionId": "$VICTIM"},
}

PROMPTING: dict[str, dict[str, Any]] = {
    "session/new": {"cwd": "$FOLDER", "mcpServers": []},
    "session/prompt": PROMPT,
    "session/cancel": {"sessionId": "$VICTIM"},
    "session/close": {"sessionId": "$VICTIM"},
    "session/delete": {"sessionId": "$VICTIM"},
    "session/fork": SETUP,
    "session/set_title": {"sessionId": "$VICTIM", "title": "evil"},
    "session/archive": {"sessionId": "$VICTIM"},
    "session/set_mode": {"sessionId": "$VICTIM", "modeId": "bypassPermissions"},
    "session/set_config_option": {"sessionId": "$VICTIM", "configId": "approval", "value": "never"},
    "session/inject": {"sessionId": "$VICTIM", "mode": "steer", "content": PROMPT["prompt"]},
    "_session/steering": PROMPT,
    "_dragoman/hub/queue/edit": {"sessionId": "$VICTIM", "key": "$KEY", "prompt": PROMPT["prompt"]},
    "_dragoman/hub/queue/withdraw": {"sessionId": "$VICTIM", "key": "$KEY"},
    "_dragoman/hub/rewind/preview": {"sessionId": "$VICTIM", "key": "$KEY"},
    "_dragoman/hub/rewind": {"sessionId": "$VICTIM", "key": "$KEY", "identity": "x"},
    "_dragoman/hub/rewind/undo": {"sessionId": "$VICTIM"},
    "_dragoman/hub/policy/preview": {"sessionId": "$VICTIM", "remedy": "dragoman policy allow"},
    "_dragoman/hub/policy/allow": {"sessionId": "$VICTIM", "remedy": "x", "rule": "[[rule]]"},
    "_dragoman/hub/policy/undo": {"sessionId": "$VICTIM", "remedy": "x"},
    "_dragoman/hub/handover": {"sessionId": "$VICTIM", "agent": "haven", "force": True},
    "_dragoman/hub/folders": {"path": "$WORK/ze"},
}

APPROVING: dict[str, dict[str, Any]] = {
    "_dragoman/hub/answer": {"sessionId": "$VICTIM", "request": "$REQUEST", "result": ALLOW},
    "_dragoman/hub/revert": {"sessionId": "$VICTIM", "path": "$FOLDER/notes"},
    "_dragoman/hub/commit/preview": {"sessionId": "$VICTIM"},
    "_dragoman/hub/commit": {
        "sessionId": "$VICTIM",
        "paths": ["notes"],
        "message": "evil",
        "identity": "x",
    },
}

ADMINISTERING: dict[str, dict[str, Any]] = {
    "_dragoman/hub/status": {},
    "_dragoman/hub/pair": {"scopes": ["observe"]},
    "_dragoman/hub/pair/status": {"id": "1"},
    "_dragoman/hub/agents/check": {"_meta": {"dragoman": {"agent": "v1"}}},
    "_dragoman/hub/agents/registry": {},
    "_dragoman/hub/agents/install": {"agent": "gemini", "plan": "x"},
    "_dragoman/hub/agents/uninstall": {"agent": "gemini"},
    "providers/set": {"id": "x", "apiType": "openai", "baseUrl": "http://127.0.0.1:9/", "headers": {}},
    "providers/disable": {"id": "x"},
}

EITHER: dict[str, dict[str, Any]] = {"_dragoman/hub/inbox": {}, "_dragoman/hub/watch": {"on": True}}
"""For `observe` and for `approve`."""


@dataclass(frozen=True, kw_only=True)
class MethodTrick(Trick):
    """A method that the holder of a token tries in every form: as a request, as a notification, in other
    letters, and with a second `method` beside it.
    """

    token: str
    method: str
    params: dict[str, Any]
    is_answered: bool = False
    """Whether a result is no harm as long as it tells nothing of the victim."""


SUCCEEDED = {("cornered", "_dragoman/hub/status")}


def tries(token: str, holder: str, *tables: dict[str, dict[str, Any]], **more: Any) -> list[MethodTrick]:
    return [
        MethodTrick(
            name=f"{holder} tries {method}",
            axis="tokens",
            said=f"the owner made a token for {holder}",
            does=f"calls {method} on the session of the owner, in every form",
            effect="the method is carried out, or tells something of the session",
            at_first="succeeded" if (token, method) in SUCCEEDED else "never did",
            token=token,
            method=method,
            params=params,
            **more,
        )
        for table in tables
        for method, params in table.items()
    ]


METHOD_TRICKS: Sequence[MethodTrick] = [
    *tries("watcher", "somebody who may look", PROMPTING, APPROVING, ADMINISTERING),
    *tries("approver", "somebody who may answer", OBSERVE, PROMPTING, ADMINISTERING),
    *tries("prompter", "somebody who may prompt", APPROVING, ADMINISTERING),
    *tries(
        "cornered",
        "somebody with another agent and folder",
        OBSERVE,
        PROMPTING,
        APPROVING,
        EITHER,
        {"_dragoman/hub/agents": {}, "_dragoman/hub/status": {}},
        is_answered=True,
    ),
]


@dataclass(frozen=True, kw_only=True)
class PairTrick(Trick):
    """A device that is let in by somebody with a narrower token, and then looks for the owner's session."""

    token: str
    params: dict[str, Any]
    """Of `_dragoman/hub/pair`."""
    body: dict[str, Any]
    """What the device sends beside its code."""
    outlives: bool = False
    """Whether the device comes after the token that paired it has ended."""


def pairs(
    title: str,
    does: str,
    *,
    token: str = "cornered",
    outlives: bool = False,
    at_first: Outcome = "never did",
    **params: Any,
) -> PairTrick:
    body = params.pop("body", {})
    return PairTrick(
        name=f"a device: {title}",
        at_first=at_first,
        axis="tokens",
        said="the owner made a token that is narrower than the owner's",
        does=does,
        effect="the device reads, prompts or answers what its giver may not",
        token=token,
        params=params,
        body=body,
        outlives=outlives,
    )


WIDE: dict[str, Any] = {"agents": ["*"], "roots": ["/"], "agent": "*", "root": "/"}

PAIR_TRICKS = [
    pairs("paired from a corner", "is paired by somebody with one agent and folder"),
    pairs("paired from a corner with wider words", "is paired with agents and folders in the params", **WIDE),
    pairs(
        "that asks for more with its code",
        "asks for agents, folders and scopes itself",
        body={**WIDE, "scopes": ["admin"]},
    ),
    pairs(
        "that calls itself the owner", "has the name of another token", name="owner", body={"name": "owner"}
    ),
    pairs(
        "with scopes that its giver lacks",
        "is paired for answers by somebody who may not answer",
        token="keeper",
        scopes=["observe", "prompt", "approve"],
    ),
    pairs(
        "that asks for scopes that its giver lacks",
        "asks for the scope to answer itself",
        token="keeper",
        scopes=["observe"],
        body={"scopes": ["approve", "prompt"]},
    ),
    pairs(
        "that outlives its giver",
        "is paired for years by a token that ends in seconds",
        token="brief",
        outlives=True,
        scopes=["observe"],
        tokenSeconds=30_000_000,
        at_first="succeeded",
    ),
]

FAST_TRICKS = [
    Trick(
        name="an answer before the question was judged",
        axis="tokens",
        said="the policy denies it",
        does="answers every likely question of a session with yes, again and again, while the agent asks",
        effect="the agent is told yes",
        at_first="succeeded",
    ),
]
