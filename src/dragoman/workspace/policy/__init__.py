"""What an agent may do: rules, decisions, questions to people, and the log of it all.

Import from the modules:

    policy        `Policy.load(roots=, file=, approve=)`; `policy.decide(question)` gives a
                  `Decision(outcome, rule, why)`
    question      `Question`, and how one is made from a request or an access
    judge         `PermissionJudge`: decides about one effect and writes it down; all that follow use it
    tool_calls    `ToolCalls`: what an agent has said about its calls
    desk          `PermissionDesk(policy, asker=, audit=, remembered=, agent=, roots=)`: `desk.permission` for
                  `Client.request_permission`, `desk.guard` for `Workspace(guard=)`
    asking        `Asker`, and what it is asked; `terminal.TerminalAsker` asks in a terminal
    audit         `AuditLog`; `remembered` keeps answers that were given for good
    elicitation   `ElicitationDesk(answers=, asker=)`: `desk.elicit` for `Client.elicit`
    login         `plan_login(auth_methods, environ, tty)`: what to try when an agent wants a login

Everything that decides is pure; `loading`, `audit`, `remembered` and the askers are not.
"""
