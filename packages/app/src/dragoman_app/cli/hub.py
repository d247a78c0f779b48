"""`dragoman hub`: the server that keeps sessions, even when clients or the hub itself end."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dragoman.errors import JournalError, LocalMistake
from dragoman.sdk.shutdown import first_of
from dragoman_app.apps.console import MISTAKEN, say
from dragoman_app.apps.log_lines import JsonFormatter, SafeFormatter
from dragoman_app.apps.terminals import is_hung_up, standard_terminals
from dragoman_hub.cluster.node import node_name, shown_place
from dragoman_hub.runner import RunningHub, drain, run_hub, tune_memory
from dragoman_hub.settings import HubSettings, offered_agents
from dragoman_hub.settings_file import load_settings
from dragoman_hub.web.page import Page
from dragoman_local.workspace.disk_threads import allow_many_threads


def run(args: argparse.Namespace) -> int:
    _set_up_logging(args)
    try:
        settings = _settings(args)
        if args.check:
            return _show(settings)
        return asyncio.run(_serve(args, settings))
    except JournalError as error:  # of a running hub, whoever needs the journal hears of it
        return _fail(args, f"can't use the journal: {error}", 1)
    except LocalMistake as mistake:
        return _fail(args, str(mistake), MISTAKEN)


def _settings(args: argparse.Namespace) -> HubSettings:
    options = {
        "listen": args.listen,
        "journal": args.journal,
        "default_agent": args.default_agent,
        "cluster.node": args.node,
        "hosts": args.host,
        "tls.certificate": args.tls_cert,
        "tls.key": args.tls_key,
        "insecure": args.insecure,
        "sandbox": args.sandbox,
    }
    overrides = {name: value for name, value in options.items() if value is not None}
    return load_settings(Path(args.config) if args.config else None, overrides=overrides)


def _show(settings: HubSettings) -> int:
    agents = offered_agents(settings)

    say(f"listen   {settings.listen}\njournal  {shown_place(settings)}\ntokens   {settings.tokens_path}")
    if node_name(settings):
        say(f"node     {node_name(settings)}")
    say(f"agents   {', '.join(sorted(agents))} (default: {settings.default_agent})")
    return 0


def _set_up_logging(args: argparse.Namespace) -> None:
    handler = logging.StreamHandler()
    text = SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    service = os.environ.get("OTEL_SERVICE_NAME") or "dragoman-hub"
    handler.setFormatter(JsonFormatter(service) if args.log_format == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # its lines tell of tickets


def _fail(args: argparse.Namespace, text: str, status: int) -> int:
    """Say why the hub ends; whoever reads standard error as JSON gets a line of the log."""
    if args.log_format == "json":
        logging.getLogger("dragoman_hub").error("%s", text)
    else:
        say(f"dragoman hub: {text}", file=sys.stderr)
    return status


async def _serve(args: argparse.Namespace, settings: HubSettings) -> int:
    stop_event, second_stop_event = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    allow_many_threads()

    def leave() -> None:
        (second_stop_event if stop_event.is_set() else stop_event).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows: the interrupt cancels the task by itself
            loop.add_signal_handler(number, leave)
    page = Page(hubs=lambda: settings.hubs)
    async with run_hub(settings, page=page) as run:
        tune_memory()
        page.hubs = lambda: run.hub.options.hubs  # a reload may change them
        if args.link and run.token is None:
            run.token = run.store.add_link()  # links that were printed before stay good
            run.refresh_tokens()
        _on_hangup(args, run, leave)
        _say(args, run)
        await stop_event.wait()
        await first_of(drain(run.hub, cluster=run.cluster), second_stop_event.wait())
        run.app.endpoint.leave()  # clients hear that we go, not that their agents did
        # Turns that are still running go on with agents that outlive us, until the next hub or their time.
        is_busy = any(session.state.is_busy for session in run.hub.sessions.values())
        await run.hub.aclose(keep_agents=is_busy)
    return 0


def _on_hangup(args: argparse.Namespace, run: RunningHub, leave: Callable[[], None]) -> None:
    """A signal says two things: that the terminal is gone, which ends the hub as every program in it, and to
    a hub without one, or whose terminal is there, that the configuration is to be read again.
    """
    terminals = standard_terminals()

    def reload() -> None:
        if any(map(is_hung_up, terminals)):
            leave()
            return
        log = logging.getLogger("dragoman_hub")
        try:
            notes = run.reload(_settings(args))
        except LocalMistake as error:
            log.error("configuration not reloaded: %s", error)
        else:
            log.info("configuration reloaded%s", "".join(f"; {note}" for note in notes))

    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)


def _say(args: argparse.Namespace, run: RunningHub) -> None:
    """Where it is; the token, if it was just made, stands in the part of the address that is never sent."""
    page = run.url + (f"#token={run.token}" if run.token else "")
    ws = run.url.replace("http", "ws", 1) + "acp"
    if args.json or args.log_format == "json":  # both streams may be read as one log
        say(json.dumps({"page": page, "acp": ws, "token": run.token}), flush=True)
        return
    say(f"The page:     {page}\nFor programs: {ws}", flush=True)
    if run.token:
        say(f"The token (shown only once): {run.token}", file=sys.stderr, flush=True)
    else:
        print(
            "Clients need one of your tokens. To create another token: dragoman hub token add NAME",
            file=sys.stderr,
        )
        print("To open the page without typing a token: dragoman hub --link", file=sys.stderr)
