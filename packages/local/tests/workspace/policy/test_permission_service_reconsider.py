"""What was denied for want of a rule, and is allowed then: its next try, once or always, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import RememberedRules
from tests.workspace.policy.makers import OFFERED, ROOT, policy


class Denied:
    """An agent that nobody watches, and then a person who gives an answer."""

    def __init__(self, folder: Path, rules: str = "") -> None:
        self.rules = policy(rules, approve="none")
        self.remembered_rules = RememberedRules(str(folder / "remembered.toml"))
        self.seen: list[PermissionPrompt] = []
        self.desk = PermissionService(
            self._policy, agent="claude", roots=[ROOT], remembered_rules=self.remembered_rules
        )

    def _policy(self) -> Policy:
        return replace(self.rules, remembered_rules=self.remembered_rules.rules())

    async def may(self, *words: str) -> bool:
        command = PlannedCommand(words=words, program=words[0], cwd=ROOT)
        try:
            await self.desk.guard(Access(session_id="s", kind="run", path=ROOT, command=command))
        except ErrorAnswer:
            return False
        return True

    async def asked(self, line: str) -> bool:
        call = v1.ToolCallUpdate(tool_call_id="1", kind="execute", raw_input={"command": line})
        return await self.chosen(call)

    async def chosen(self, call: v1.ToolCallUpdate) -> bool:
        request = v1.RequestPermissionRequest(session_id="s", tool_call=call, options=OFFERED)
        answer = await self.desk.permission(request)
        return getattr(answer.outcome, "option_id", None) == "once"

    async def answer(self, option: str | None) -> str | None:
        async def say(prompt: PermissionPrompt) -> str | None:
            self.seen.append(prompt)
            return option

        found = await self.desk.reconsider(say)
        return found and found[1]


async def test_once_is_the_next_try_of_this_act_and_no_other(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    assert await denied.answer("allow") == "allow"
    assert "npm test" in denied.seen[0].text
    assert not await denied.may("npm", "publish")
    assert await denied.may("npm", "test")
    assert not await denied.may("npm", "test")
    assert not denied.remembered_rules.rules()


async def test_a_request_that_is_allowed_once_has_its_effect_once(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.asked("npm test")
    assert await denied.answer("allow") == "allow"
    assert await denied.asked("npm test")
    assert await denied.may("npm", "test")
    assert not await denied.may("npm", "test")
    assert not await denied.asked("npm test")


async def test_a_turn_that_ends_takes_the_permission_along(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    await denied.answer("allow")
    denied.desk.end_turn()
    assert not await denied.may("npm", "test")


async def test_always_is_the_rule_that_was_shown(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    assert await denied.answer("always") == "always"
    assert "Always covers `npm test`" in denied.seen[0].text
    denied.desk.end_turn()
    assert [rule.command for rule in denied.remembered_rules.rules()] == [(("npm", "test"),)]
    assert await denied.may("npm", "test")


async def test_always_ends_with_its_rule(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    assert await denied.answer("always") == "always"
    (rule,) = denied.remembered_rules.rules()
    assert denied.remembered_rules.forget(rule.line)
    assert not await denied.may("npm", "test")


@pytest.mark.parametrize("option", ["reject", None])
async def test_a_no_stays_a_no_and_is_asked_once(option: str | None, tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    assert await denied.answer(option) == "deny"
    assert not await denied.may("npm", "test")
    assert await denied.answer("reject") == "deny"
    assert await denied.answer("allow") is None


async def test_what_a_rule_denies_nobody_is_asked_again(tmp_path: Path) -> None:
    denied = Denied(tmp_path, '[[rule]]\ndecision = "deny"\ncommand = "npm publish"')
    assert not await denied.may("npm", "publish")
    assert await denied.answer("allow") is None


async def test_a_rule_that_denies_meanwhile_is_stronger(tmp_path: Path) -> None:
    denied = Denied(tmp_path)
    assert not await denied.may("npm", "test")
    assert await denied.answer("allow") == "allow"
    denied.rules = policy('[[rule]]\ndecision = "deny"\ncommand = "npm"', approve="none")
    assert not await denied.may("npm", "test")


async def test_what_could_not_be_told_again_is_allowed_always_or_not_at_all(tmp_path: Path) -> None:
    denied, tool = (
        Denied(tmp_path),
        v1.ToolCallUpdate(tool_call_id="1", kind="other", name="mcp__x", raw_input={}),
    )
    assert not await denied.chosen(tool)
    assert await denied.answer("always") == "always"
    assert [option.kind for option in denied.seen[0].options] == ["allow_always", "reject_once"]
    assert await denied.chosen(tool)


async def test_another_patch_or_a_further_change_is_another_act(tmp_path: Path) -> None:
    def patching(text: str) -> v1.ToolCallUpdate:
        patch = f"@@ -1,1 +1,1 @@\n-a\n+{text}\n"
        return v1.ToolCallUpdate(
            tool_call_id="1", kind="edit", raw_input={"file_path": "a.py", "diff": patch}
        )

    def editing(*texts: str) -> v1.ToolCallUpdate:
        edits = [{"old_string": text, "new_string": f"{text}2"} for text in texts]
        return v1.ToolCallUpdate(
            tool_call_id="1", kind="edit", raw_input={"file_path": "a.py", "edits": edits}
        )

    for shown, other in ((patching("b"), patching("evil")), (editing("a"), editing("a", "b"))):
        denied = Denied(tmp_path)
        assert not await denied.chosen(shown)
        assert await denied.answer("allow") == "allow"
        assert not await denied.chosen(other)
        denied = Denied(tmp_path)
        assert not await denied.chosen(shown)
        assert await denied.answer("allow") == "allow"
        assert await denied.chosen(shown)
