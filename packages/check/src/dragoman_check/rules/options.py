"""CFG: the options of a session."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.timeline import BAD_PARAMS, is_fair, is_open, session_of, setups
from dragoman_check.values import items, missing_member, text

CATEGORIES = ("mode", "model", "model_config", "thought_level")

UNOBSERVED: dict[str, str] = {
    "CFG-12": "in which order a client shows options is seen on its screen only",
    "CFG-13": "which options are important is known to the author of the agent only",
}


class OptionListing(Struct, frozen=True):
    """The options of a session as an answer or an update listed them."""

    frame: Frame
    session: str
    options: Json
    source: str
    """The answered method, or `session/update`."""

    @property
    def by_id(self) -> dict[str, JsonObject]:
        return {text(option.get("id")): option for option in items(self.options)}


def listings(conversation: Conversation) -> list[OptionListing]:
    """Return all listings, in order."""
    return conversation.compute_once("option listings", lambda: list(_listings(conversation)))


def _listings(conversation: Conversation) -> Iterator[OptionListing]:
    answers = {setup.exchange.answer.number: setup for setup in setups(conversation) if setup.exchange.answer}
    changes = {
        change.answer.number: change for change in sets(conversation) if change.has_result and change.answer
    }
    for frame in conversation.frames:
        if frame.number in answers:
            setup = answers[frame.number]
            if setup.exchange.result.get("configOptions") is not None:
                options = setup.exchange.result["configOptions"]
                yield OptionListing(frame, setup.session, options, setup.exchange.method)
        elif frame.number in changes:
            change_made = changes[frame.number]
            yield OptionListing(
                frame, session_of(change_made), change_made.result.get("configOptions"), change_made.method
            )
        elif is_update(frame, "config_option_update"):
            yield OptionListing(
                frame, session_of(frame), update_of(frame).get("configOptions"), "session/update"
            )


def sets(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/set_config_option", direction="to_agent")


def listed_at(conversation: Conversation, session: str, number: int) -> OptionListing | None:
    """Return the last listing of a session before a moment."""
    mine = [
        listing
        for listing in listings(conversation)
        if listing.session == session and listing.frame.number < number
    ]
    return mine[-1] if mine else None


def values_of(option: JsonObject) -> list[str]:
    """Return the values of a select, with groups."""
    values: list[str] = []
    for choice in items(option.get("options")):
        if "options" in choice:
            values += values_of(choice)
        else:
            values.append(text(choice.get("value")))
    return values


def option_fault(options: object) -> str:
    """Return the mistake in the shape of a list of options; empty if there is none."""
    if type(options) is not list:
        return "configOptions is not a list"
    return next((fault for fault in map(_fault, options) if fault), "")


def _fault(option: Json) -> str:
    missing = missing_member(option, id=str, name=str, type=str)
    if not missing and option["type"] == "select":
        missing = missing_member(option, currentValue=str, options=list) or _choices_fault(option["options"])
    elif not missing and option["type"] == "boolean":
        missing = missing_member(option, currentValue=bool)
    return missing and f"configOptions: {missing} of an option is missing or wrong"


def _choices_fault(choices: list[Json]) -> str:
    for choice in choices:
        if type(choice) is dict and "options" in choice:
            if missing_member(choice, group=str, name=str, options=list) or _choices_fault(choice["options"]):
                return "a group"
        elif missing_member(choice, value=str, name=str):
            return "a choice"
    return ""


@rule_v1("CFG-01", "CFG-05", side="agent", fix="Give every option id, name, type and currentValue.")
def options_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        if listing.options is None:
            continue  # an answer without them lacks more than their shape
        fault = option_fault(listing.options)
        yield observe(not fault, listing.frame, fault)


@rule_v1("CFG-06", side="agent", fix="Give every option a value that holds if nobody sets one.")
def every_option_has_a_value(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        empty = [option for option in items(listing.options) if option.get("currentValue") is None]
        yield observe(not empty, listing.frame, "an option has no current value")


@rule_v1("CFG-07", side="agent", fix="Name one of the option's own values as its currentValue.")
def the_value_of_a_select_is_one_of_its_choices(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        selects = [option for option in items(listing.options) if option.get("type") == "select"]
        wrong = [option for option in selects if option.get("currentValue") not in values_of(option)]
        if selects:
            yield observe(not wrong, listing.frame, "a currentValue is not one of its option's choices")


@rule_v1("CFG-08", side="agent", fix="Send boolean options only to clients that advertise them.")
def booleans_are_for_clients_that_know_them(conversation: Conversation) -> Iterator[Observation]:
    knows = conversation.client_can("session", "configOptions", "boolean") not in (None, False)
    for listing in listings(conversation):
        has = any(option.get("type") == "boolean" for option in items(listing.options))
        if has or not knows:
            yield observe(knows or not has, listing.frame, "a boolean option, and the client knows none")


@rule_v1("CFG-11", side="agent", fix="Begin categories of your own with an underscore.")
def categories_are_known_or_private(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        categories = [
            option["category"] for option in items(listing.options) if option.get("category") is not None
        ]
        wrong = [name for name in categories if name not in CATEGORIES and not text(name).startswith("_")]
        if categories:
            yield observe(not wrong, listing.frame, "a category is neither known nor private")


@rule_v1("CFG-14", side="client", fix="Set an option with a text, or with type boolean and true or false.")
def an_option_is_set_with_a_value_of_its_kind(conversation: Conversation) -> Iterator[Observation]:
    for change in sets(conversation):
        kind = bool if change.params.get("type") == "boolean" else str
        missing = missing_member(change.params, sessionId=str, configId=str, value=kind)
        yield observe(not missing, change.request, f"{missing} is missing or wrong")


def is_legal(conversation: Conversation, exchange: Exchange) -> bool | None:
    """Whether a new value was offered; None if unknown."""
    listing = listed_at(conversation, session_of(exchange), exchange.request.number)
    if listing is None or option_fault(listing.options):
        return None
    option = listing.by_id.get(text(exchange.params.get("configId")))
    value = exchange.params.get("value")
    if option is None:
        return False if text(exchange.params.get("configId")) else None
    if option["type"] == "boolean":
        return type(value) is bool
    return value in values_of(option) if type(value) is str and option["type"] == "select" else None


@rule_v1("CFG-15", side="agent", fix="Read a text as the id of a value when type is absent or unknown.")
def the_type_of_a_text_does_not_matter(conversation: Conversation) -> Iterator[Observation]:
    for change in sets(conversation):
        is_text = type(change.params.get("value")) is str and change.params.get("type") != "boolean"
        if is_text and is_legal(conversation, change) and _can_judge(conversation, change):
            matches = [
                option
                for option in items(change.result.get("configOptions"))
                if option.get("id") == change.params["configId"]
            ]
            right = bool(matches) and matches[0].get("currentValue") == change.params["value"]
            yield observe(
                right, change.request, "a value that was offered has not become current", change.answer
            )


def _can_judge(conversation: Conversation, exchange: Exchange) -> bool:
    return (
        is_fair(conversation, exchange)
        and is_open(conversation, session_of(exchange), exchange.request.number) is True
    )


@rule_v1(
    "CFG-18",
    side="agent",
    fix="Refuse unknown options and values with -32602, and change nothing.",
    is_reading=True,
)
def what_was_not_offered_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for change in sets(conversation):
        if is_legal(conversation, change) is False and _can_judge(conversation, change):
            yield observe(change.code == BAD_PARAMS, change.request, "not refused with -32602", change.answer)


@rule_v1("CFG-19", side="agent", fix="Accept session/set_config_option at any time.")
def an_option_can_be_set_at_any_time(conversation: Conversation) -> Iterator[Observation]:
    for change in sets(conversation):
        if is_legal(conversation, change) and _can_judge(conversation, change):
            yield observe(
                change.has_result, change.request, "an offered value could not be set", change.answer
            )


@rule_v1("CFG-16", side="agent", fix="Answer session/set_config_option with the whole list of options.")
def the_answer_lists_all_options(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        if listing.source == "session/set_config_option" and listed_at(
            conversation, listing.session, listing.frame.number
        ):
            whole = type(listing.options) is list and not is_part(conversation, listing)
            yield observe(whole, listing.frame, "not all options are listed")


@rule_v1("CFG-17", side="agent", fix="Send the whole list of options with config_option_update.")
def an_update_lists_all_options(conversation: Conversation) -> Iterator[Observation]:
    for listing in listings(conversation):
        if listing.source == "session/update":
            whole = type(listing.options) is list and not is_part(conversation, listing)
            yield observe(whole, listing.frame, "not all options are listed")


def is_part(conversation: Conversation, listing: OptionListing) -> bool:
    """Whether another listing shows more with everything here unchanged: options may come and go with the
    values of others, but not by themselves.
    """
    mine = {name: option.get("currentValue") for name, option in listing.by_id.items()}
    for second in listings(conversation):
        if second.session != listing.session:
            continue
        theirs = {name: option.get("currentValue") for name, option in second.by_id.items()}
        if len(theirs) > len(mine) and _agree(mine, theirs):
            return True
    return False


def _agree(part: JsonObject, whole: JsonObject) -> bool:
    return all(name in whole and whole[name] == value for name, value in part.items())
