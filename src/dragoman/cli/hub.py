"""`dragoman hub`: the server that keeps sessions, whatever happens to their clients and to itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dragoman.cli import hub_status, hub_tokens
from dragoman.cli.console import say

EPILOG = """examples:
  dragoman hub                                    the built-in agents, at http://127.0.0.1:8765/
  dragoman hub --link                             and an address of the page that is good at once
  dragoman hub --listen 127.0.0.1:9000 --journal ~/hub.db
  dragoman hub --journal nats://one:4222,two:4222/team --node left    one of several hubs
  dragoman hub --config hub.toml --check          is the configuration right?
  dragoman hub token add phone --scope observe --scope approve
  dragoman hub status
  dragoman connect ws://127.0.0.1:8765/acp        the hub as an agent for any editor
  dragoman inbox                                  what agents are waiting for

Sessions are in the journal before anything happens in them: clients come and go, the hub can be killed, and
nothing is lost. It is closed by default: loopback, and a token that is shown once, when the first is made.
SIGHUP reads the configuration again, unless the terminal is closed, which ends the hub like SIGTERM: turns
end first, and a second signal does not wait.
The configuration is described in docs/hub-configuration.md.

exit status: 0 when it was told to end, 2 when it cannot run as it is told to
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    hub = commands.add_parser(
        "hub",
        help="the server: sessions that survive every disconnect and restart, and a web page",
        description="The server: sessions that survive every disconnect and restart, and a web page.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    hub.fill = _fill


def _fill(hub: argparse.ArgumentParser) -> None:
    hub.add_argument(
        "--config", metavar="FILE", help="a TOML file (~/.config/dragoman/hub.toml if it is there)"
    )
    hub.add_argument("--listen", metavar="HOST:PORT", help="where (127.0.0.1:8765)")
    hub.add_argument("--host", metavar="NAME", action="append", help="another name of the hub, with its port")
    hub.add_argument("--tls-cert", metavar="FILE", help="certificate, in PEM form")
    hub.add_argument("--tls-key", metavar="FILE", help="its key")
    hub.add_argument(
        "--insecure",
        action="store_true",
        default=None,
        help="listen off loopback without TLS, behind a proxy",
    )
    hub.add_argument(
        "--journal",
        metavar="ADDRESS",
        help="where sessions are kept: a file (below ~/.local/share), or nats://… shared with other hubs",
    )
    hub.add_argument("--node", metavar="NAME", help="its name among the hubs of one journal (the machine's)")
    hub.add_argument(
        "--default-agent", metavar="NAME", help="which agent is meant when none is named (review)"
    )
    hub.add_argument(
        "--check", action="store_true", help="read the configuration, say what it means, and end"
    )
    hub.add_argument(
        "--link", action="store_true", help="print an address of the page that lets its reader in"
    )
    hub.add_argument(
        "--http2", action="store_true", default=None, help="speak HTTP/2 too (experimental; extra 'http2')"
    )
    hub.add_argument("--json", action="store_true", help="say where it is as JSON, on one line")
    more = hub.add_subparsers(metavar="COMMAND", title="commands beside running it")
    hub_tokens.add_token_parsers(more)
    hub_status.add_status_parser(more)
    hub.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    from dragoman.errors import JournalError, LocalMistake

    try:
        from dragoman.hub.api import listener  # noqa: F401 -- whether it can be imported at all
    except ImportError as error:
        say(f"dragoman hub: needs the extra 'hub': pip install 'dragoman[hub]' ({error})", file=sys.stderr)
        return 2
    try:
        settings = _settings(chosen)
        if chosen.check:
            return _show(settings)
        return asyncio.run(_serve(chosen, settings))
    except LocalMistake as error:
        say(f"dragoman hub: {error}", file=sys.stderr)
        return 2
    except JournalError as error:  # of a running hub, whoever needs the journal hears of it
        say(f"dragoman hub: the journal cannot be used: {error}", file=sys.stderr)
        return 1


def _settings(chosen: argparse.Namespace) -> Any:
    from pathlib import Path

    from dragoman.hub.settings_file import load_settings

    given = {
        "listen": chosen.listen,
        "journal": chosen.journal,
        "default_agent": chosen.default_agent,
        "cluster.node": chosen.node,
        "http2": chosen.http2,
        "hosts": chosen.host,
        "tls.certificate": chosen.tls_cert,
        "tls.key": chosen.tls_key,
        "insecure": chosen.insecure,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    return load_settings(Path(chosen.config) if chosen.config else None, overrides=overrides)


def _show(settings: Any) -> int:
    from dragoman.hub.settings import offered_agents

    agents = offered_agents(settings)
    from dragoman.hub.cluster.node import node_name, shown_place

    say(f"listen   {settings.listen}\njournal  {shown_place(settings)}\ntokens   {settings.tokens_path}")
    if node_name(settings):
        say(f"node     {node_name(settings)}")
    say(f"agents   {', '.join(sorted(agents))} (default: {settings.default_agent})")
    return 0


async def _serve(chosen: argparse.Namespace, settings: Any) -> int:
    import asyncio
    import logging
    import signal

    from dragoman.cli.log_lines import SafeFormatter
    from dragoman.hub.runner import drain, run_hub
    from dragoman.sdk.shutdown import first_of

    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # its lines tell of tickets
    asked, again = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def leave() -> None:
        (again if asked.is_set() else asked).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows: the interrupt cancels the task by itself
            loop.add_signal_handler(number, leave)
    async with run_hub(settings, page=_page()) as run:
        if chosen.link and run.token is None:
            run.token = run.store.add_link()  # links that were printed before stay good
            run.refresh_tokens()
        _on_hangup(chosen, run, leave)
        _say(chosen, run)
        await asked.wait()
        await first_of(drain(run.hub, cluster=run.cluster), again.wait())
        run.app.endpoint.leave()  # clients hear that we go, not that their agents did
        # Turns that are still running go on with agents that outlive us, until the next hub or their time.
        await run.hub.aclose(keep_agents=_is_busy(run.hub))
    return 0


def _is_busy(hub: Any) -> bool:
    return any(session.state.is_busy for session in hub.sessions.values())


def _page() -> Any:
    from dragoman.web.page import Page

    return Page()


def _on_hangup(chosen: argparse.Namespace, run: Any, leave: Callable[[], None]) -> None:
    """A signal says two things: that the terminal is gone, which ends the hub as every program in it, and to
    a hub without one, or whose terminal is there, that the configuration is to be read again.
    """
    import asyncio
    import logging
    import signal

    from dragoman.cli.terminals import held_terminals, is_hung_up
    from dragoman.errors import LocalMistake

    terminals = held_terminals()

    def reload() -> None:
        if any(map(is_hung_up, terminals)):
            leave()
            return
        log = logging.getLogger("dragoman.hub")
        try:
            told = run.reload(_settings(chosen))
        except LocalMistake as error:
            log.error("the configuration stays as it was: %s", error)
        else:
            log.info("the configuration was read again%s", "".join(f"; {one}" for one in told))

    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)


def _say(chosen: argparse.Namespace, run: Any) -> None:
    """Where it is; the token, if it was just made, stands in the part of the address that is never sent."""
    page = run.url + (f"#token={run.token}" if run.token else "")
    ws = run.url.replace("http", "ws", 1) + "acp"
    if chosen.json:
        import json

        say(json.dumps({"page": page, "acp": ws, "token": run.token}), flush=True)
        return
    say(f"The page:     {page}\nFor clients:  {ws}", flush=True)
    if run.token:
        say(f"The token, which is shown only now: {run.token}", file=sys.stderr, flush=True)
    else:
        print("Clients bring a token of yours; `dragoman hub token add NAME` makes another.", file=sys.stderr)
        print("`dragoman hub --link` prints an address of the page that is good at once.", file=sys.stderr)
