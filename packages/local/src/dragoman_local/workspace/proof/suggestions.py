"""Suggests rules that would avoid most permission requests and allow nothing that a person refused.

    for suggestion in suggest(verdicts, policy_in, source="/home/me/.config/dragoman/policy.toml"): ...

A rule is as small as what it is for. A command is written out to its last word, for its agent and folder;
only a program that reads, and shows no files, holds everywhere, and may get a star. Edits are files of a
project, or a folder of it. No rule is for what makes other commands run something: files that are guarded,
files that build tools run, programs that change what hooks, links and other users run.

Whether a rule saves a question, and whether it allows what was refused, the judge says.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dragoman.text.sanitize import sanitize_line
from dragoman_local.workspace.policy.act import READS, Act
from dragoman_local.workspace.policy.commands import literal_pattern
from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.globs import literal, names_below
from dragoman_local.workspace.policy.policy import Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_files import place_patterns, toml_value
from dragoman_local.workspace.policy.policy_parser import read_policy
from dragoman_local.workspace.policy.program_calls import read_call
from dragoman_local.workspace.policy.rules import PolicyRule, parts_of, relevance
from dragoman_local.workspace.proof.policy_trial import Verdict, without_names

LEAST: Final = 2
"""The least questions that a rule must save: a single one may never come again."""

EXAMPLES: Final = 2

_SHOWS_NO_FILES: Final = frozenset({"git", "ls", "pwd", "which", "whoami", "date", "uname", "du", "df", "wc"})
"""Programs that read, and of which a star does not give away what any file holds."""

_ARMS: Final = frozenset(
    {
        *(
            "sudo",
            "su",
            "doas",
            "ssh",
            "npx",
            "bunx",
            "uvx",
            "pipx",
            "crontab",
            "at",
            "systemctl",
            "launchctl",
        ),
        *("direnv", "husky", "pre-commit", "lefthook", "chmod", "chown", "ln", "alias", "dragoman"),
    }
)
"""Programs that run what they fetch, run it as somebody else, or change what other commands run."""

_ARMS_GIT: Final = frozenset({"config", "init", "clone", "submodule", "remote", "worktree", "hook"})

_RUN_BY_OTHERS: Final = frozenset(
    {
        *("makefile", "gnumakefile", "justfile", "rakefile", "dockerfile", "jenkinsfile", "cmakelists.txt"),
        *("package.json", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py"),
        *("cargo.toml", "build.rs", "build.gradle", "build.gradle.kts", "pom.xml", "taskfile.yml", "go.mod"),
        *(
            "sitecustomize.py",
            "compose.yaml",
            "docker-compose.yml",
            "node_modules",
            "scripts",
            "bin",
            "hooks",
        ),
    }
)
"""Names that build tools and installers run something of; no rule for edits begins with one."""


class Suggestion(Struct, frozen=True, kw_only=True):
    """Rules that belong together, and the questions that they save."""

    text: str
    """The rules in the form of a policy."""
    saves: int
    examples: tuple[str, ...]
    runs_code: bool = False
    """Whether it allows a command that may run code written by the agent."""


class _Need(NamedTuple):
    """One condition that a question wants allowed."""

    kind: Literal["command", "edit", "read"]
    pattern: str
    agent: str = ""
    project: str = ""
    folder: str = ""
    runs_code: bool = False


PolicyIn = Callable[[tuple[str, ...]], Policy]


def suggest(
    verdicts: Sequence[Verdict], policy_in: PolicyIn, *, source: str, least: int = LEAST
) -> Iterator[Suggestion]:
    """Suggest rules, the best first. They would be appended to `source`; each must save `least` questions."""
    asked = [each for each in verdicts if _is_spared(each)]
    refused = {without_names(each.act) for each in verdicts if each.recorded.answer == "deny"}
    parts = {act: parts_of(act) for act in refused}
    narrow, needs = _needs_of(asked, policy_in, may_widen=least > 1)
    chosen: set[_Need] = set()
    rules: tuple[PolicyRule, ...] = ()
    groups: dict[frozenset[_Need], list[int]] = {}
    order: list[frozenset[_Need]] = []
    while needs:
        if not order:  # until something is chosen, what is left keeps its place
            groups = _groups_of(needs, chosen)
            # By what one condition more saves; equals are in a fixed order.
            order = sorted(
                groups,
                key=lambda need: (len(groups[need]) / len(need), len(groups[need]), sorted(need)),
            )
        best = order.pop()
        wanted = groups[best] if len(best) == 1 else needs
        covered = [at for at in wanted if at in needs and needs[at] <= chosen | best]
        is_wide = any(narrow[at] != needs[at] for at in covered)
        is_safe, saved, text = True, list[int](), _rules_text(best)
        new = rules[:0]
        if len(covered) >= least or is_wide:
            new = read_policy(text, source).rules
            allows = cache(partial(_allows, policy_in, source, (*rules, *new)))
            is_safe = not any(
                # An act of which these rules match no part is decided as before.
                any(relevance(rule, part).certainty is Certainty.YES for rule in new for part in parts[act])
                and allows(act)
                for act in refused
            )
            saved = [at for at in covered if allows(without_names(asked[at].act))] if is_safe else []
        if is_safe and len(saved) >= least:
            chosen |= best
            rules, order = (*rules, *new), []
            yield Suggestion(
                text=text,
                saves=len(saved),
                examples=_examples([asked[at].act for at in saved]),
                runs_code=any(need.runs_code for need in best),
            )
        for at in covered:
            need = needs.pop(at)
            if not is_safe and narrow[at] != need and not narrow[at] <= chosen:
                needs[at] = narrow[at]  # a star allows what was refused, each command by itself may not
                order = []


def _groups_of(
    needs: Mapping[int, frozenset[_Need]], chosen: set[_Need]
) -> dict[frozenset[_Need], list[int]]:
    """The questions by what they still need."""
    groups: defaultdict[frozenset[_Need], list[int]] = defaultdict(list)
    for at, need in needs.items():
        groups[need - chosen].append(at)
    return groups


def _is_spared(verdict: Verdict) -> bool:
    """Whether a person was asked because no rule matched, and said yes."""
    recorded, decision = verdict.recorded, verdict.decision
    is_question = decision.outcome == "ask" and recorded.source != "announced"
    is_open = not (decision.is_rule or decision.needs_person)
    return is_question and is_open and recorded.answer == "allow" and not recorded.flaw


def _allows(policy_in: PolicyIn, source: str, rules: tuple[PolicyRule, ...], act: Act) -> bool:
    """Whether a policy with these rules at the end of a file allows an act."""
    policy = policy_in(act.roots)
    layers = list(policy.layers)
    at = next((at for at, layer in enumerate(layers) if layer.name == source), None)
    if at is None:
        layers.append(PolicyLayer(name=source, rules=rules))
    else:
        layers[at] = replace(layers[at], rules=(*layers[at].rules, *rules))
    return replace(policy, layers=tuple(layers)).decide(act).outcome == "allow"


# What a question needs.


def _needs_of(
    asked: Sequence[Verdict], policy_in: PolicyIn, *, may_widen: bool
) -> tuple[dict[int, frozenset[_Need]], dict[int, frozenset[_Need]]]:
    """For each question that rules can spare, by its place, what they have to allow: as it was, and as wide
    as is proposed.
    """
    pairs = {at: _pairs_of(each.act, policy_in(each.act.roots)) for at, each in enumerate(asked)}
    variants: defaultdict[_Need, set[str]] = defaultdict(set)
    for exact, wide in (pair for found in pairs.values() for pair in found):
        variants[wide].add(exact.pattern)
    narrow = {at: frozenset(exact for exact, _ in found) for at, found in pairs.items() if found}
    needs = {
        at: frozenset(wide if may_widen and len(variants[wide]) > 1 else exact for exact, wide in found)
        for at, found in pairs.items()
        if found
    }
    return narrow, needs


def _pairs_of(act: Act, policy: Policy) -> list[tuple[_Need, _Need]]:
    """The smallest condition for each part of an act, and the widest that is proposed; nothing if no rule
    can, or should, allow it.
    """
    if act.doubts or not act.roots:
        return []
    if act.script is None:
        return _file_pairs(act)
    pairs: list[tuple[_Need, _Need]] = []
    for part, (_, _, decision) in zip(parts_of(act), policy.explain(act), strict=True):
        if decision.outcome == "allow":
            continue
        words = part.words
        if words is None or part.doubt is not None or _arms(tuple(words)):
            return []
        pairs.append(_command_pair(act, tuple(words)))
    return pairs


def _command_pair(act: Act, words: tuple[str, ...]) -> tuple[_Need, _Need]:
    call = read_call(words)
    if not (call.only_reads and call.program in _SHOWS_NO_FILES and words[0] == call.program):
        place = (act.agent, act.roots[0], act.start)
        exact = _Need("command", literal_pattern(words), *place, runs_code=not call.only_reads)
        return exact, exact
    exact = _Need("command", literal_pattern(words))
    beginning = words[:2] if call.subcommand else words[:1]
    if call.subcommand not in ("", beginning[-1]):  # an option stands before it
        return exact, exact
    return exact, _Need("command", f"{literal_pattern(beginning)} **")


def _arms(words: tuple[str, ...]) -> bool:
    call = read_call(words)
    return call.program in _ARMS or (call.program == "git" and not _ARMS_GIT.isdisjoint(words[1:]))


def _file_pairs(act: Act) -> list[tuple[_Need, _Need]]:
    kind: Literal["edit", "read"] | None = (
        "edit" if act.kinds == {"edit"} else "read" if act.kinds <= READS else None
    )
    if kind is None or not act.paths or not act.is_inside or act.unknown_texts:
        return []
    pairs: list[tuple[_Need, _Need]] = []
    for names in dict.fromkeys(names_below(path, act.roots) for path in act.paths):
        if kind == "edit" and not _RUN_BY_OTHERS.isdisjoint(name.casefold() for name in names):
            return []
        exact = _Need(kind, literal("/".join(names)), act.agent, act.roots[0])
        folder = literal(names[0]) if len(names) > 1 else ""
        wide = exact._replace(pattern=f"{folder}/**") if folder else exact
        pairs.append((exact, wide))
    return pairs


# As text.


def _rules_text(needs: frozenset[_Need]) -> str:
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for need in sorted(needs):
        groups[need.kind, need.agent, need.project, need.folder].append(need.pattern)
    return "\n".join(_rule_text(*key, patterns=patterns) for key, patterns in groups.items())


def _rule_text(kind: str, agent: str, project: str, folder: str, *, patterns: Sequence[str]) -> str:
    fields: dict[str, Sequence[str]] = {}
    if agent:
        fields["agent"] = [literal(agent)]
    if project:
        fields["project"] = place_patterns(project)
    if folder:
        fields["folder"] = place_patterns(folder)
    if kind == "command":
        fields["command"] = patterns
    else:
        fields |= {"kind": ["edit"] if kind == "edit" else ["read", "search"], "path": patterns}
    lines = [f"{key} = {toml_value(values)}" for key, values in fields.items()]
    return "\n".join(["[[rule]]", 'decision = "allow"', *lines]) + "\n"


def _examples(acts: Sequence[Act]) -> tuple[str, ...]:
    texts = dict.fromkeys(_shown(act) for act in acts)
    return tuple(list(texts)[:EXAMPLES])


def _shown(act: Act) -> str:
    if act.script is not None:
        return sanitize_line(act.script.text)
    verb = "change" if "edit" in act.kinds else "read"
    return sanitize_line(f"{verb} {', '.join(os.path.relpath(path, act.roots[0]) for path in act.paths[:3])}")


def described(suggestion: Suggestion) -> str:
    """Return a suggestion as text: its rules below a comment."""
    questions = "1 question" if suggestion.saves == 1 else f"{suggestion.saves} questions"
    remark = f"# Saves {questions}, such as: {'; '.join(suggestion.examples)}\n"
    if suggestion.runs_code:
        remark += "# It may run code that the agent has written.\n"
    return remark + suggestion.text
