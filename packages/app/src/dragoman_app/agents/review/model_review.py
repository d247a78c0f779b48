"""A review by a model: it looks for bugs with tools, and a second conversation tries to refute each reported
bug. Refuted findings are left out and counted. Without a second look or a failing test, a finding is never
called high.

Whatever goes wrong with the model, what was found so far stands. Imports the model layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman.text.diff import changed_lines
from dragoman.text.json_values import as_text
from dragoman_app.agents.code.config import ModelEndpoint
from dragoman_app.agents.code.model_request import ModelFailed
from dragoman_app.agents.code.models import ModelClient
from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.read_tools import CHARACTERS, ReadArguments
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome
from dragoman_app.agents.review.budget import LOOK as LOOK_SHARE
from dragoman_app.agents.review.budget import BudgetExhausted, BudgetMeter
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.markdown import count_of
from dragoman_app.agents.review.model_dialogue import ModelDialogue, ModelRefused, ModelTask
from dragoman_app.agents.review.model_findings import ModelFindings, key_of, merge
from dragoman_app.agents.review.model_prompts import LOOK, REFUTE, look_prompt, refute_prompt
from dragoman_app.agents.review.model_proof import ModelProver, with_note
from dragoman_app.agents.review.model_tools import FileArguments, ReviewTools, ask_git, show_lines
from dragoman_app.agents.review.project_tests import ProjectTests, find_suite
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_review import Finding, ReviewSettings, ReviewSource, Severity, ToolFailed
from dragoman_review.git import GitChanges, log, text_at
from dragoman_review.source_files import decode

REQUESTS = 4
"""The most requests of one attempt to refute a finding."""

UNVERIFIED = "Not verified"

HIGHEST = Severity.MEDIUM
"""The highest severity of a finding that only the model reports."""


class VerdictArguments(Struct, forbid_unknown_fields=True):
    refuted: Annotated[bool, Meta(description="Whether the claim is wrong, or not shown by the code")]
    reason: Annotated[str, Meta(max_length=2000, description="Why, in one or two sentences")]
    same_as: Annotated[
        int,
        Meta(ge=0, description="The number of a claim that stands already and has the same cause; else 0"),
    ] = 0


class ModelReview:
    """One review by a model."""

    def __init__(
        self,
        turn: KitTurn[ReviewConversation],
        texts: ReviewTexts,
        known_findings: Sequence[Finding],
        settings: ReviewSettings,
        *,
        endpoint: ModelEndpoint,
        changes: GitChanges | None = None,
    ) -> None:
        self._turn = turn
        self._texts = texts
        self._known_findings = known_findings
        self._endpoint = endpoint
        conversation = turn.session.conversation
        assert conversation.model is not None  # or there would be no endpoint
        self._config = conversation.model
        self._meter = BudgetMeter(conversation.budget)
        tests = _tests_of(turn, self._meter)
        why_not = "the project has no known tests" if _may_test(turn) else "the session's option says never"
        self._prover = ModelProver(turn, texts, tests, why_not=why_not)
        self._change = None if changes is None else ChangeTools(texts, changes)
        self._tools = [
            *ReviewTools(texts, tests).all(),
            *(() if self._change is None else self._change.all()),
        ]
        self._model_findings = ModelFindings(texts, known_findings, settings)
        self._has_spoken = False
        self._verified_findings: list[Finding] = []
        self._unverified_findings: list[Finding] = []
        self._refuted_count = self._merged_count = 0
        self._half_lines: dict[str, str] = {}
        """What the model has begun to say or think, and not ended yet."""
        self.stop_reason: v1.StopReason = "end_turn"
        self.notes: list[str] = []
        """What a reader should know: why the model did not get to the end."""

    @property
    def findings(self) -> list[Finding]:
        """The findings that were not refuted; each says whether it is verified."""
        judged_findings = [*self._verified_findings, *self._unverified_findings]
        judged_count = len(judged_findings) + self._refuted_count + self._merged_count
        waiting = self._model_findings.worst_first()[judged_count:]
        return [*judged_findings, *(lower(with_note(finding, f"{UNVERIFIED}.")) for finding in waiting)]

    async def look(self, sources: Sequence[ReviewSource]) -> None:
        """Let the model look for bugs."""
        masked_texts = await self._texts.mask_all(finding.path for finding in self._known_findings)
        change = "" if self._change is None else await self._change.describe(sources)
        prompt = look_prompt(
            self._texts.mask(self._turn.text), sources, self._known_findings, masked_texts, change
        )
        tools = [*self._tools, self._model_findings.tool()]
        async with ModelClient(self._endpoint, self._config) as model:
            dialogue = self._dialogue(model, ModelTask(LOOK, tools, LOOK_SHARE))
            await self._finish(dialogue, prompt)
        await self._hear("thought", "", is_over=True)
        if self._has_spoken:
            await self._hear("text", "\n\n", is_over=True)

    async def _finish(self, dialogue: ModelDialogue, prompt: str) -> None:
        name = self._endpoint.model
        try:
            await dialogue.run(prompt)
        except BudgetExhausted as error:
            self._stop(error, f"{name} did not look at everything")
        except ModelRefused:
            self.notes.append(f"{name} refused to review")
        except ModelFailed as model_error:
            self.notes.append(f"{name} did not finish its review: {model_error.fault.words}")

    async def verify(self) -> None:
        """Try to refute each finding, the worst first, and test the fixes of the others."""
        await self._refute_all()
        self._verified_findings[:] = [
            await self._prove(finding, is_verified=True) for finding in self._verified_findings
        ]
        self._unverified_findings[:] = [
            await self._prove(finding, is_verified=False) for finding in self._unverified_findings
        ]

    async def _prove(self, finding: Finding, *, is_verified: bool) -> Finding:
        """A finding that says what the tests say about it, and is called as bad as that allows."""
        proof = await self._prover.prove(finding, self._model_findings.tests.get(key_of(finding)))
        self._model_findings.dropped_fixes += proof.is_fix_dropped
        shown = is_verified if proof.has_failing_test is None else proof.has_failing_test
        return proof.finding if shown else lower(proof.finding)

    async def _refute_all(self) -> None:
        findings = self._model_findings.worst_first()
        why = ""
        async with ModelClient(self._endpoint, self._config) as model:
            for finding in findings:
                try:
                    why = why or await self._judge(model, finding)
                except BudgetExhausted as error:
                    self._stop(error, "not every finding was verified")
                    why = error.words
                if why:
                    self._unverified_findings.append(with_note(finding, f"{UNVERIFIED}: {why}."))

    async def _judge(self, model: ModelClient, finding: Finding) -> str:
        """A second look at one finding; returns why the model cannot be asked about others, if so."""
        self._meter.check()
        title = f"Verify: {finding.title} ({finding.path}:{finding.line})"
        async with self._turn.tool(title, kind="think") as call:
            verdict = SecondLook()
            tools = [*self._tools, verdict.tool()]
            masked_text = (await self._texts.load_reviewed(finding.path)).masked_text
            prompt = refute_prompt(finding, masked_text, self._verified_findings)
            try:
                await self._dialogue(model, ModelTask(REFUTE, tools), is_heard=False).run(
                    prompt, is_over=lambda: verdict.verdict is not None, most=REQUESTS
                )
                await self._hear("thought", "", is_over=True)
            except (ModelFailed, ModelRefused) as model_error:
                words = (
                    model_error.fault.words
                    if isinstance(model_error, ModelFailed)
                    else "the model refused to"
                )
                await call.fail(words)
                return words.rstrip(".")
            except BudgetExhausted as error:
                await call.fail(error.words)
                raise
            await call.complete(self._record(finding, verdict.verdict))
        return ""

    def _record(self, finding: Finding, verdict: VerdictArguments | None) -> str:
        """Keep what came of a second look; returns it in words."""
        if verdict is None:
            words = f"{UNVERIFIED}: the second check had no result."
            self._unverified_findings.append(with_note(finding, words))
            return words
        if verdict.refuted:
            self._refuted_count += 1
            return f"Refuted, and left out: {verdict.reason}"
        if 1 <= verdict.same_as <= len(self._verified_findings):
            self._merged_count += 1
            other = self._verified_findings[verdict.same_as - 1]
            self._verified_findings[verdict.same_as - 1] = merge(other, finding)
            return f"Reported at {other.path}:{other.line}, which has the same cause:  {verdict.reason}"
        words = f"Verified by a second check: {verdict.reason}"
        self._verified_findings.append(with_note(finding, words))
        return words

    def _dialogue(self, model: ModelClient, task: ModelTask, *, is_heard: bool = True) -> ModelDialogue:
        return ModelDialogue(
            self._turn,
            model,
            self._meter,
            task=task,
            hear=self._hear if is_heard else self._hear_thoughts,
            mask=self._texts.mask,
        )

    async def _hear(self, kind: Literal["text", "thought"], text: str, *, is_over: bool = False) -> None:
        if kind == "text" and not self._has_spoken:
            self._has_spoken = True
            await self._turn.say(f"## Review by {self._endpoint.model}\n\n")
        # Line by line: what a model quotes is masked, and half of a secret looks like none.
        text = self._half_lines.pop(kind, "") + text
        end = len(text) if is_over else text.rfind("\n") + 1
        self._half_lines[kind] = text[end:]
        if end:
            words = self._texts.mask(text[:end])
            await (self._turn.say(words) if kind == "text" else self._turn.think(words))

    async def _hear_thoughts(self, kind: Literal["text", "thought"], text: str) -> None:
        await self._hear("thought", text)

    def _stop(self, error: BudgetExhausted, words: str) -> None:
        self.notes.append(f"{words}: {error.words}")
        self.stop_reason = error.reason

    def words(self) -> str:
        """Return the result of the second look in a sentence; empty if the model reported nothing."""
        count = len(self._model_findings.reported_findings) - self._merged_count
        if not count:
            return ""
        parts = [f"{len(self._verified_findings)} verified"]
        parts += (
            [f"{waiting} not verified"]
            if (waiting := count - len(self._verified_findings) - self._refuted_count)
            else []
        )
        parts += [f"{self._refuted_count} refuted and left out"] if self._refuted_count else []
        text = f"{self._endpoint.model} reported {count_of(count, 'finding')}: {', '.join(parts)}."
        if dropped_count := self._model_findings.dropped_fixes:
            text += f" {count_of(dropped_count, 'fix', 'fixes')} that it proposed did not pass the checks."
        return f"{text}\n\n"


def _tests_of(turn: KitTurn[ReviewConversation], meter: BudgetMeter) -> ProjectTests | None:
    command = find_suite(Path(turn.session.cwd)) if _may_test(turn) else None
    if command is None:
        return None
    return ProjectTests(turn, command, turn.session.conversation.grants, meter)


def _may_test(turn: KitTurn[ReviewConversation]) -> bool:
    return turn.session["run_tests"] != "never"


class SecondLook:
    """The result of a second look at a finding."""

    def __init__(self) -> None:
        self.verdict: VerdictArguments | None = None

    async def take(self, work: ToolContext, arguments: VerdictArguments) -> ToolOutcome:
        self.verdict = arguments
        return ToolOutcome("Taken.")

    def tool(self) -> CoderTool[VerdictArguments]:
        return CoderTool(
            name="verdict",
            description="Say whether the claim is refuted, and why. Call it once, at the end.",
            arguments=VerdictArguments,
            kind="think",
            title=lambda _: "Verdict",
            is_shown=False,
            run=self.take,
        )


def lower(finding: Finding) -> Finding:
    """Return an unconfirmed finding with a lower severity."""
    if finding.severity.rank >= HIGHEST.rank:
        return finding
    change = f"Lowered from {finding.severity.value} to {HIGHEST.value}"
    words = f"{change}: only the model reports it."
    return with_note(replace(finding, severity=HIGHEST), words)


# Tools for the model to read a change: its diff, its commits, and files as they were before it.
#
# All of it comes from whoever made the change. Secrets are masked, and everything has a bound.

DIFF = 60_000
"""The most characters of all diffs together in the first request; the model can request the rest."""

COMMITS = 4_000
"""The most characters of the messages of a change's commits."""

DELETED = 50
"""The most deleted files to name."""


class ChangeTools:
    """The tools for the change under review."""

    def __init__(self, texts: ReviewTexts, changes: GitChanges) -> None:
        self._texts = texts
        self._changes = changes

    async def describe(self, sources: Sequence[ReviewSource]) -> str:
        """Return the change for the first request: commit messages, deleted files, and the diff."""
        parts = [f"What its commits say:\n{commits}"] if (commits := await self._commits()) else []
        if deleted_paths := self._changes.deleted_paths:
            more = f"\n(and {len(deleted_paths) - DELETED} more)" if len(deleted_paths) > DELETED else ""
            parts.append("Deleted files:\n" + "\n".join(map(as_text, deleted_paths[:DELETED])) + more)
        left = DIFF
        for source in sources:
            try:
                diff = await self._diff(source.path)
            except ToolProblem:
                continue  # a model does not get it, or git cannot tell; its file is named all the same
            if len(diff) > left:
                diff = f"{source.path}: its diff is long; read it with `diff`."
            left -= len(diff)
            parts += [diff] if diff else []
        return "\n\n".join(parts)

    async def _commits(self) -> str:
        try:
            text = await log(self._changes.top, since=self._changes.base) if self._changes.base else ""
        except ToolFailed:
            return ""
        return self._texts.mask(text)[:COMMITS]

    async def before(self, work: ToolContext, arguments: ReadArguments) -> ToolOutcome:
        text = await self._text_before(arguments.path)
        if text is None:
            raise ToolProblem(f"{arguments.path} is not in the base.")
        return show_lines(text, arguments)

    async def diff(self, work: ToolContext, arguments: FileArguments) -> ToolOutcome:
        diff = await self._diff(arguments.path)
        return ToolOutcome(diff[:CHARACTERS] or "(nothing changed)")

    async def _diff(self, path: str) -> str:
        try:
            new = (await self._texts.load(path)).masked_text
        except ToolProblem:
            new = ""  # deleted; a file that may not be read fails below, too
        lines = changed_lines(await self._text_before(path), new)
        return "\n".join([f"--- {path} (base)", f"+++ {path}", *lines]) if lines else ""

    async def _text_before(self, path: str) -> str | None:
        display_path, inside = await self._texts.find_below(path, self._changes.top)
        top, base = self._changes.top, self._changes.base
        data = None if base is None else await ask_git(text_at(top, base, inside))
        text = None if data is None else decode(data)
        return None if text is None else self._texts.mask(text.text, path=display_path)

    def all(self) -> Sequence[CoderTool[Any]]:
        return (
            CoderTool(
                name="before",
                description="Read lines of a file as it was before the change, as `read` does.",
                arguments=ReadArguments,
                kind="read",
                title=lambda arguments: f"Read {arguments.path} as it was",
                path=lambda arguments: arguments.path,
                run=self.before,
            ),
            CoderTool(
                name="diff",
                description="See the diff of one file of the change, also of a deleted one.",
                arguments=FileArguments,
                kind="read",
                title=lambda arguments: f"Diff of {arguments.path}",
                path=lambda arguments: arguments.path,
                run=self.diff,
            ),
        )
