"""Hands findings to the coder (`dragoman_app.agents.code`), which fixes them in its own session.

The person sees it work as if it were this agent: what it says and does is told in the same turn, its
questions go to the same person, and files are read and written where the reviewer reads and writes them.
What it made of a file is judged as a fix of the model is: it must parse, and the rules must find nothing new.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from dragoman import Agent, Client, KitTurn, connect
from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.code.tools.places import READ, WRITE
from dragoman_app.agents.review.conversation import LastReview, ReviewConversation
from dragoman_app.agents.review.files import STALE, TurnFiles, UnreadFile, digest
from dragoman_app.agents.review.intent import HandOverIntent
from dragoman_app.agents.review.model_findings import fix_problem
from dragoman_review import Finding, ReviewSettings
from dragoman_review.secrets import mask_secrets

_TOLD = (
    v1.AgentMessageChunk,
    v1.AgentThoughtChunk,
    v1.ToolCall,
    v1.ToolCallProgress,
    v1.Plan,
)
"""Updates of the coder that belong to the turn. Its modes, options and title are not this session's."""

NumberedFinding: TypeAlias = tuple[int, Finding]


async def run_handover(turn: KitTurn[ReviewConversation], intent: HandOverIntent) -> v1.StopReason:
    """Let the coder fix findings of the last review, and report the result; return the stop reason."""
    config, last = turn.session.conversation.model, turn.session.conversation.last
    if config is None:
        await turn.say(
            "The coder can't fix this: no model is configured. Start the reviewer with `--model`.\n"
        )
        return "end_turn"
    findings = _choose_findings(last, intent)
    if last is None or isinstance(findings, str):
        await turn.say(f"{findings}\n")
        return "end_turn"
    before = await _texts(turn, last, findings)
    if isinstance(before, str):
        await turn.say(f"{before}\n")
        return "end_turn"
    stop = await _let_coder_mend(turn, config, findings, before)
    await _judge(turn, last, findings, before)
    return stop


def _choose_findings(last: LastReview | None, intent: HandOverIntent) -> Sequence[NumberedFinding] | str:
    """The findings that are meant, or why there are none."""
    if last is None:
        return "Nothing was reviewed in this session yet. Say “review my changes”, or name files."
    findings = [(number, finding) for number, finding in last.open_findings() if number in intent.numbers]
    if not findings:
        return "Name the finding for the coder by its number: “let the coder fix 3”."
    return findings


async def _texts(
    turn: KitTurn[ReviewConversation], last: LastReview, findings: Sequence[NumberedFinding]
) -> Mapping[str, str] | str:
    """The texts that the findings are about, by path; or why one of them cannot be mended."""
    files = TurnFiles(turn)
    texts: dict[str, str] = {}
    for display_path in dict.fromkeys(finding.path for _, finding in findings):
        file = last.files.get(display_path)
        if file is None or file.path is None:
            return f"{display_path} is in no file."
        text = await files.read(file.path)
        if isinstance(text, UnreadFile):
            return f"{display_path} cannot be read: {text.why}"
        if digest(text) != file.digest:
            return f"{display_path}: {STALE}; review it again."
        texts[display_path] = text
    return texts


async def _let_coder_mend(
    turn: KitTurn[ReviewConversation],
    config: CoderConfig,
    findings: Sequence[NumberedFinding],
    texts: Mapping[str, str],
) -> v1.StopReason:
    folder = tempfile.mkdtemp(prefix="dragoman-coder-")  # no thread: after a cancel it would be nobody's
    agent = code_agent(replace(config, sessions=f"{folder}/sessions.db"))
    try:
        return await _prompt_coder(turn, agent, _prompt(findings, texts))
    except CallFailed as error:
        await turn.say(f"The coder could not do it: {error.message}\n\n")
        return "end_turn"
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


async def _prompt_coder(turn: KitTurn[ReviewConversation], agent: Agent, prompt: str) -> v1.StopReason:
    async with connect(agent, client=_client(turn)) as coder:
        session = await coder.new_session(
            cwd=turn.session.cwd, additional_directories=turn.session.additional_directories
        )
        result = await session.prompt(prompt)
    if result.usage is not None:
        used = result.usage
        await turn.spend(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    await turn.say("\n\n")
    return result.stop_reason


def _client(turn: KitTurn[ReviewConversation]) -> Client:
    """What the coder has for an editor: the person's, with what that lends."""
    client = Client("dragoman-review")
    lent = turn.client.capabilities

    @client.update
    async def tell(note: v1.SessionNotification) -> None:
        if isinstance(note.update, _TOLD):
            await turn.update(note.update)

    @client.request_permission
    async def ask(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        permission = await turn.ask(request.tool_call, request.options)
        if permission.option is None:
            return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
        outcome = v1.SelectedPermissionOutcome(option_id=permission.option.option_id)
        return v1.RequestPermissionResponse(outcome=outcome)

    if READ in lent:

        @client.read_text_file
        async def read(request: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
            line, limit = (None if part is UNSET else part for part in (request.line, request.limit))
            return v1.ReadTextFileResponse(
                content=await turn.read_text_file(request.path, line=line, limit=limit)
            )

    if WRITE in lent:

        @client.write_text_file
        async def write(request: v1.WriteTextFileRequest) -> None:
            await turn.write_text_file(request.path, request.content)

    return client


def _prompt(findings: Sequence[NumberedFinding], texts: Mapping[str, str]) -> str:
    """What the coder is told. Secrets are masked: titles and explanations may quote the code."""
    parts = [
        "A code review has found the following. Mend exactly this, with the smallest change that is right. "
        "Change nothing else. If a finding is wrong, change nothing and say why."
    ]
    for number, finding in findings:
        proposal = f"\nThe review proposes: {finding.fix.title}" if finding.fix is not None else ""
        words = (
            f"{number}. {finding.path}:{finding.line}: {finding.severity.value}: {finding.title} "
            f"({finding.rule})\n{finding.why}{proposal}"
        )
        parts.append(mask_secrets(words, path=finding.path))
    return "\n\n".join(parts)


async def _judge(
    turn: KitTurn[ReviewConversation],
    last: LastReview,
    findings: Sequence[NumberedFinding],
    before: Mapping[str, str],
) -> None:
    """Tell what became of each file; findings in a file that has changed are settled by a new review."""
    files = TurnFiles(turn)
    for display_path, text in before.items():
        path = last.files[display_path].path
        assert path is not None
        after = await files.read(path)
        if isinstance(after, UnreadFile):
            await turn.say(f"- {display_path}: cannot be read any more: {after.why}\n")
            continue
        if after == text:
            await turn.say(f"- {display_path}: the coder changed nothing.\n")
            continue
        why = await fix_problem(display_path, text, after, ReviewSettings())
        verdict = "it parses, and the rules find nothing new" if why is None else f"look at it: {why}"
        await turn.say(f"- {display_path}: changed by the coder; {verdict}. Review it again to be sure.\n")
        last.applied += [number for number, finding in findings if finding.path == display_path]
    turn.session.conversation.keep(last)
