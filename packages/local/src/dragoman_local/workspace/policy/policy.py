"""A policy: rules in layers, and the resulting decisions.

Pure: `policy_files` reads the files. The order is: the file of `--policy`, the project's file if its
folder is trusted, the user's file; the first rule that speaks about a question decides, and where none does,
the first `default`, or `ask`. A project that is not trusted can only make that stricter. What would be asked
is then looked up in the answers that a person gave for good, and after that `approve` may answer in the
person's place: `all`, `reads` (the rest is denied, and so is what a rule says to ask) or `none`.

    policy = load_policy(roots=["/project"], approve="reads")
    decision = policy.decide(act)

A command that is made of several is decided one by one, and the strictest decision counts.

Some files make allowed commands run something: whoever may write them may run anything. `git status` runs
what `.git/config` says, a shell what `.bashrc` says, an agent or an editor what its settings say. A write to
such a file is asked about, whatever a rule allows. Files that a project runs by itself (`Makefile`,
`package.json`, tests) are its own code and not guarded: who allows `make` allows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman_local.sandbox import names
from dragoman_local.workspace.policy.act import READS, Act
from dragoman_local.workspace.policy.decision import STRICTNESS, Certainty, Outcome, PolicyDecision, strictest
from dragoman_local.workspace.policy.globs import ANY, RUN, is_known, may_be, names_below
from dragoman_local.workspace.policy.program_calls import name_of
from dragoman_local.workspace.policy.rules import TOO_MANY, ActPart, PolicyRule, parts_of, relevance, touches

_GUARDED: Final = frozenset(
    tuple(name.casefold().split("/"))
    for name in (
        *(".git", ".gitmodules", ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".ssh"),
        *(".claude", ".codex", ".gemini", ".qwen", ".opencode", ".cursor", ".zed", ".kshrc"),
        *(name for name in (*names.PROJECT, *names.HOME) if name != "bin"),
    )
)
"""Names of files, and of folders with all that is in them, wherever they are. What the sandbox does not let
commands write is among them, but for the `bin` at home: in a project that may be anything.
"""

_DECIDING: Final = frozenset({"policy", "inbox", "hub", "agents"})
"""Commands of ours with which a person decides what agents may do."""

_BEGINNINGS: Final = frozenset(guarded[0] for guarded in _GUARDED)


def is_guarded(path: str, *, roots: Sequence[str], knows_head: bool = True) -> bool:
    """Whether a path leads to a guarded file. A `HEAD` makes any folder a repository; to
    git it is a commit.
    """
    parts = tuple(name.casefold() for name in names_below(path, roots))
    begins = [at for at, name in enumerate(parts) if name in _BEGINNINGS]
    if any(parts[at : at + len(guarded)] == guarded for at in begins for guarded in _GUARDED):
        return True
    if any(name.endswith(".git") for name in parts) or (knows_head and parts[-1:] == ("head",)):
        return True
    # A name that may be anything is not a reason: else nothing with a variable in it could be approved.
    vague_names = [name for name in parts if not is_known(name) and name.strip(ANY + RUN)]
    return any(may_be(name, guarded[0]) for name in vague_names for guarded in _GUARDED if len(guarded) == 1)


Approve: TypeAlias = Literal["all", "reads", "none"]

BUILT_IN: Final = "built in"

_NO_RULE: Final = "no rule covers it"


class PolicyLayer(Struct, frozen=True, kw_only=True):
    """The rules of one file."""

    name: str
    rules: tuple[PolicyRule, ...] = ()
    default: Outcome | None = None
    only_stricter: bool = False
    """Whether its author may restrict but not permit."""


class PolicyStep(Struct, frozen=True, kw_only=True):
    """One rule that was considered."""

    rule: str
    decision: Outcome
    objection: str | None
    """The reason why it did not match; None if it did."""


class Policy(Struct, frozen=True, kw_only=True):
    """The rules that apply in some folders; `policy_files.load_policy` reads them from files."""

    layers: tuple[PolicyLayer, ...] = ()
    remembered_rules: tuple[PolicyRule, ...] = ()
    """A person's answers for always, which answer only what would be asked."""
    approve: Approve | None = None
    """Who answers when nobody is asked. None: a person is asked."""
    protected_paths: tuple[str, ...] = ()
    """Files and folders with policies: an agent that may write them may do everything."""

    def decide(self, act: Act) -> PolicyDecision:
        """Return the decision of this policy; the strictest of those on each command in it."""
        return strictest(*(self._decide_part(part) for part in parts_of(act)))

    def explain(self, act: Act) -> Sequence[tuple[str, Sequence[PolicyStep], PolicyDecision]]:
        """Return the same with every rule on the way: command, steps, decision."""
        rules = [rule for layer in self.layers for rule in layer.rules]
        return [
            (
                " ".join(part.words or ()),
                [
                    PolicyStep(rule=rule.label, decision=rule.decision, objection=relevance(rule, part).why)
                    for rule in (*rules, *self.remembered_rules)
                ],
                self._decide_part(part),
            )
            for part in parts_of(act)
        ]

    def about_servers(self) -> Policy:
        """The policy with only the rules that name MCP servers; servers without a rule are allowed, because a
        person named them.
        """
        layers = [
            replace(layer, default=None, rules=tuple(rule for rule in layer.rules if "mcp" in rule.method))
            for layer in self.layers
        ]
        return Policy(layers=(*layers, PolicyLayer(name=BUILT_IN, default="allow")))

    def _decide_part(self, part: ActPart) -> PolicyDecision:
        rules = [rule for layer in self._trusted_layers() for rule in layer.rules]
        doubt, rule_decision = _first_match(rules, part, "this is the first matching rule")
        guards = self._guards(part)
        decision = strictest(
            *doubt,
            rule_decision or self._default(part),
            *(each for layer in self.layers if layer.only_stricter for each in _stricter(layer, part)),
            *(() if guards is None else (guards,)),
        )
        if decision.outcome != "ask":
            return decision
        _, remembered = _first_match(self.remembered_rules, part, "a person answered so for good")
        if guards is None and remembered is not None:
            return remembered
        if self.approve is None:
            return decision
        # Whoever wrote a rule that asks wants a person; only `approve all` speaks for one. Whoever wrote one
        # that denies has spoken: only a person may say that it does not mean this.
        if guards is not None or decision.needs_person or (decision.is_rule and self.approve == "reads"):
            why = f"nobody can be asked here; {decision.why}"
            return PolicyDecision(outcome="deny", rule=decision.rule, why=why)
        return _approved(self.approve, part)

    def _default(self, part: ActPart) -> PolicyDecision:
        why = _with_doubt(_NO_RULE, part)
        for layer in self._trusted_layers():
            if layer.default is not None:
                return PolicyDecision(outcome=layer.default, rule=f"{layer.name} (default)", why=why)
        if part.act.method == "fs/read" and self.approve != "none" and part.act.is_inside:
            return PolicyDecision(outcome="allow", rule=BUILT_IN, why="files of the session may be read")
        return PolicyDecision(outcome="ask", rule=f"{BUILT_IN} default", why=why)

    def _trusted_layers(self) -> Sequence[PolicyLayer]:
        return [layer for layer in self.layers if not layer.only_stricter]

    def _guards(self, part: ActPart) -> PolicyDecision | None:
        """The question about files that decide what agents may do, or what allowed commands run."""
        act = part.act
        if act.method == "mcp" or act.kinds <= READS or part.only_reads:
            return None
        # A word that may be anything is not a reason: else nothing with a variable in it could be approved.
        if touches(self.protected_paths, part, is_sure=True) is not Certainty.NO:
            why = "this would change files that decide what agents may do"
        elif TOO_MANY in part.paths:
            why = "this names more paths than Dragoman checks"
        elif any(
            "dragoman" in map(name_of, words) and not _DECIDING.isdisjoint(words)
            for words in (*part.possible, *part.guesses)
        ):
            why = "this would run Dragoman itself, which decides what agents may do"
        elif any(
            is_guarded(path, roots=act.roots, knows_head=not part.is_git)
            for path in (*part.paths, *part.links)
        ):
            why = "this would change files that make programs run commands, such as .git or agent settings"
        else:
            return None
        return PolicyDecision(outcome="ask", rule=BUILT_IN, why=why, needs_person=True)


_APPROVED: Final[dict[Approve, str]] = {
    "all": "allows everything that no rule denies",
    "reads": "allows only reading in the session's folders",
    "none": "allows nothing without a rule",
}


def _approved(approve: Approve, part: ActPart) -> PolicyDecision:
    """The decision in the place of a person."""
    approves = approve == "all" or (approve == "reads" and part.act.is_read)
    why = f"nobody can be asked here, and --approve {approve} {_APPROVED[approve]}"
    return PolicyDecision(
        outcome="allow" if approves else "deny",
        rule=f"approve {approve}",
        why=why if approves else _with_doubt(why, part),
    )


def _first_match(
    rules: Sequence[PolicyRule], part: ActPart, why: str
) -> tuple[tuple[PolicyDecision, ...], PolicyDecision | None]:
    """The decision of the first rule that applies; before it, a doubt if a rule that denies might apply."""
    doubt: tuple[PolicyDecision, ...] = ()
    for rule in rules:
        result = relevance(rule, part)
        if result.certainty is Certainty.YES:
            return doubt, PolicyDecision(
                outcome=rule.decision, rule=rule.label, why=_about(part, why), is_rule=True
            )
        # Of several doubts the first counts, but one that only a person may dismiss is never behind another.
        if result.certainty is Certainty.PERHAPS and (not doubt or rule.decision == "deny"):
            doubt = (
                PolicyDecision(
                    outcome="ask",
                    rule=rule.label,
                    why=_about(part, result.why or "the rule might apply"),
                    is_rule=True,
                    needs_person=rule.decision == "deny",
                ),
            )
    return doubt, None


def _stricter(layer: PolicyLayer, part: ActPart) -> Sequence[PolicyDecision]:
    doubt, rule_decision = _first_match(layer.rules, part, "the project asks for it")
    if rule_decision is None and layer.default is not None:
        rule_decision = PolicyDecision(outcome=layer.default, rule=f"{layer.name} (default)", why=_NO_RULE)
    return (
        doubt if rule_decision is None or STRICTNESS[rule_decision.outcome] == 0 else (*doubt, rule_decision)
    )


def _about(part: ActPart, why: str) -> str:
    script = part.act.script
    count = 0 if part.words is None or script is None else len(script.commands)
    return why if count < 2 else f"of its {count} commands `{' '.join(part.words or ())}` decides, and {why}"


def _with_doubt(why: str, part: ActPart) -> str:
    return why if part.reason is None else f"{why}; rules with a * do not allow it, because {part.reason}"
