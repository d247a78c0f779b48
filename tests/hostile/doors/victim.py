"""The session of the owner that others try to get at, and what the owner sees of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.hostile.doors.agent_steps import question
from tests.hostile.doors.stage import make_folder, placed
from tests.hostile.doors.token_tricks import SECRET_WORD
from tests.hostile.doors.visitor import Visitor
from tests.hub.outside.process import HubProcess

VOLATILE = {"updatedAt", "cursor", "rss", "cpu", "uptime", "time"}


class Victim:
    def __init__(self, hub: HubProcess, number: int) -> None:
        self.hub = hub
        self.folder = make_folder(hub, f"{SECRET_WORD}-{number}")
        self.key = f"key-{number}"
        (self.folder / "notes").write_text(f"{SECRET_WORD}\n")
        self.looker = Visitor(hub.place, hub.token, person="away")
        self.looker.introduce(agent="v1")
        self.owner = Visitor(hub.place, hub.token, person="away")
        meta = {"agent": "v1", "events": True, "cursors": True, "client": "client-of-the-owner"}
        self.owner.introduce(_meta={"dragoman": meta})
        self.session = self.owner.open(str(self.folder))
        self.owner.call("session/set_title", {"sessionId": self.session, "title": f"the {SECRET_WORD}"})
        self._prompt("first", question({"toolCallId": "c", "title": SECRET_WORD, "kind": "execute"}))
        asked = self.owner.hear_until("session/request_permission")
        self.request: str = asked["params"]["_meta"]["dragoman"]["request"]
        self.question_id = asked["id"]
        self._prompt(self.key, [{"do": "$CWD/queued"}])
        while not self.view()["queue"]:
            self.owner.hear()

    def _prompt(self, key: str, steps: list[dict[str, Any]]) -> None:
        text = f"{SECRET_WORD} {json.dumps(placed(steps, self.folder))}"
        params = {
            "sessionId": self.session,
            "prompt": [{"type": "text", "text": text}],
            "_meta": {"dragoman": {"key": key}},
        }
        self.owner.send({"jsonrpc": "2.0", "id": key, "method": "session/prompt", "params": params})

    def fill(self, text: str, **more: str) -> str:
        """With what the trick aims at in it."""
        words = {
            "VICTIM": self.session,
            "FOLDER": str(self.folder),
            "WORK": str(self.folder.parent),
            "NAME": self.folder.name,
            "REQUEST": self.request,
            "KEY": self.key,
            **more,
        }
        for word, meant in words.items():
            text = text.replace(f"${word}", meant)
        return text

    def view(self) -> dict[str, Any]:
        """What the owner sees: sessions, questions, the queue, and the files. What somebody does in a corner
        that was given to them is nothing to see.
        """
        looker = self.looker
        sessions = looker.call("_dragoman/hub/sessions", {"limit": 200, "archived": "include"})["result"]
        inbox = looker.call("_dragoman/hub/inbox", {})["result"]["requests"]
        snapshot = looker.call("_dragoman/hub/attach", {"sessionId": self.session})["result"]["snapshot"]
        agents = looker.call("_dragoman/hub/agents", {})["result"]["agents"]
        return {
            "sessions": sorted(
                (
                    {name: value for name, value in one.items() if name not in VOLATILE}
                    for one in sessions["sessions"]
                    if not (one["agent"] == "haven" and Path(one["cwd"]).name == "corner")
                ),
                key=lambda one: str(one["sessionId"]),
            ),
            "questions": [(one["sessionId"], one["request"]) for one in inbox],
            "queue": snapshot["queue"],
            "modes": snapshot["modes"],
            "options": snapshot["configOptions"],
            "agents": [one["name"] for one in agents],
            "files": sorted(str(path) for path in self.folder.rglob("*")),
        }

    def settle(self) -> None:
        self.owner.person = "no"
        self.owner.call("session/cancel", {"sessionId": self.session})
        self.owner.call("session/delete", {"sessionId": self.session})
        self.leave()

    def leave(self) -> None:
        self.owner.__exit__()
        self.looker.__exit__()
