"""Decides on one action of an agent, for `run`, `chat`, interpreters and the hub.

A `PermissionJudge` decides in this order: the policy with its remembered answers, then permissions that were
granted once for the same act. What remains is `ask`, and whoever owns the judge asks a person. Every decision
goes through `settle`, which writes it to the audit log before it takes effect; a decision that cannot be
written permits nothing.

It blocks for as long as a line of the log takes. It asks nobody and knows no connection: a `PermissionPrompt`
is for whoever does.

A grant holds what was shown: the command with its folder and variables, or the change of a file. It is used
up by one act and ends with its turn. A No to the same act ends it, too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Final, Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.system.files import open_regular
from dragoman_local.workspace.kernel import is_kernel_made
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy import globs
from dragoman_local.workspace.policy.act import READS, Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_command, act_of_file
from dragoman_local.workspace.policy.act_view import ActView
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, By, audit_entry
from dragoman_local.workspace.policy.decision import PolicyDecision, choose_option, usable_options
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import (
    NOT_KEPT,
    RememberedRules,
    allow_line,
    cover_text,
    rule_text,
)
from dragoman_local.workspace.policy.policy_parser import PolicyError, read_policy
from dragoman_local.workspace.policy.program_calls import AGENT_MARKS
from dragoman_local.workspace.policy.rules import places_in
from dragoman_local.workspace.policy.shell import whole_line
from dragoman_local.workspace.policy.tool_inputs import FileChange, result_of, texts_of

MOST_GRANTS: Final = 256
"""The most unused permissions; the oldest are forgotten, and asked about again."""


class Grant(Struct, frozen=True, kw_only=True):
    """Permission to read or change one file once, or to run one command once."""

    about: tuple[str, str]
    """Its session, and the file or the command."""
    verb: str
    changes: tuple[FileChange, ...] = ()
    """The shown change of the file."""


class Grants:
    """The unused permissions of any number of sessions, for several threads."""

    def __init__(self) -> None:
        self._grants: deque[Grant] = deque(maxlen=MOST_GRANTS)
        self._lock = threading.Lock()

    def add(self, act: Act) -> None:
        """Add a permission after a yes to an agent's request."""
        with self._lock:
            self._grants.extend(grants_in(act))

    def take_back(self, act: Act) -> None:
        """Remove the permission after a no."""
        refused = {grant.about for grant in grants_in(act)}
        self._keep(lambda grant: grant.about not in refused)

    def use(self, act: Act) -> bool:
        """Return whether the file or command was permitted before. This uses up the permission of a command
        or change.
        """
        with self._lock:
            given = self._given(act)
            for want, grant in given:
                # Whoever may change a file may look at it first, and then still change it.
                if grant.verb == want.verb:
                    self._grants.remove(grant)
        return bool(given)

    def holds(self, act: Act) -> bool:
        """Return whether the permission is there, without using it up."""
        with self._lock:
            return bool(self._given(act))

    def _given(self, act: Act) -> list[tuple[Grant, Grant]]:
        """Each part of an act with the permission for it; nothing if any part has none."""
        wanted = grants_in(act)
        found = [next((each for each in self._grants if _gives(each, want)), None) for want in wanted]
        pairs = zip(wanted, found, strict=True)
        return [] if None in found else [(want, each) for want, each in pairs if each is not None]

    def forget(self, is_over: Callable[[str], bool] = lambda _: True) -> None:
        """Forget the permissions of ended turns: of all sessions, or of some."""
        self._keep(lambda grant: not is_over(grant.about[0]))

    def _keep(self, is_kept: Callable[[Grant], bool]) -> None:
        with self._lock:
            self._grants = deque(filter(is_kept, self._grants), maxlen=MOST_GRANTS)


def _gives(grant: Grant, want: Grant) -> bool:
    """Whether what is wanted was granted: of a write, its result. It is one change, of the file as it is."""
    if grant.about != want.about or want.verb != "edit":
        return grant.about == want.about
    results = [result_of(grant.changes, change.old) for change in want.changes]
    # What cannot be applied has no result, nor has a patch a text: only the very same will do.
    is_shown = None not in results and results == [change.new for change in want.changes]
    return want.changes != () and (is_shown or grant.changes == want.changes)


def grants_in(act: Act) -> list[Grant]:
    """The comparable parts of an act: files, or one command. A yes to changes that the agent has not told in
    one way is no yes to any of them.
    """
    if act.script is not None:
        return [Grant(about=(act.session_id, _command(act)), verb="run")]
    verb = "edit" if act.kinds <= {"edit"} else "read"
    return [
        Grant(
            about=(act.session_id, path),
            verb=verb,
            changes=tuple(change for change in act.changes if change.path == path),
        )
        for path in act.real_paths
        if (not act.doubts if verb == "edit" else act.kinds <= READS)
    ]


def _command(act: Act) -> str:
    """The same line elsewhere, or with other variables, is another command: what is run may look at any of
    them, however harmless it is to programs that we know. Agents that mark all their commands do not say so
    when they ask.
    """
    assert act.script is not None
    return repr((whole_line(act.script), act.real_start, sorted(set(act.variables) - AGENT_MARKS)))


log = logging.getLogger(__name__)

SHOWN_BEFORE: Final = 1024 * 1024
"""The most bytes of a file whose current content is added to an act that writes it."""

MOST_LOOKUPS: Final = 1000
"""The most paths in a command to look up on the disk."""

MOST_ENTRIES: Final = 10_000
"""The most names of folders to compare with the patterns of a command."""

LENT_OPTIONS: Final = (
    v1.PermissionOption(option_id="allow", name="Yes, this once", kind="allow_once"),
    v1.PermissionOption(option_id="always", name="Yes, always", kind="allow_always"),
    v1.PermissionOption(option_id="reject", name="No", kind="reject_once"),
)
"""The options for an agent's use of files and terminals."""


class PermissionPrompt(Struct, frozen=True, kw_only=True):
    """One permission question to a person."""

    act: Act
    decision: PolicyDecision
    """The reason for the question."""
    view: ActView
    """The whole act, for drawing it."""
    options: tuple[v1.PermissionOption, ...]
    """The possible answers. Their names are the agent's text, except for `own`."""
    own: v1.PermissionOption | None = None
    """Our own option for always, if the agent has none: the agent gets a yes for once."""
    meta: object = None
    """`_meta` of the request, if there was one."""

    @property
    def text(self) -> str:
        """Return the view as text. Drawing a large change takes time."""
        return self.view.text

    @property
    def texts(self) -> tuple[v1.Diff, ...]:
        """The new content of files, for the reviewer's rules."""
        return texts_of(self.act.changes, self.view.remarks)


class Settlement(NamedTuple):
    """The result of a decision after it was logged."""

    decision: PolicyDecision
    option: str | None
    """The option for the agent; None means that none was chosen."""
    kept: str = ""
    """The stored rule, if it is remembered."""


class PermissionChoice(Struct, frozen=True, kw_only=True):
    """A person's answer, where several people can give it."""

    option_id: str | None
    by: By = "person"
    person: str = ""
    """The name of the person in the audit log."""
    settlement: Settlement | None = None
    """The result, if it is already stored."""


Asker: TypeAlias = Callable[[PermissionPrompt], Awaitable[PermissionChoice | str | None]]
"""Asks people: returns the chosen option, or None. Cancelling it withdraws the question."""


class PermissionJudge:
    """Decides permissions, for any number of sessions. Constructing reads and writes nothing."""

    def __init__(
        self,
        *,
        audit: AuditLog | None = None,
        remembered_rules: RememberedRules | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_line: Callable[[Act, AuditEntry], object] = lambda act, line: None,
    ) -> None:
        """`on_line` is called with each written line, in the thread that wrote it."""
        self._audit = audit
        self._on_line = on_line
        self._remembered_rules = remembered_rules
        self._now = now
        self.grants, self.retries = Grants(), Grants()
        # A lock is there for as long as somebody holds it or waits for it.
        self._turnstiles: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def decide(self, act: Act, policy: Policy) -> PolicyDecision:
        """Return the decision of the rules, the remembered answers and the given permissions; `ask` if there
        is none.

        A granted permission is used up by the decision that it makes. `retries` holds what a person allowed
        after it was denied: the next try of the same act.
        """
        decision = policy.decide(act)
        is_granted = decision.outcome != "allow" and (
            (act.method != "permission" and self.grants.use(act)) or self.retries.use(act)
        )
        # A person may have allowed it since. A rule that denies still holds.
        if not is_granted or replace(policy, approve=None).decide(act).outcome != "ask":
            return decision
        why = "a request for permission, or another try, was granted for it"
        return PolicyDecision(outcome="allow", rule=decision.rule, why=why)

    def settle(
        self,
        act: Act,
        decision: PolicyDecision,
        options: Sequence[v1.PermissionOption],
        option: str | None,
        *,
        by: By,
        person: str = "",
    ) -> Settlement:
        """Store a decision. An `allow` without an option, or that can't be stored, becomes a `deny`."""
        if decision.outcome == "allow" and option is None:
            decision = _deny(decision, f"{decision.why}; but no option that was offered says so")
        is_written = self.write(act, decision, by=by, person=person, option=option)
        if not is_written and decision.outcome == "allow":
            decision = _deny(decision, "the audit log cannot be written")
            option = choose_option("deny", options)
        if decision.outcome != "allow":
            self.grants.take_back(act)
            if by == "person":
                self.retries.take_back(act)  # also where the yes for the next try came while this was open
        elif act.method == "permission":
            self.grants.add(act)
        return Settlement(decision, option)

    def write(
        self,
        act: Act,
        decision: PolicyDecision,
        *,
        by: By,
        option: str | None,
        person: str = "",
    ) -> bool:
        """Append one line to the audit log, if there is one; return whether that succeeded."""
        line = audit_entry(act, decision, by=by, person=person, option=option, time=self._now())
        is_written = self._audit is None or self._audit.has_written(line)
        if is_written:
            self._on_line(act, line)
        return is_written

    def note(
        self, act: Act, decision: PolicyDecision, *, outcome: Literal["ask", "deny"], by: By = "policy"
    ) -> PolicyDecision:
        """Store a question or its end. These permit nothing, so a failure changes nothing."""
        why = decision.why if outcome == "ask" else why_of(None, by)
        noted = PolicyDecision(outcome=outcome, rule=decision.rule, why=why)
        self.write(act, noted, by=by, option=None)
        return noted

    # Answers that are given for good.

    def settle_choice(self, prompt: PermissionPrompt, choice: PermissionChoice, policy: Policy) -> Settlement:
        """Store a person's answer, and remember it if it is for always, before it takes effect."""
        act, options = prompt.act, prompt.options
        kind = next(
            (each.kind for each in usable_options(options) if each.option_id == choice.option_id), None
        )
        outcome: Literal["allow", "deny"] = "allow" if kind in ("allow_once", "allow_always") else "deny"
        answer = PolicyDecision(outcome=outcome, rule=prompt.decision.rule, why=why_of(kind, choice.by))
        if choice.by == "deadline":
            answer = self.with_remedy(act, answer, policy)
        option = None if kind is None else choice.option_id
        settlement = self.settle(act, answer, options, option, by=choice.by, person=choice.person)
        if settlement.decision.outcome == outcome and kind in ("allow_always", "reject_always"):
            settlement = settlement._replace(kept=self._remember(act, outcome, policy))
        if prompt.own is not None and settlement.option == prompt.own.option_id:
            return settlement._replace(option=choose_option("allow", options))
        return settlement

    def _remember(self, act: Act, outcome: Literal["allow", "deny"], policy: Policy) -> str:
        """Keep an answer as a rule; the rule, or nothing if it was not kept. The answer counts also if it was
        not: the next question of its kind is then asked again.
        """
        if self._remembered_rules is None or not self._would_hold(act, outcome, policy):
            return ""
        try:
            return self._remembered_rules.remember(act, outcome, now=self._now()) or ""
        except (OSError, PolicyError) as error:
            log.warning("an answer could not be kept: %s", error)
            return ""

    def offer(
        self, act: Act, options: Sequence[v1.PermissionOption], policy: Policy
    ) -> tuple[tuple[v1.PermissionOption, ...], v1.PermissionOption | None, str]:
        """Return the possible answers with our own, and the effect of a yes for always, as a sentence."""
        usable = tuple(usable_options(options))
        kinds = [option.kind for option in usable]
        would_hold = self._would_hold(act, "allow", policy)
        names = (f"dragoman:always{'+' * times}" for times in range(len(options) + 1))
        own = None
        if would_hold and "allow_once" in kinds and "allow_always" not in kinds:
            free = next(name for name in names if all(name != option.option_id for option in options))
            own = v1.PermissionOption(option_id=free, name="Yes, and remember it here", kind="allow_always")
        always = (cover_text(act) if would_hold else NOT_KEPT) if own or "allow_always" in kinds else ""
        return usable if own is None else (*usable, own), own, always

    def _would_hold(self, act: Act, outcome: Literal["allow", "deny"], policy: Policy) -> bool:
        """Whether an answer can be kept, and would then answer this act: where the policy wants a person, it
        asks whatever is remembered.
        """
        text = None if self._remembered_rules is None else rule_text(act, outcome, now=self._now())
        if text is None:
            return False
        return (
            replace(policy, remembered_rules=read_policy(text, "the answer").rules).decide(act).outcome
            == outcome
        )

    def with_remedy(self, act: Act, decision: PolicyDecision, policy: Policy) -> PolicyDecision:
        """Return a denial with the command line that would allow it for always, if there is one."""
        line = allow_line(act)
        return replace(decision, remedy=line) if self._would_hold(act, "allow", policy) else decision

    def turnstile(self, session_id: str) -> asyncio.Lock:
        """A lock for decisions outside the event loop, so that questions of a session stay in order."""
        return self._turnstiles.setdefault(session_id, asyncio.Lock())

    def take_back(self, act: Act, settlement: Settlement) -> None:
        """Cancel a permission whose request ended before the answer counted."""
        self.grants.take_back(act)
        if self._remembered_rules is not None and settlement.kept:
            self._remembered_rules.take_back(settlement.kept)


def act_of_access(access: Access, setting: ActContext) -> Act:
    """Return the act of an agent's access to a file or terminal of Dragoman."""
    command = access.command
    if command is not None:
        return act_of_command(
            command.words,
            setting,
            line=command.shell_line,
            cwd=command.cwd,
            variables=command.assignments or command.env_names,
            session_id=access.session_id,
        )
    kind = access.kind if access.kind in ("write", "search") else "read"
    return act_of_file(kind, access.path, setting, session_id=access.session_id, text=access.text)


def with_real_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths as written, and their real targets."""
    return tuple(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths if "\0" not in path)]))


def resolve(act: Act, *, reads: bool = True, real_path: Callable[[str], str] = os.path.realpath) -> Act:
    """Return an act with facts from the disk: the real targets of its paths and of links in its command, the
    start folder of its command, and the current content of a file that it writes, unless the file is on
    another machine (`reads`). Blocks. Whoever resolves many acts at once has a `real_path` that remembers.
    """
    real = {path: real_path(path) for path in act.paths if "\0" not in path}
    changes = [
        replace(
            change,
            path=real.get(change.path, change.path),
            old=_text_of(change.path) if act.method == "fs/write" and reads else change.old,
        )
        for change in act.changes
    ]
    links = tuple(dict.fromkeys(_links_in(act, real_path))) if reads else ()
    folders = () if act.script is None or not act.roots else act.folders()[1:]
    leaves = [real for path, real in links if path in folders and not act.is_in_roots(real)]
    doubts = [f"a link leads to a folder outside the session: {folder}" for folder in leaves[:1]]
    return replace(
        act,
        paths=tuple(dict.fromkeys([*act.paths, *real.values()])),
        real_paths=tuple(dict.fromkeys(real.values())),
        real_start="" if act.script is None else real_path(act.start),
        changes=tuple(changes),
        links=links,
        doubts=(*act.doubts, *doubts),
    )


def _links_in(act: Act, real_path: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Paths in a command that are links or lead through one, whether or not a file is there, with their real
    targets. What is not known of a name stays so; the links that a pattern finds are looked for on the disk.
    """
    looks = iter(range(MOST_ENTRIES))
    for folder, text in islice(places_in(act), MOST_LOOKUPS):
        for known, rest in _found_by(os.path.join(folder, os.path.expanduser(text)), looks):
            if "\0" not in known and (real := known and real_path(known)) != os.path.normpath(known):
                yield globs.absolute(text, folder, home=act.home), real + rest


def _found_by(path: str, looks: Iterator[int]) -> Iterator[tuple[str, str]]:
    """What a path may be, as far as it is known, and what stays open of it. A pattern may be all that it
    finds now; where that is too much to look at, it may be a link to anything.
    """
    waiting = [path]
    while waiting:
        spelled = waiting.pop()
        known = "/".join(takewhile(globs.is_known, spelled.split("/")))
        yield known or "/", spelled[len(known) :]
        name, slash, rest = spelled[len(known) + 1 :].partition("/")
        if not name or globs.has_unknown_part(name):
            continue
        with suppress(OSError), os.scandir(known or "/") as entries:
            for entry in entries:
                if next(looks, None) is None:
                    yield "", f"/{globs.ANY}"
                    return
                is_found = globs.may_be(name, globs.literal(entry.name))
                if is_found and (entry.is_dir() if rest else entry.is_symlink()):
                    waiting.append(f"{known}/{entry.name}{slash}{rest}")


def _text_of(path: str) -> str | None:
    """The present text of a file, if people can read it. Files that the kernel makes up hold our secrets."""
    try:
        with open_regular(path) as file:
            if is_kernel_made(file.fileno()):
                return None
            data = file.read(SHOWN_BEFORE + 1)
        return data.decode() if len(data) <= SHOWN_BEFORE else None
    except (OSError, UnicodeDecodeError):
        return None


_ENDS: Final = {"deadline": "nobody answered in time", "cancel": "the question was taken back"}


def why_of(kind: str | None, by: By) -> str:
    """Return the reason for the decision of a question; `kind` is that of the chosen option."""
    return _ENDS.get(by) or ("a person chose nothing" if kind is None else "a person said so")


def _deny(decision: PolicyDecision, why: str) -> PolicyDecision:
    return PolicyDecision(outcome="deny", rule=decision.rule, why=why)
