"""The settings of a hub: the names, types and defaults in its file, and which of them a reload may change.

Values only: `settings_file` makes them from a file, `offered_agents` says which agents they add up to.
Everything has a default, so that `HubSettings()` is a hub that works. The table of
docs/hub-configuration.md is held to these classes by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from msgspec import Struct, field
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.system.folders import user_folder
from dragoman_hub.gate.rates import Rate
from dragoman_local.journal.contract import Durability
from dragoman_local.journal.history import history_path
from dragoman_local.known import KnownAgent, known_agents
from dragoman_local.known.lookup import BUILT_IN


class Kind(Struct, frozen=True):
    """The kind of a value, with its word in the documentation; `least` limits numbers."""

    word: str
    least: float = 0


Text: TypeAlias = Annotated[str, Kind("text")]
Texts: TypeAlias = Annotated[tuple[str, ...], Kind("list of texts")]
Words: TypeAlias = Annotated[tuple[str, ...], Kind("list of words")]
Hosts: TypeAlias = Annotated[tuple[str, ...], Kind("list of hosts")]
Origins: TypeAlias = Annotated[tuple[str, ...], Kind("list of origins")]
HubAddresses: TypeAlias = Annotated[tuple[str, ...], Kind("list of hubs")]
Variables: TypeAlias = Annotated[Mapping[str, str], Kind("table of texts")]
File: TypeAlias = Annotated[str, Kind("path")]
Place: TypeAlias = Annotated[str, Kind("HOST:PORT")]
Store: TypeAlias = Annotated[str, Kind("path or nats:// address")]
Url: TypeAlias = Annotated[str, Kind("URL")]
KeyPlace: TypeAlias = Annotated[str, Kind("place of a key")]
NodeName: TypeAlias = Annotated[str, Kind("name of a node")]
MappedFolders: TypeAlias = Annotated[tuple[str, ...], Kind("list of mapped folders")]
AgentPlace: TypeAlias = Annotated[str, Kind("place of an agent")]
SandboxProfile: TypeAlias = Annotated[str, Kind("sandbox profile")]
SandboxChoice: TypeAlias = Annotated[str, Kind("auto or sandbox profile")]
DialectName: TypeAlias = Annotated[str, Kind("dialect")]
Flag: TypeAlias = Annotated[bool, Kind("true or false")]
Size: TypeAlias = Annotated[int, Kind("size", least=1024)]
Count: TypeAlias = Annotated[int, Kind("number", least=1)]
CountOrNone: TypeAlias = Annotated[int, Kind("number", least=0)]
Seconds: TypeAlias = Annotated[float, Kind("seconds")]
PerTime: TypeAlias = Annotated[Rate, Kind("rate")]

MIB = 1024 * 1024


class TlsFiles(Struct, frozen=True, kw_only=True):
    """Files in PEM form; both or none."""

    certificate: File = ""
    key: File = ""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """One agent: a command to start, or the address of a running one."""

    command: Words = ()
    url: Url = ""
    title: Text = ""
    description: Text = ""
    env: Variables = field(default_factory=dict)
    allow: Texts = ()
    """Names of our own variables that it may use, besides the harmless ones."""
    dialect: DialectName = "auto"
    place: AgentPlace = ""
    """Its machine or container, if not this machine: its files and terminals are there, and so is `cwd`."""
    map: MappedFolders = ()
    """Folders here and there, `HERE=THERE`."""
    cwd: File = ""
    sandbox: SandboxProfile = "off"
    """The sandbox around its own processes."""
    state: Texts = ()
    """Further files and folders that it may write to in the sandbox, below the home folder."""
    linger: Seconds = 60.0
    idle: Seconds = 600.0
    restarts: CountOrNone = 5
    sessions: Count = 100
    needs: Texts = ()
    """Labels that a node must have to run it."""

    def __repr__(self) -> str:  # values of variables may be secrets
        return f"AgentSettings(command={list(self.command)!r}, url={self.url!r}, env={sorted(self.env)!r})"


class LimitSettings(Struct, frozen=True, kw_only=True):
    """Limits on the work that clients can cause."""

    message: Size = 16 * MIB
    connections: Count = 256
    unadmitted: Count = 128
    unadmitted_per_address: Count = 64
    head: Annotated[float, Kind("seconds", least=1)] = 10.0
    sessions: Count = 10_000
    unread: Size = 8 * MIB
    prompts_queued: Count = 32
    originals: Seconds = 7 * 86400.0
    prompt_rate: PerTime = Rate(60, 60.0)
    connect_rate: PerTime = Rate(120, 60.0)


class ApprovalSettings(Struct, frozen=True, kw_only=True):
    """The handling of unanswered questions, and questions that are never asked."""

    expire: Seconds = 0.0
    on_expiry: Literal["reject", "cancel"] = "reject"
    policy: File = ""


class DetachedSettings(Struct, frozen=True, kw_only=True):
    """The handling of a turn, and of an idle session, when its last client has left."""

    on_last_leave: Literal["go-on", "cancel"] = "go-on"
    after: Seconds = 0.0
    release_after: Seconds = 300.0


class EncryptionSettings(Struct, frozen=True, kw_only=True):
    """The place of the journal's key; without a key the journal is not encrypted."""

    key: KeyPlace = ""


class TelemetrySettings(Struct, frozen=True, kw_only=True):
    """Data that the hub exports."""

    metrics: Flag = True
    otlp: Url = ""
    traces: Flag = False


class PushSettings(Struct, frozen=True, kw_only=True):
    """Messages to devices whose page is closed."""

    contact: Text = ""
    """An address (mailto: or https:) for operators of push services; empty means the hub's own name."""
    private: Flag = False
    """Whether push services may have private addresses, and no TLS on this machine."""


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """This hub as one of several on the same journal; only for a journal that can be shared."""

    node: NodeName = ""
    """The name of the node; empty means the machine's own name."""
    labels: Texts = ()
    roots: Texts = ()
    """Folders for sessions here; none means all."""
    lease: Annotated[float, Kind("seconds", least=1)] = 8.0


class HubSettings(Struct, frozen=True, kw_only=True):
    """All settings."""

    listen: Place = "127.0.0.1:8765"
    journal: Store = ""
    durability: Durability = "full"
    keep_days: CountOrNone = 0
    """The days without a message after which a session is forgotten; 0 keeps all."""
    hosts: Hosts = ()
    origins: Origins = ()
    hubs: HubAddresses = ()
    insecure: Flag = False
    default_agent: Text = "review"
    known_agents: Flag = True
    agent_installs: Literal["loopback", "always", "never"] = "loopback"
    files: Literal["client", "hub"] = "client"
    sandbox: SandboxChoice = "auto"
    """The sandbox around commands in terminals of the hub."""
    tls: TlsFiles = TlsFiles()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    limits: LimitSettings = LimitSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    detached: DetachedSettings = DetachedSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    push: PushSettings = PushSettings()
    cluster: ClusterSettings = ClusterSettings()

    @property
    def journal_place(self) -> str:
        """The path or address of the journal, the usual one by default."""
        return self.journal or str(data_folder() / "hub.db")

    @property
    def tokens_path(self) -> Path:
        """The path of the tokens: beside the journal, if that is a file."""
        remote = "://" in self.journal_place
        return (data_folder() if remote else Path(self.journal_place).parent) / "tokens.json"


NEEDS_RESTART = (
    *("listen", "journal", "durability", "insecure", "tls", "encryption", "telemetry", "push", "sandbox"),
    *(
        "cluster",
        "limits.message",
        "limits.connections",
        "limits.unadmitted",
        "limits.unadmitted_per_address",
    ),
    *("limits.head", "limits.unread", "limits.connect_rate"),
)
"""Settings that are bound, opened or passed on when the hub starts. All others follow a reload."""


def changed_settings(old: HubSettings, new: HubSettings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of changed settings: those that a reload applies, and those that need a restart."""
    differing = _changed_paths(old, new, "")
    waiting = tuple(name for name in differing if needs_restart(name))
    return tuple(name for name in differing if name not in waiting), waiting


def needs_restart(name: str) -> bool:
    return any(name == need or name.startswith(f"{need}.") for need in NEEDS_RESTART)


def _changed_paths(old: Any, new: Any, prefix: str) -> list[str]:
    paths: list[str] = []
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if name == "agents":
            names = sorted({*before, *after})
            paths += [f"agents.{name}" for name in names if before.get(name) != after.get(name)]
        elif isinstance(before, Struct) and not isinstance(before, Rate):
            paths += _changed_paths(before, after, f"{prefix}{name}.")
        elif before != after:
            paths.append(f"{prefix}{name}")
    return paths


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return this user's data folder, of the history and of the hub."""
    return history_path(environ).parent


def settings_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the file, even if it does not exist."""
    return user_folder("config", environ) / "hub.toml"


# What the classes say of themselves, for the reader of the file and for its schema.


def fields_of(table: type[Struct]) -> dict[str, Any]:
    """Return the names of a table's keys and their types."""
    return get_type_hints(table, include_extras=True)


def choices_of(hint: object) -> tuple[str, ...]:
    """Return the words of a choice; empty for other types."""
    return get_args(hint) if get_origin(hint) is Literal else ()


def kind_of(hint: object) -> Kind:
    if get_origin(hint) is Annotated:
        return next(arg for arg in get_args(hint) if isinstance(arg, Kind))
    return Kind("one of " + ", ".join(choices_of(hint)))


def offered_agents(
    settings: HubSettings, *, agents: list[KnownAgent] | None = None
) -> Mapping[str, AgentSettings]:
    """Return the agents of the file, those that come with dragoman, and those that are known by name, each
    with a command or a url. The file has priority, and may add to an agent that it does not define. Raises
    `LocalMistake` if the default agent is not among them.
    """
    offers = {agent.name: _known_settings(agent) for agent in BUILT_IN}
    if settings.known_agents:
        for agent in known_agents() if agents is None else agents:
            offers.setdefault(agent.name, _known_settings(agent))
    for name, agent_settings in settings.agents.items():
        offers[name] = _complete(agent_settings, offers.get(name))
    if settings.default_agent not in offers:
        names = ", ".join(sorted(offers))
        raise LocalMistake(f"default_agent: unknown agent {settings.default_agent!r}. Choose from {names}")
    return offers


def _known_settings(agent: KnownAgent) -> AgentSettings:
    return AgentSettings(
        command=agent.command,
        url=agent.address or "",
        title=agent.title,
        env=dict(agent.env),
        allow=agent.allow,
        place=agent.place,
        map=agent.maps,
    )


def _complete(settings: AgentSettings, defaults: AgentSettings | None) -> AgentSettings:
    """The settings of the file, completed by what is known of the agent without them."""
    if settings.command or settings.url or defaults is None:
        return settings
    return replace(
        settings,
        command=defaults.command,
        url=defaults.url,
        title=settings.title or defaults.title,
        env={**defaults.env, **settings.env},
        allow=(*defaults.allow, *settings.allow),
        place=settings.place or defaults.place,
        map=settings.map or defaults.map,
    )
