"""Tests a finding of a model with the project's tests: a test by the model must fail on the current code, and
its fix must pass all tests. Both run in copies of the project, if the user allows it.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.code.permission import PermissionWish, ToolReport
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.markdown import fence_code
from dragoman_app.agents.review.project_tests import ProjectTests, SuiteNotRun, SuiteRun, is_new_file
from dragoman_app.agents.review.review_texts import ReviewText, ReviewTexts
from dragoman_review import Finding
from dragoman_review.text_edits import apply_edits

TESTS = "Tests of the project:"

SHOWN = 4_000
"""The most characters of the tests' output to show, from the end."""


class ModelTest(NamedTuple):
    """A test by a model that shows a bug."""

    path: str
    """The path of a new file below the working folder."""
    text: str


class Proof(NamedTuple):
    """A finding with the results of the tests."""

    finding: Finding
    has_failing_test: bool | None = None
    """None if no run could tell."""
    is_fix_dropped: bool = False


class ModelProver:
    """Runs the tests of one review. `tests` is None if none may be run; `why_not` gives the reason."""

    def __init__(
        self,
        turn: KitTurn[ReviewConversation],
        texts: ReviewTexts,
        tests: ProjectTests | None,
        *,
        why_not: str,
    ) -> None:
        self._turn = turn
        self._texts = texts
        self._tests = tests
        self._why_not = why_not

    async def prove(self, finding: Finding, test: ModelTest | None) -> Proof:
        """Run the tests, and add the result to the finding."""
        proof = Proof(finding)
        if test is not None:
            proof = await self._fail_before(finding, test)
        if finding.fix is not None:
            proof = await self._pass_after(proof, test if proof.has_failing_test else None)
        return proof

    async def _fail_before(self, finding: Finding, test: ModelTest) -> Proof:
        title = f"Run the model's test for {finding.path}:{finding.line} in a copy"
        try:
            ran = await self._run(title, {test.path: test.text}, test)
        except SuiteNotRun as why:
            return Proof(with_note(finding, f"The test that the model wrote was not run: {why}."))
        if ran.result == "passed":
            words = "The test that the model wrote passes on this code, so it shows no bug."
            return Proof(with_note(finding, words), has_failing_test=False)
        if ran.is_broken:
            return Proof(
                with_note(finding, "The test that the model wrote cannot be run, so it shows nothing.")
            )
        words = f"This test fails on the code as it is (`{test.path}`):"
        shown = fence_code(self._texts.mask(test.text).rstrip("\n").split("\n"))
        return Proof(with_note(finding, f"{words}\n\n{shown}"), has_failing_test=True)

    async def _pass_after(self, proof: Proof, test: ModelTest | None) -> Proof:
        finding = proof.finding
        assert finding.fix is not None
        text = await self._texts.load_reviewed(finding.path)
        title = f"with the fix of {finding.path}:{finding.line}"
        try:
            files = self._files(finding, text, test)
            name = "tests" if self._tests is None else self._tests.command.name
            ran = await self._run(f"Run {name} in a copy {title}", files, test)
        except SuiteNotRun as why:
            return proof._replace(finding=with_note(finding, f"{TESTS} not run: {why}."))
        if ran.result == "passed":
            words = f"{TESTS} passed with the fix ({name})." + (" So does the test above." if test else "")
            return proof._replace(finding=with_note(finding, words))
        words = f"{TESTS} failed with the fix that was proposed ({name}), so it is not shown."
        return proof._replace(finding=with_note(replace(finding, fix=None), words), is_fix_dropped=True)

    def _files(self, finding: Finding, text: ReviewText, test: ModelTest | None) -> dict[str, str]:
        assert finding.fix is not None
        if text.path is None:
            raise SuiteNotRun("the text is in no file")
        fixed = {text.path: apply_edits(text.text, finding.fix.edits)}
        return fixed if test is None else {**fixed, test.path: test.text}

    async def _run(self, title: str, files: dict[str, str], test: ModelTest | None) -> SuiteRun:
        if self._tests is None:
            raise SuiteNotRun(self._why_not)
        async with self._turn.tool(title, kind="execute", status="pending") as call:
            try:
                ran = await self._tests.run_with(
                    call, files, None if test is None else self._wish(call, test)
                )
            except SuiteNotRun as why:
                await call.fail(f"Not run: {why}.")
                raise
            output = self._texts.mask(ran.output)[-SHOWN:]
            is_wanted = ran.result == ("passed" if test is None or len(files) > 1 else "failed")
            await call.progress(status="completed" if is_wanted else "failed", content=[fence_code([output])])
        return ran

    def _wish(self, call: ToolReport, test: ModelTest) -> PermissionWish:
        """It runs what a model wrote: the person sees it first, and nobody says yes to all of them."""
        if not is_new_file(self._turn.session.cwd, test.path):
            raise SuiteNotRun(f"{test.path} is not the name of a new file in the working folder")
        path = self._texts.folders.absolute(test.path)
        diff = v1.Diff(path=path, new_text=test.text)
        key = f"run:model-test:{test.path}:{test.text}"
        return PermissionWish(kind="run", key=key, always="", content=[diff], risky=True)


def with_note(finding: Finding, words: str) -> Finding:
    """Return a finding with a further note."""
    return replace(finding, why=f"{finding.why}\n\n{words}")
