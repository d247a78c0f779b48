"""One session of a v2 agent, for a v1 client: each v2 update becomes any number of v1 updates.

It knows what was said before; whose turn it is, `agent_turns` knows.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Json, Message, Object, as_object, as_text, notification, without
from dragoman.dialect.v2.agent_calls import V2AgentToolCalls
from dragoman.dialect.v2.agent_handshake import ClientAbilities
from dragoman.dialect.v2.agent_messages import CHUNKS, WHOLE, Messages
from dragoman.dialect.v2.agent_turns import V2AgentTurns
from dragoman.dialect.v2.to_v1 import config
from dragoman.dialect.v2.to_v1.config import commands
from dragoman.dialect.v2.to_v1.content import block, blocks
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, fitting, patched_meta
from dragoman.dialect.v2.to_v1.plans import named_plan, plan_text

_TEXT_OR_NONE = (str, type(None))
_SUBAGENTS = ("subagent_update", "session_message", "session_message_chunk")


def update_messages(session: V2AgentSession, updates: list[Object]) -> list[Out]:
    """Wrap updates in messages for the client."""
    return [
        ("inside", notification("session/update", {"sessionId": session.id, "update": update}))
        for update in updates
    ]


class V2AgentSessions:
    """All sessions of a conversation, each added when a message first names it."""

    def __init__(self, report: LossReporter) -> None:
        self._tell = report
        self._by_id: dict[str, V2AgentSession] = {}
        self.abilities = ClientAbilities()
        self.early: list[Message] = []
        """Updates of sessions that the client does not know yet."""

    def of(self, session_id: str) -> V2AgentSession:
        session = self._by_id.get(session_id)
        if session is None:
            session = self._by_id[session_id] = V2AgentSession(session_id, self.abilities, self._tell)
        return session

    def all(self) -> list[V2AgentSession]:
        return list(self._by_id.values())

    def forget(self, session_id: str) -> None:
        self._by_id.pop(session_id, None)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._by_id


class V2AgentSession:
    """The state of one session."""

    def __init__(self, session_id: str, abilities: ClientAbilities, report: LossReporter) -> None:
        self.id = session_id
        self._tell = report
        self._abilities = abilities
        self.turns = V2AgentTurns()
        self.cwd = "/"
        self.options: list[Object] = []
        """The config options as v1 was told of them last."""
        self.switches: set[str] = set()
        self.offer: str = ""
        """Under which name the client's files and terminals were lent to the agent, if they were."""
        self.begin_again()
        self._kinds: dict[str, Callable[[Object], list[Object]]] = {
            "config_option_update": self._config,
            "available_commands_update": self._commands,
            "session_info_update": self._info,
            "usage_update": self._usage,
            "notice": self._notice,
            "compaction_update": self._compaction,
            "compaction_summary_chunk": self._compaction,
        }

    def begin_again(self) -> None:
        """Forget the sent content, because the agent sends everything again."""
        self._messages = Messages(self._tell)
        self.calls = V2AgentToolCalls(self._tell)
        self._plans = Plans(self._tell, knows_names=self._abilities.plans)
        self._meta: Object | None = None
        self.turns.forget_echoes()

    def updates(self, update: Object) -> list[Object]:
        """Translate a v2 update into v1. State updates are handled elsewhere."""
        kind = update.get("sessionUpdate")
        if kind in CHUNKS:
            updates = self._messages.chunk(update)
        elif kind in ("terminal_update", "terminal_output_chunk"):
            return self.calls.terminal(update)
        else:
            updates = self._convert_update(as_text(kind), update)
        rest = self.calls.rest()
        return [*rest, *updates] if rest else updates

    def on_open(self, result: Object) -> tuple[Object, list[Object]]:
        """Translate the answer to a request that opened this session, and the v1 updates after it."""
        bare = without(result, "configOptions", "availableCommands")
        after: list[Object] = []
        if type(result.get("configOptions")) is list:
            bare["configOptions"] = self.learn(result["configOptions"])
            modes = config.modes(self.options)
            if modes is not None:
                bare["modes"] = modes
        if type(result.get("availableCommands")) is list:
            after = self._commands(result)
        return fitting(bare, {"_meta": dict}, self._tell), after

    def learn(self, value: Json) -> list[Object]:
        """Read v2's config options and translate them into v1."""
        self.options = config.options(value, booleans=self._abilities.booleans, report=self._tell)
        self.switches = set() if self._abilities.booleans else config.switches(value)
        return self.options

    def _convert_update(self, kind: str, update: Object) -> list[Object]:
        if kind in WHOLE:
            return self._messages.whole(update)
        if kind == "tool_call_update":
            return self.calls.upsert(update)
        if kind == "tool_call_content_chunk":
            return self.calls.grow(update)
        if kind in ("plan_update", "plan_removed"):
            return self._plans.update(update)
        if kind in self._kinds:
            return self._kinds[kind](update)
        if kind in _SUBAGENTS:
            return self._subagent(update)
        self._tell.note_loss("an update of a kind that v1 does not know", "left out")
        return []

    def _config(self, update: Object) -> list[Object]:
        before = config.mode_option(self.options)
        options = self.learn(update.get("configOptions"))
        updates: list[Object] = [{**update, "configOptions": options}]
        now = config.mode_option(options)
        if now is not None and (before is None or now["currentValue"] != before["currentValue"]):
            # For clients that look at modes and not at options.
            updates.append({"sessionUpdate": "current_mode_update", "currentModeId": now["currentValue"]})
        return updates

    def _commands(self, update: Object) -> list[Object]:
        v1_commands = commands(update.get("availableCommands"), self._tell)
        return [{"sessionUpdate": "available_commands_update", "availableCommands": v1_commands}]

    def _info(self, update: Object) -> list[Object]:
        bare = without(
            fitting(update, {"title": _TEXT_OR_NONE, "updatedAt": _TEXT_OR_NONE}, self._tell), "_meta"
        )
        if "_meta" in update:
            before, self._meta = self._meta, patched_meta(self._meta, update["_meta"])
            if self._meta != before:
                bare["_meta"] = self._meta or {}
        return [bare] if len(bare) > 1 else []

    def _usage(self, update: Object) -> list[Object]:
        if not all(type(n := update.get(name)) is int and 0 <= n < 2**64 for name in ("used", "size")):
            self._tell.note_loss("a malformed usage_update", "left out")
            return []
        if "cost" in update and update["cost"] is None:
            self._tell.note_loss("a cost cleared", "it stays: v1 cannot clear it")
        cost = as_object(update.get("cost"))
        if fits(cost.get("amount"), float) and fits(cost.get("currency"), str):
            return [update]
        return [without(update, "cost")]

    def _notice(self, update: Object) -> list[Object]:
        title, description = as_text(update.get("title")), as_text(update.get("description"))
        if self._abilities.notices and title and fits(update.get("severity"), str):
            return [fitting(update, {"description": _TEXT_OR_NONE, "_meta": (dict, type(None))}, self._tell)]
        if not title:
            self._tell.note_loss("a notice without a title", "left out")
            return []
        self._tell.note_repair(
            "a notice", "said as a message of the agent: the client did not ask for notices"
        )
        text = f"{title}\n\n{description}" if description else title
        return [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}]

    def _compaction(self, update: Object) -> list[Object]:
        if not self._abilities.compaction:
            self._tell.note_loss("news of a compaction", "left out: the client did not ask for it")
            return []
        if not fits(update.get("compactionId"), str):
            return self._malformed_compaction()
        if update["sessionUpdate"] == "compaction_summary_chunk":
            content = block(update.get("content"), self._tell)
            return [] if content is None else [{**update, "content": content}]
        if not fits(update.get("status"), str):
            return self._malformed_compaction()
        if "summary" in update:
            update = {**update, "summary": blocks(update["summary"], self._tell)}
        return [fitting(update, {"error": _TEXT_OR_NONE, "_meta": (dict, type(None))}, self._tell)]

    def _malformed_compaction(self) -> list[Object]:
        self._tell.note_loss("malformed news of a compaction", "left out")
        return []

    def _subagent(self, update: Object) -> list[Object]:
        if self._abilities.subagents:
            return [update]
        self._tell.note_loss("news of subagents", "left out: the client did not ask for it")
        return []


# Translates plans: v2 has any number of named plans in a session, v1 has one.
#
# A client that says so knows v2's plans. For others all lists of steps become one list, and what is no list
# of steps is said as a message.


class Plans:
    """The plans of a session. `knows_names`: whether the client distinguishes plans by their ids."""

    def __init__(self, report: LossReporter, *, knows_names: bool) -> None:
        self._tell = report
        self._knows_names = knows_names
        self._steps: dict[str, list[Object]] = {}

    def update(self, update: Object) -> list[Object]:
        """Translate a `plan_update` or a `plan_removed`."""
        if update["sessionUpdate"] == "plan_removed":
            return self._remove(update)
        plan = as_object(update.get("plan"))
        v1_plan = named_plan(plan, self._tell)
        if v1_plan is None:
            self._tell.note_loss("a plan of a type that v1 does not know", "left out")
            return []
        if self._knows_names:
            return [{**update, "plan": v1_plan}]
        if v1_plan["type"] == "items":
            self._steps[v1_plan["planId"]] = v1_plan["entries"]
            return [self._whole()]
        self._tell.note_repair("a plan that is not a list of steps", "said as a message of the agent")
        text = {"type": "text", "text": plan_text(v1_plan)}
        return [{"sessionUpdate": "agent_message_chunk", "content": text}]

    def _remove(self, update: Object) -> list[Object]:
        if self._knows_names and as_text(update.get("planId")):
            return [update]
        if self._steps.pop(as_text(update.get("planId")), None) is None:
            return []
        return [self._whole()]

    def _whole(self) -> Object:
        if len(self._steps) > 1:
            self._tell.note_repair("several plans", "sent as one list")
        steps = [entry for entries_ in self._steps.values() for entry in entries_]
        return {"sessionUpdate": "plan", "entries": steps}
