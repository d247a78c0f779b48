"""Applies a policy for dialects that have no permission requests.

An interpreter must answer on the spot: nobody can be asked, so what a policy says to ask is denied. Whatever
is decided is in the audit log before it takes effect; what cannot be written there is not permitted. What an
agent said about a tool call before it asked is not known here: the question counts as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from dragoman.dialect import Consent
from dragoman.dialect.message import Object
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.decision import PolicyDecision, choose_option
from dragoman_local.workspace.policy.judge import PermissionJudge, resolve, with_real_paths
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.policy.policy_paths import policy_paths


def consent_of(file: str, *, cwd: str, agent: str = "", audit: AuditLog | None = None) -> Consent:
    """Return the policy of a file, followed by those of the project and the user (docs/policy.md)."""
    policy = load_policy(roots=[cwd], file=file, approve="none")
    return by_policy(policy, cwd=cwd, agent=agent, audit=audit)


def by_policy(
    policy: Policy,
    *,
    cwd: str,
    agent: str = "",
    audit: AuditLog | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Consent:
    """Return the id of the option that the policy chooses, from the params of
    `session/request_permission`.
    """
    setting = ActContext(agent=agent, roots=with_real_paths([cwd]), home=policy_paths().home)
    judge = PermissionJudge(audit=audit, now=now)

    def consent(params: Object) -> str | None:
        try:
            request = read(msgspec.json.encode(params), v1.RequestPermissionRequest)
        except (SchemaError, msgspec.MsgspecError):  # what cannot be read cannot be judged
            return None
        act = resolve(act_of_call(request.tool_call, setting, session_id=request.session_id))
        decision = policy.decide(act)
        option = choose_option("allow", request.options) if decision.outcome == "allow" else None
        if option is None:
            why = f"nobody can be asked; {decision.why}"
            decision = PolicyDecision(outcome="deny", rule=decision.rule, why=why)
            option = choose_option("deny", request.options)
        return judge.settle(act, decision, request.options, option, by="policy").option

    return consent
