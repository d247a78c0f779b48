"""The settings of a run: the whole command line, checked before an agent starts.

It imports no more than the checks need. What talks to the agent is loaded while the agent starts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from dragoman import Limits
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.prompt import STDIN, is_text, read_prompt
from dragoman_app.apps.target import ChosenAgent, Overrides, confine, find_target, remote_folder
from dragoman_app.apps.terminals import is_terminal
from dragoman_local.sandbox.wall import chosen_sandbox
from dragoman_local.workspace.policy.policy_paths import has_policy_files
from dragoman_local.workspace.settings import LocalRules

if TYPE_CHECKING:
    from dragoman.schema import v1
    from dragoman.schema.steering import SteerFallback
    from dragoman_app.apps.run.attach import Attachment
    from dragoman_local.journal.brief import ConversationBrief
    from dragoman_local.workspace.policy.elicitation import FormAnswers
    from dragoman_local.workspace.policy.policy import Approve

LAST = "last"

ChangeHandling: TypeAlias = Literal["keep", "revert", "ask"]
"""The action for the changes of a run."""


class SessionRequest(Struct, frozen=True, kw_only=True):
    """The requested session."""

    cwd: str
    directories: Sequence[str]
    servers: Sequence[v1.McpServer]
    session_id: str | None
    mode: str | None
    options: Sequence[tuple[str, str]]


class RunPlan(Struct, frozen=True, kw_only=True):
    """The whole command line, checked as far as possible without an agent."""

    target: ChosenAgent
    prompt: str
    attachments: Sequence[Attachment]
    session_request: SessionRequest
    rules: LocalRules
    answers: FormAnswers | None
    limits: Limits
    silence: float | None
    continue_: bool
    record: bool
    changes: ChangeHandling
    steer: SteerFallback | None
    """The action for a line that the agent can't accept during its turn; None if no lines are read."""
    is_strict: bool
    """Whether changes without approval make the run fail."""
    is_attended: bool
    """Whether a user at the terminal can be asked; otherwise policy and `answers` decide."""
    successor: ChosenAgent | None = None
    """The agent that continues if the first can't."""
    source: str = ""
    """The recorded session of another agent to continue; `last` is the latest in the folder."""
    brief: ConversationBrief | None = None
    """The brief for the agent; None if it still must be read."""

    @property
    def roots(self) -> list[str]:
        return [self.session_request.cwd, *self.session_request.directories]


def make_plan(args: argparse.Namespace) -> RunPlan:
    """Return everything that is known before an agent starts; raises `UsageMistake`."""
    # A recorded session goes on with the other agent at once, unless its own agent is named to try first.
    takes_over = args.continue_with is not None and args.agent is None and (args.session or args.continue_)
    wants_last = args.continue_ or args.session == LAST
    agent = args.continue_with if takes_over else args.agent
    is_attended = args.format != "json" and is_terminal(0) and is_terminal(2)
    wishes = Overrides(args.env, args.dialect, args.place, args.map)
    target = find_target(agent, wishes, can_ask=is_attended)
    successor = None
    if args.continue_with is not None and not takes_over:
        successor = find_target(args.continue_with)  # what --env hands to an agent is for the first
    roots = _roots(args, target)
    approve: Approve | None = args.approve or (None if is_attended else "reads")
    rules = rules_of(args, approve)
    if args.policy is not None or has_policy_files(roots):
        check_policy(rules, roots)
    return RunPlan(
        target=confine(target, rules.sandbox, roots),
        prompt=read_prompt(args.words, args.prompt_file),
        attachments=_attachments(args),
        session_request=SessionRequest(
            cwd=roots[0],
            directories=roots[1:],
            servers=_servers(args),
            session_id=None if takes_over or wants_last else args.session,
            mode=args.mode,
            options=[_pair(text) for text in args.options],
        ),
        rules=rules,
        answers=_answers(args.answers),
        limits=Limits(handshake_seconds=args.start_timeout or None, end_seconds=args.end_timeout),
        silence=args.silence or None,
        continue_=wants_last and not takes_over,
        record=not args.no_history,
        changes=args.changes,
        steer=_steering(args),
        is_strict=args.strict,
        is_attended=is_attended,
        successor=None if successor is None else confine(successor, rules.sandbox, roots),
        source=(args.session or LAST) if takes_over else "",
    )


def _steering(args: argparse.Namespace) -> SteerFallback | None:
    """Raises `UsageMistake` if standard input is the prompt already."""
    fallback: SteerFallback | None = args.steer
    is_prompt = STDIN in args.words or args.prompt_file == STDIN or not (args.words or args.prompt_file)
    if fallback is not None and is_prompt:
        raise UsageMistake(
            "--steer reads standard input while the turn runs, and the prompt is read from there too",
            'give the prompt as words or with --prompt-file: dragoman run "…" --steer',
        )
    return fallback


def rules_of(args: argparse.Namespace, approve: Approve | None) -> LocalRules:
    """Return the permissions from a command line."""
    policy = os.path.abspath(args.policy) if args.policy else None
    sandbox = chosen_sandbox(args.sandbox)
    return LocalRules(policy=policy, approve=approve, shell_lines=args.shell_lines, sandbox=sandbox)


def check_policy(rules: LocalRules, roots: Sequence[str]) -> None:
    """Raise `UsageMistake` with the file and the line of an invalid rule."""
    from dragoman_local.workspace.policy.policy_files import load_policy
    from dragoman_local.workspace.policy.policy_parser import PolicyError

    try:
        load_policy(roots=roots, file=rules.policy, approve=rules.approve)
    except PolicyError as error:
        raise UsageMistake(str(error), "fix the policy; see `dragoman help policy`") from error


def _attachments(args: argparse.Namespace) -> Sequence[Attachment]:
    if not (args.file or args.image):
        return ()
    from dragoman_app.apps.run.attach import read_attachments

    return read_attachments(args.file, args.image)


def _servers(args: argparse.Namespace) -> Sequence[v1.McpServer]:
    if not args.mcp:
        return ()
    from dragoman_app.apps.run.mcp import read_mcp

    return [server for path in args.mcp for server in read_mcp(path)]


def _answers(path: str | None) -> FormAnswers | None:
    """Raises `UsageMistake`."""
    if path is None:
        return None
    from dragoman_local.workspace.policy.elicitation import AnswersError, FormAnswers

    try:
        return FormAnswers.load(path)
    except AnswersError as error:
        raise UsageMistake(str(error), "fix the file of answers") from error


def _roots(args: argparse.Namespace, target: ChosenAgent) -> list[str]:
    """The folders of the session. Those of an agent elsewhere are elsewhere, unless they are mapped."""
    if not target.agent.place:
        return [_folder(path) for path in (args.cwd or os.getcwd(), *args.add_dir)]
    return [remote_folder(path, target.agent) for path in (args.cwd, *args.add_dir)]


def _folder(path: str) -> str:
    place = Path(path).absolute()
    if not place.is_dir():
        raise UsageMistake(f"{path!r} is not a folder", "check the path")
    if not is_text(str(place)):
        raise UsageMistake(f"the name of the folder {path!r} is not UTF-8 text", "rename it, or use another")
    return os.path.normpath(place)


def _pair(text: str) -> tuple[str, str]:
    key, is_set, value = text.partition("=")
    if not key or not is_set:
        raise UsageMistake(f"--set takes KEY=VALUE, not {text!r}", "use KEY=VALUE")
    return key, value
