"""Permissions of agents: rules, decisions, questions to people, and the audit log.

Import from the modules:

    policy              `load_policy(roots=, file=, approve=)`; `policy.decide(act)` gives a
                        `PolicyDecision(outcome, rule, why)`
    act                 `Act`, and how one is made from a request or an access
    judge               `PermissionJudge`: decides about one effect and writes the decision to the audit log;
                        `Asker`, and the prompt that it shows: `terminal` has one
    tool_calls          `ToolCalls`: what an agent has reported about its tool calls
    permission_service  `PermissionService(policy, asker=, audit=, remembered_rules=, agent=, roots=)`: its
                        `permission` is for `Client.request_permission`, its `guard` for `Workspace(guard=)`;
                        `LocalDesk(rules, agent=, roots=, user=)`: all of this for one agent, or one session
    audit               `AuditLog`
    remembered_rules    `RememberedRules`: your remembered answers
    elicitation         `ElicitationService(answers=, asker=)`: `service.elicit` for `Client.elicit`
    login               `plan_login(auth_methods, environ, tty)`: what to try when an agent wants a login

Everything that decides is pure; `policy_files`, `audit`, `remembered_rules` and the askers are not.
"""
