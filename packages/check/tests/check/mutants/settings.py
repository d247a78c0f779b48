"""Good conversations about settings, forms, notices and compaction, cancels, and little to lend."""

from __future__ import annotations

from tests.check.mutants.script import Script
from tests.check.mutants.values import (
    AGENT_CAN,
    CANCELLED,
    CLIENT_CAN,
    EXAMINED,
    FILE,
    FIRST,
    FOLDER,
    FORM,
    OTHER,
    SECOND,
    held,
    modes,
    options,
    prompt,
    text,
)
from tests.check.mutants.work import end, opening, permission, say, step, tool

S = FIRST


def settings() -> Script:
    """Options, modes that the agent changes, forms, notices and a compaction."""
    talk = Script("settings")
    opening(talk, client=CLIENT_CAN, agent=AGENT_CAN)
    talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
    talk.reply("new", {"sessionId": S, "modes": modes(), "configOptions": options()})
    _options(talk)
    _forms(talk)
    _told(talk)
    talk.facts = {**EXAMINED, "session": S, "folder": FOLDER}
    return talk


def _options(talk: Script) -> None:
    def change(label: str, option: str, value: object, **more: object) -> None:
        params = {"sessionId": S, "configId": option, "value": value, **more}
        talk.ask(label, "session/set_config_option", params)

    with talk.stretch("set option"):
        change("set model", "model", "large")
        talk.reply("set model", {"configOptions": options(model="large")})
    with talk.stretch("set boolean"):
        change("set brief", "brief", True, type="boolean")
        talk.reply("set brief", {"configOptions": options(model="large", brief=True)})
    with talk.stretch("set mode option"):
        change("set mode", "mode", "code")
        talk.reply("set mode", {"configOptions": options("code", model="large", brief=True)})
    talk.ask("switch", "session/prompt", prompt(S, "Make a plan first"))
    tool(talk, "switch, call", "call-1", "Plan first", "switch_mode", name="enter_plan_mode")
    step(talk, "switch, progress", "call-1", "in_progress")
    change("set model back", "model", "small")
    talk.reply("set model back", {"configOptions": options("code", brief=True)})
    talk.update("switch, mode", S, "current_mode_update", currentModeId="plan")
    talk.update("switch, options", S, "config_option_update", configOptions=options("plan", brief=True))
    step(talk, "switch, done", "call-1", "completed", content=[held("plan")])
    say(talk, "switch, words", "I plan now.", message="msg-1")
    end(talk, "switch")


def _forms(talk: Script) -> None:
    asked = {"sessionId": S, "toolCallId": "call-2", "message": "Where and how many?"}
    with talk.stretch("elicit, accept"):
        talk.ask("form", "session/prompt", prompt(S, "Book a berth"))
        tool(talk, "form, call", "call-2", "Book a berth", "other")
        step(talk, "form, progress", "call-2", "in_progress")
        talk.want("form, form", "elicitation/create", {**asked, "mode": "form", "requestedSchema": FORM})
        content = {"berth": "B4", "boats": 2, "night": False, "wind": "calm"}
        talk.settle("form, form", {"action": "accept", "content": content})
        step(talk, "form, done", "call-2", "completed", content=[held("B4")])
        say(talk, "form, words", "B4 is yours.", message="msg-2")
        end(talk, "form")
    with talk.stretch("elicit, decline"):
        talk.ask("declined", "session/prompt", prompt(S, "Book another berth"))
        talk.want(
            "declined, form",
            "elicitation/create",
            {"sessionId": S, "message": "Which one?", "mode": "form", "requestedSchema": FORM},
        )
        talk.settle("declined, form", {"action": "decline"})
        say(talk, "declined, words", "As you like.", message="msg-3")
        end(talk, "declined")
    with talk.stretch("elicit, url"):
        talk.ask("page", "session/prompt", prompt(S, "Pay for the berth"))
        asked = {"sessionId": S, "message": "Please pay there", "mode": "url"}
        url = {"url": "https://pay.example/harbour", "elicitationId": "pay-1"}
        talk.want("page, url", "elicitation/create", {**asked, **url})
        talk.settle("page, url", {"action": "accept"})
        talk.note("page, paid", "elicitation/complete", {"elicitationId": "pay-1"})
        say(talk, "page, words", "It is paid.", message="msg-4")
        end(talk, "page")


def _told(talk: Script) -> None:
    with talk.stretch("compact"):
        talk.ask("compact", "session/prompt", prompt(S, "/compact"))
        talk.update("compact, begun", S, "compaction_update", compactionId="cmp-1", status="in_progress")
        talk.update(
            "compact, piece",
            S,
            "compaction_summary_chunk",
            compactionId="cmp-1",
            content=text("A berth was booked."),
        )
        talk.update("compact, done", S, "compaction_update", compactionId="cmp-1", status="completed")
        talk.update("compact, usage", S, "usage_update", used=300, size=200000)
        say(talk, "compact, words", "Done.", message="msg-5")
        end(talk, "compact")
    talk.update(
        "notice",
        S,
        "notice",
        severity="warning",
        title="The model is slow today",
        description="Try the large one",
    )
    talk.update("new title", S, "session_info_update", title=None, updatedAt="2026-03-01T08:00:00Z")
    talk.ask("after", "session/prompt", prompt(S, "Thank you"))
    say(talk, "after, words", "You are welcome.", message="msg-6")
    end(talk, "after")


def cancelling() -> Script:
    """Turns that are cancelled, requests that are taken back, and two sessions at once."""
    talk = Script("cancelling")
    opening(talk, client=CLIENT_CAN, agent=AGENT_CAN)
    talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
    talk.reply("new", {"sessionId": S})
    talk.ask("new, second", "session/new", {"cwd": OTHER, "mcpServers": []})
    talk.reply("new, second", {"sessionId": SECOND})
    _cancelled(talk)
    _taken_back(talk)
    _neighbours(talk)
    talk.facts = {**EXAMINED, "session": S, "folder": FOLDER}
    return talk


def _cancelled(talk: Script) -> None:
    with talk.stretch("cancelled"):
        talk.ask("slow", "session/prompt", prompt(S, "Count to a thousand"))
        say(talk, "slow, words", "1, 2, 3", message="msg-1")
        tool(talk, "slow, call", "call-1", "sleep", "execute")
        step(talk, "slow, progress", "call-1", "in_progress")
        talk.tell("slow, cancel", "session/cancel", {"sessionId": S})
        step(talk, "slow, stopped", "call-1", "failed", content=[held("stopped")])
        end(talk, "slow", "cancelled")
    with talk.stretch("after cancel"):
        talk.ask("on", "session/prompt", prompt(S, "And now?"))
        say(talk, "on, words", "Here I am.", message="msg-2")
        end(talk, "on")
    with talk.stretch("cancelled while asked"):
        talk.ask("asked", "session/prompt", prompt(S, "Mend the pier"))
        tool(talk, "asked, call", "call-2", "Mend the pier", "edit", locations=[{"path": FILE}])
        permission(talk, "asked, question", "call-2")
        talk.tell("asked, cancel", "session/cancel", {"sessionId": S})
        talk.settle("asked, question", CANCELLED)
        step(talk, "asked, stopped", "call-2", "failed", content=[held("not allowed")])
        end(talk, "asked", "cancelled")
    with talk.stretch("idle cancel"):
        talk.tell("idle cancel", "session/cancel", {"sessionId": S})
        talk.ask("idle", "session/prompt", prompt(S, "Still there?"))
        say(talk, "idle, words", "Yes.", message="msg-3")
        end(talk, "idle")


def _taken_back(talk: Script) -> None:
    with talk.stretch("withdrawn"):
        talk.ask("back", "session/prompt", prompt(S, "Count again"))
        say(talk, "back, words", "1", message="msg-4")
        asked = talk["back"].said["id"]
        talk.tell("back, withdrawal", "$/cancel_request", {"requestId": asked})
        talk.reply("back", error={"code": -32800, "message": "Request cancelled"})
    with talk.stretch("withdrawn too late"):
        talk.tell("late withdrawal", "$/cancel_request", {"requestId": asked})
        talk.ask("later", "session/prompt", prompt(S, "And now?"))
        say(talk, "later, words", "I am here.", message="msg-5")
        end(talk, "later")
    talk.ask("unsure", "session/prompt", prompt(S, "Paint the pier"))
    tool(talk, "unsure, call", "call-3", "Paint the pier", "edit")
    permission(talk, "unsure, question", "call-3")
    talk.note("unsure, withdrawal", "$/cancel_request", {"requestId": talk["unsure, question"].said["id"]})
    talk.settle("unsure, question", CANCELLED)
    step(talk, "unsure, done", "call-3", "failed", content=[held("too late")])
    say(talk, "unsure, words", "Better not.", message="msg-6")
    end(talk, "unsure")


def _neighbours(talk: Script) -> None:
    with talk.stretch("two sessions"):
        talk.ask("left", "session/prompt", prompt(S, "Count slowly"))
        talk.ask("right", "session/prompt", prompt(SECOND, "Count slowly too"))
        say(talk, "left, words", "1", message="msg-7")
        say(talk, "right, words", "one", session=SECOND, message="msg-1")
        talk.tell("left, cancel", "session/cancel", {"sessionId": S})
        end(talk, "left", "cancelled")
        say(talk, "right, last words", ", two", session=SECOND, message="msg-1")
        end(talk, "right")
    talk.ask("right again", "session/prompt", prompt(SECOND, "Thank you"))
    say(talk, "right again, words", "Gladly.", session=SECOND, message="msg-2")
    end(talk, "right again")


def bare() -> Script:
    """A client that lends nothing, and an agent that can little: modes, and nothing to ask for."""
    talk = Script("bare")
    opening(talk, client={}, agent={"loadSession": False, "mcpCapabilities": {"http": True}})
    talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
    talk.reply("new", {"sessionId": S, "modes": modes()})
    with talk.stretch("set mode"):
        talk.ask("set mode", "session/set_mode", {"sessionId": S, "modeId": "code"})
        talk.reply("set mode", {})
    talk.ask("work", "session/prompt", prompt(S, "Sum up harbour.py"))
    tool(talk, "work, call", "call-1", "Read harbour.py", "read", locations=[{"path": FILE}])
    talk.ask("set mode again", "session/set_mode", {"sessionId": S, "modeId": "ask"})
    talk.reply("set mode again", {})
    step(talk, "work, progress", "call-1", "in_progress")
    step(talk, "work, done", "call-1", "completed", content=[held("2 lines")])
    say(talk, "work, words", "It counts.")
    end(talk, "work")
    talk.ask("ask", "session/prompt", prompt(S, "Then mend it"))
    tool(talk, "ask, call", "call-2", "Mend harbour.py", "edit", locations=[{"path": FILE}])
    permission(talk, "ask, question", "call-2")
    talk.settle("ask, question", {"outcome": {"outcome": "selected", "optionId": "never"}})
    step(talk, "ask, done", "call-2", "failed")
    say(talk, "ask, words", "I may not.")
    end(talk, "ask")
    talk.facts = {**EXAMINED, "session": S, "folder": FOLDER}
    return talk
