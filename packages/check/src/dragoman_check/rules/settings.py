"""CFG: options together with modes, and how a client uses options."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import JsonObject
from dragoman_check.conversation import Conversation, is_update, update_of
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.rules.options import (
    CATEGORIES,
    OptionListing,
    listed_at,
    listings,
    option_fault,
    sets,
    values_of,
)
from dragoman_check.timeline import observe_survival, session_of, setup_at, setups
from dragoman_check.values import items, text


def mode_option(listing: OptionListing | None) -> JsonObject:
    """Return the option for the mode; empty if there is none."""
    options = items(listing.options) if listing is not None else []
    return next((option for option in options if option.get("category") == "mode"), {})


@rule_v1("CFG-02", side="client", fix="Where options are offered, set those and not modes.")
def options_are_used_instead_of_modes(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("session/set_mode", "session/set_config_option", direction="to_agent"):
        setup = setup_at(conversation, session_of(call), call.request.number)
        modes = setup.exchange.result.get("modes") if setup is not None else None
        if modes is not None and mode_option(listed_at(conversation, session_of(call), call.request.number)):
            right = call.method == "session/set_config_option"
            yield observe(right, call.request, "a mode was set although it is an option too")


@rule_v1("CFG-03", side="client", fix="Where only modes are offered, set them with session/set_mode.")
def without_options_modes_are_used(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("session/set_mode", "session/set_config_option", direction="to_agent"):
        setup = setup_at(conversation, session_of(call), call.request.number)
        modes = setup.exchange.result.get("modes") if setup is not None else None
        if modes is not None and listed_at(conversation, session_of(call), call.request.number) is None:
            right = call.method == "session/set_mode"
            yield observe(right, call.request, "an option was set although only modes were offered")


@rule_v1("CFG-04", side="agent", fix="Offer modes as an option of category mode too.")
def modes_and_the_option_say_the_same(conversation: Conversation) -> Iterator[Observation]:
    for setup in setups(conversation):
        modes, options = setup.exchange.result.get("modes"), setup.exchange.result.get("configOptions")
        if type(modes) is dict and type(options) is list:
            option = mode_option(OptionListing(setup.exchange.request, setup.session, options, ""))
            if not option:
                yield observe(False, setup.exchange.answer, "modes are not offered as an option")
            elif text(modes.get("currentModeId")) in values_of(option):
                right = option.get("currentValue") == modes["currentModeId"]
                yield observe(right, setup.exchange.answer, "the mode and its option differ")
    yield from _set_modes(conversation)


def _set_modes(conversation: Conversation) -> Iterator[Observation]:
    """After a mode is set, the next list of options has it, unless something else was set meanwhile."""
    for call in conversation.calls("session/set_mode", direction="to_agent"):
        if not call.has_result or call.answer is None:
            continue
        for frame in conversation.between(call.answer, None):
            if frame.method in ("session/set_mode", "session/set_config_option", "session/prompt"):
                break
            if is_update(frame, "current_mode_update") and session_of(frame) == session_of(call):
                break
            if is_update(frame, "config_option_update") and session_of(frame) == session_of(call):
                option = mode_option(OptionListing(frame, "", update_of(frame).get("configOptions"), ""))
                if call.params.get("modeId") in values_of(option):
                    right = option.get("currentValue") == call.params["modeId"]
                    yield observe(right, frame, "a mode was set, and its option differs", call.request)
                break


@rule_v1("CFG-09", side="client", fix="Leave out options of a type that is not known.")
def a_client_lives_with_options_of_unknown_types(conversation: Conversation) -> Iterator[Observation]:
    odd = [
        listing
        for listing in listings(conversation)
        if any(
            type(option.get("type")) is str and option["type"] not in ("select", "boolean")
            for option in items(listing.options)
        )
    ]
    yield from observe_survival(
        conversation, [odd_listing.frame for odd_listing in odd], "an option of an unknown type"
    )
    for change in sets(conversation):
        listing = listed_at(conversation, session_of(change), change.request.number)
        option = listing.by_id.get(text(change.params.get("configId"))) if listing is not None else None
        if option is not None and listing in odd:
            right = option.get("type") in ("select", "boolean")
            yield observe(right, change.request, "an option of an unknown type was set")


@rule_v1("CFG-10", side="client", fix="Accept options whose category is missing or unknown.")
def a_client_lives_with_unknown_categories(conversation: Conversation) -> Iterator[Observation]:
    odd = [
        listing.frame
        for listing in listings(conversation)
        if not option_fault(listing.options)
        and any(option.get("category") not in CATEGORIES for option in items(listing.options))
    ]
    yield from observe_survival(conversation, odd, "an option whose category is missing or unknown")


@rule_v1("CFG-20", side="client", fix="Forget all earlier options when a list of them arrives.")
def each_list_replaces_the_one_before(conversation: Conversation) -> Iterator[Observation]:
    for change in sets(conversation):
        option_id = text(change.params.get("configId"))
        mine = [
            listing
            for listing in listings(conversation)
            if listing.session == session_of(change) and listing.frame.number < change.request.number
        ]
        removed_ids = {name for listing in mine[:-1] for name in listing.by_id} - set(
            mine[-1].by_id if mine else ()
        )
        if removed_ids:
            yield observe(
                option_id not in removed_ids, change.request, "an option that is no longer offered was set"
            )
