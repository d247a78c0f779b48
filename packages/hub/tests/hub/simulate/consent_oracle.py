"""What must hold where something is at stake, judged from outside.

An effect happens only if a rule allows it, or a person has said yes to exactly this result: once for each
effect, in the turn in which it is wanted, and not after a No to the same. What every policy of its time
denies never happens. No effect is there more often than it was wanted, also over crashes. Nobody hears of a
question before a line of the audit log says that it is asked, nor of anything that its token is not for.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman_hub.gate.admission import Grant, Scope
from dragoman_local.workspace.policy.audit import AuditEntry
from tests.hub.simulate.consent_acts import Act, is_asked_by_rule, verdict_of
from tests.hub.simulate.consent_agents import Asked, Wanted, last_name
from tests.hub.simulate.oracle import Oracle, StreamReading

if TYPE_CHECKING:
    from dragoman_hub.hub import Hub
    from tests.hub.simulate.clients import SimulatedClient
    from tests.hub.simulate.consent_clients import ConsentClient
    from tests.hub.simulate.consent_world import ConsentWorld

SENTENCES = ("An agent ", "A turn ")

ALWAYS = "dragoman:always"
"""The option that the hub adds: the agent hears a yes, and the same is not asked again."""


class Effect(NamedTuple):
    time: float
    name: str
    """Of the act."""
    place: str
    text: str = ""
    old: str | None = None
    path: str = ""


def may(grant: Grant, scope: Scope) -> bool:
    """What a token is for, by its scopes alone: the hub's own reading of them is what is looked at."""
    return scope in grant.scopes or (scope == "observe" and bool(grant.scopes & {"prompt", "admin"}))


class Consent(NamedTuple):
    """A person's answer to a question of the hub's own."""

    time: float
    name: str
    option: str
    text: str
    place: str


class Always(NamedTuple):
    """What a person wants no question about any more, in sessions of one agent in one folder."""

    time: float
    subject: str
    place: str
    where: tuple[str, str] | None


class ConsentOracle(Oracle):
    _world: ConsentWorld

    def __init__(self, world: ConsentWorld) -> None:
        super().__init__(world)
        self.effects: list[Effect] = []
        self.consents: list[Consent] = []
        self._always: list[Always] = []
        self.seen: dict[tuple[str, str], None] = {}
        """Questions that were shown to somebody: session and request."""
        self._lines: list[tuple[float, AuditEntry, bool]] = []
        self._asked_lines: set[tuple[str, str]] = set()
        self._all_lines: set[tuple[str, str]] = set()
        self._unwritten: list[tuple[str, str]] = []
        self._tickets: set[str] = set()

    def _now(self) -> float:
        return self._world.loop.time()

    # Rights.

    def reaches(self, grant: Grant, session: str) -> bool:
        place = self._world.book.places.get(session)
        if place is None:
            return True  # nobody has made it
        agent, cwd = place
        is_agent = not grant.agents or agent in grant.agents
        return is_agent and (not grant.roots or any(f"{cwd}/".startswith(f"{root}/") for root in grant.roots))

    def is_deleted(self, session: str) -> bool:
        """A child is deleted with its parent."""
        return super().is_deleted(self._world.book.parents.get(session, session))

    # What hubs do.

    def on_write(self, path: str, text: str, old: str | None) -> None:
        place = os.path.basename(os.path.dirname(path))
        self._effect(Effect(self._now(), last_name(text), place, text, old, path))

    def on_run(self, words: tuple[str, ...], cwd: str) -> None:
        self._effect(Effect(self._now(), last_name(" ".join(words)), os.path.basename(cwd)))

    def _effect(self, effect: Effect) -> None:
        self.effects.append(effect)
        self._world.on_effect()
        self._world.story.tell("disk", f"EFFECT {effect.name} in {effect.place}")

    def on_audit_line(self, line: AuditEntry, *, is_written: bool) -> None:
        self._lines.append((self._now(), line, is_written))
        if line.outcome == "ask":
            self._asked_lines |= {(line.session, line.title), (line.session, line.command or "")}
        self._all_lines |= {(line.session, line.title), (line.session, line.command or "")}

    # What people see and say.

    def on_question(self, grant: Grant, session: str, params: dict[str, Any], how: str) -> None:
        """Somebody hears of a question."""
        call = params.get("toolCall")
        if not isinstance(call, dict):
            return
        ours = params.get("_meta", {}).get("dragoman", {})
        session = str(ours.get("child", session))
        name = str(call["toolCallId"])
        act, begin = self._act_of(name, call)
        raw = call.get("rawInput") or {}
        title = name
        if name.startswith("hub-"):
            title = str(raw.get("command") or raw.get("path"))
        elif act is None:
            title = str(call.get("title"))
        finding = f"{grant.name} hears of {name} {title} in {session} by {how} before it is written down"
        if how == "an event":  # it tells what was, also of a question that ended before it was judged
            if (session, title) not in self._all_lines:
                self._unwritten.append((name, finding))
        elif (session, title) not in self._asked_lines:
            self._find(finding)
        if act is not None and how != "an event" and self._verdicts(act, begin, self._now()) == {"deny"}:
            self._find(f"{grant.name} hears of {name} by {how}, which the rules deny")

    def _act_of(self, name: str, call: dict[str, Any]) -> tuple[Act | None, float]:
        """The act that a question is about, and when an agent has begun to want it."""
        book = self._world.book
        question = book.questions.get(name)
        if question is not None:
            return question.act, question.sent
        wants = [one for one in book.wanted if one.act.name == _shown(call)[0]]
        return (wants[-1].act, wants[0].sent) if wants else (None, 0.0)

    def on_choice(self, grant: Grant, session: str, params: dict[str, Any], option: str) -> None:
        call = params.get("toolCall")
        if not isinstance(call, dict) or not may(grant, "approve") or not self.reaches(grant, session):
            return
        name = str(call["toolCallId"])
        if option == ALWAYS:
            option = "allow"
            act_of, _ = self._act_of(name, call)
            if act_of is not None:
                book = self._world.book
                wants = [one for one in book.wanted if one.act == act_of]
                # By the agent's name of the session: the hub may call it otherwise.
                question = book.questions.get(name)
                where = book.places.get(wants[-1].session if question is None else question.session)
                self._always.append(Always(self._now(), act_of.subject, act_of.place, where))
        self.chosen.setdefault(name, set()).add(option)
        if name.startswith("hub-"):
            act, text, place = _shown(call)
            self.consents.append(Consent(self._now(), act, option, text, place))

    def on_pushed(self, grant: Grant, hub: Hub, message: dict[str, Any]) -> None:
        session = message["session"]
        if not self.reaches(grant, session):
            self._find(f"the device {grant.name} hears of {session}, which is not for it")
        if not message["text"].startswith(SENTENCES):
            self._find(f"the device {grant.name} is told {message['text']!r}")
        if "allow" in message and not may(grant, "approve"):
            self._find(f"the device {grant.name} has a ticket, and may not answer")
        number = int(message["about"]) if message["about"].isdigit() else 0
        lives = [live for live in hub.sessions.values() if live.root.id == session]
        asked = [(live.id, request) for live in lives if (request := live.state.requests.get(number))]
        # A session and its child may have a question of the same number: then nobody knows which it is.
        if len(asked) == 1 and asked[0][1].is_question:
            self.on_question(grant, asked[0][0], _plain(asked[0][1].params), "push")

    def on_ticket(self, secret: str) -> None:
        """A device may answer with it."""
        if secret in self._tickets:
            self._find("a ticket was good twice")
        self._tickets.add(secret)

    def on_lent(self, client: ConsentClient, params: dict[str, Any]) -> None:
        """A client is asked for its files: the turn must be its own."""
        name = last_name(str(params.get("content", ""))) or os.path.basename(str(params["path"]))
        turns = {want.turn for want in self._world.book.wanted if want.act.name == name}
        turns = turns or {name.partition(".")[0]}
        if not any(turn.startswith(f"{client.name}-") for turn in turns):
            self._find(f"{client.name} is asked for files in the turn {sorted(turns)}, which is not its own")

    def on_client_write(self, params: dict[str, Any]) -> None:
        name = last_name(params["content"])
        act = self._world.book.acts[name]
        wants = [one.sent for one in self._world.book.wanted if one.act.name == name]
        verdicts = self._verdicts(act, min(wants), self._now())
        self._world.story.tell("client", f"EFFECT {name} in {act.place}")
        if verdicts == {"deny"}:
            self._find(f"{name} was given to a client, and the rules deny it")
        policies = self._world.policies_in(min(wants), self._now())
        yes = [one for one in self.consents if one.name == name and one.option == "allow"]
        asked = all(is_asked_by_rule(act, policy) for policy in policies)
        if asked and "allow" not in verdicts and not yes and not self._granted(name):
            self._find(f"{name} was given to a client, and nobody was asked as the rules demand")

    def _granted(self, name: str) -> bool:
        return any(asked.act.name == name for asked in self._world.book.questions.values())

    # At rest.

    def judge(self, streams: dict[str, StreamReading], observer: SimulatedClient) -> None:
        super().judge(streams, observer)
        self._judge_effects()
        self._judge_echoes()
        for name, finding in self._unwritten:
            if self._world.book.heard.get(name, (0.0, ""))[1]:
                self._find(finding)

    def _verdicts(self, act: Act, begin: float, end: float) -> set[str]:
        """What the rules may have said, and what people have answered for good until then."""
        verdicts: set[str] = {verdict_of(act, policy) for policy in self._world.policies_in(begin, end)}
        if "ask" in verdicts and any(
            (each.subject, each.place) == (act.subject, act.place)
            and each.time <= end
            and each.where in self._sessions_of(act)
            for each in self._always
        ):
            verdicts.add("allow")
        return verdicts

    def _sessions_of(self, act: Act) -> set[tuple[str, str] | None]:
        """Agent and folder of the sessions in which it was wanted or asked about."""
        book = self._world.book
        sessions = [one.session for one in book.wanted if one.act == act]
        sessions += [one.session for one in book.questions.values() if one.act == act]
        return {book.places.get(session) for session in sessions}

    def _judge_questions(self) -> None:
        book = self._world.book
        others = {}
        for name, answers in book.answers.items():
            asked = book.questions.get(name)
            if asked is None or name not in book.heard:
                others[name] = answers
                if not all(is_written for _, _, is_written in self._lines):
                    self.chosen.setdefault(name, set()).add("reject")  # for want of an audit log
                continue
            time, option = book.heard[name]
            verdicts = self._verdicts(asked.act, asked.sent, time)
            if option == "allow" and verdicts == {"deny"}:
                self._find(f"the agent's question {name} was answered with allow, and the rules deny it")
            if option == "allow" and "allow" not in verdicts and "allow" not in self.chosen.get(name, set()):
                self._find(f"the agent's question {name} was answered with allow, which nobody said")
        book.answers, answers_of_all = others, book.answers
        super()._judge_questions()
        book.answers = answers_of_all

    def _judge_effects(self) -> None:
        book = self._world.book
        used: set[object] = set()
        counts: dict[str, int] = {}
        for effect in self.effects:
            wants = [one for one in book.wanted if one.act.name == effect.name and one.sent <= effect.time]
            counts[effect.name] = counts.get(effect.name, 0) + 1
            if not wants:
                self._find(f"{effect.name} was done, and no agent wanted it")
                continue
            refused = [time for time in book.refused.get(effect.name, ()) if time < effect.time]
            if counts[effect.name] > len(wants) - len(refused):
                self._find(
                    f"{effect.name} was done {counts[effect.name]} times, wanted {len(wants)} times "
                    f"and refused {len(refused)} times"
                )
            self._judge_effect(effect, wants, used)
            self._judge_line(effect, wants)
        for name, count in book.done.items():
            if self._world.options.files == "hub" and count > counts.get(name, 0):
                self._find(f"an agent was told that {name} is done, and it is not")

    def _judge_effect(self, effect: Effect, wants: list[Wanted], used: set[object]) -> None:
        act = wants[-1].act
        verdicts = self._verdicts(act, wants[0].sent, effect.time)
        if verdicts == {"deny"}:
            self._find(f"{effect.name} was done, and the rules deny it")
        elif "allow" not in verdicts and not self._use_consent(effect, wants, used):
            self._find(f"{effect.name} was done in {effect.place}, and nobody has allowed it so")

    def _use_consent(self, effect: Effect, wants: list[Wanted], used: set[object]) -> bool:
        for asked in self._world.book.questions.values():
            if asked.name not in used and self._allows(asked, effect, wants):
                used.add(asked.name)
                return True
        for place, yes in enumerate(self.consents):
            is_same = (yes.name, yes.text, yes.place) == (effect.name, effect.text, effect.place)
            if is_same and yes.option == "allow" and yes.time < effect.time and place not in used:
                used.add(place)
                return True
        return False

    def _allows(self, asked: Asked, effect: Effect, wants: list[Wanted]) -> bool:
        """Whether an agent's question that was answered with yes is about this effect."""
        book = self._world.book
        if asked.act.name != effect.name or asked.act.place != effect.place or asked.sent > effect.time:
            return False
        if asked.turn not in {want.turn for want in wants}:
            return False
        time, option = book.heard.get(asked.name, (0.0, "allow" if self._may_be_allowed(asked) else ""))
        if option != "allow" or _result(asked, effect.old) != effect.text:
            return False
        noes = [
            heard
            for other in book.questions.values()
            if other.act.name == effect.name and other.session == asked.session
            for heard, said in (book.heard.get(other.name, (0.0, "")),)
            if said == "reject"
        ]
        noes += book.refused.get(effect.name, ())
        return not any(time < no < want.sent for no in noes for want in wants[:1])

    def _may_be_allowed(self, asked: Asked) -> bool:
        """Nobody knows what came of a question whose agent has died before it heard it."""
        verdicts = self._verdicts(asked.act, asked.sent, self._now())
        return "allow" in verdicts or "allow" in self.chosen.get(asked.name, set())

    def _judge_line(self, effect: Effect, wants: list[Wanted]) -> None:
        """Each effect has a line of its own that says so, before it."""
        command = f"{wants[-1].act.program} {effect.name}"
        lines = [
            line
            for time, line, is_written in self._lines
            if is_written and time <= effect.time and line.outcome == "allow"
            if (line.title == effect.path and line.method == "fs/write")
            or (line.command == command and line.method == "terminal")
        ]
        same = [
            one
            for one in self.effects
            if one.time <= effect.time
            and (one.path == effect.path if effect.path else one.name == effect.name)
        ]
        if len(lines) < len(same):
            self._find(f"{effect.name} was done before the audit log had it")

    def _judge_echoes(self) -> None:
        """What was prompted is told once."""
        for client in self._world.clients:
            for segment in client.segments:
                is_whole = segment.how != "session/load" or segment.earlier is None
                if is_whole and segment.session not in self.closed:
                    twice = [text for text in segment.echoes if segment.echoes.count(text) > 1]
                    if twice:
                        self._find(f"{client.name} was told {twice[0]} of {segment.session} twice")


def _plain(params: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(params))
    return found


def _shown(call: dict[str, Any]) -> tuple[str, str, str]:
    """The act that a question of the hub's own shows: its name, its text and its place."""
    raw = call.get("rawInput") or {}
    if "command" in raw:
        return last_name(raw["command"]), "", os.path.basename(str(raw.get("cwd", "")))
    for item in call.get("content") or ():
        if item.get("type") == "diff":
            return (
                last_name(item["newText"]),
                item["newText"],
                os.path.basename(os.path.dirname(item["path"])),
            )
    return "", "", ""


def _result(asked: Asked, old: str | None) -> str:
    """What a file would hold after the change that was shown."""
    before, after = asked.shown
    if asked.act.kind == "run":
        return ""
    return after if before is None else (old or "").replace(before, after, 1)
