"""The two generated files that are data: the method table, and what of a version is unstable."""

from __future__ import annotations

from .methods import Method
from .model import Choice, Struct, Union, Version
from .render import HEADER, listing, quoted


def methods_module(version: Version, methods: list[Method]) -> str:
    lines = [
        HEADER,
        f'"""The methods of protocol version {version.name[1:]}: receiver, types, and what opens each."""\n',
        "from __future__ import annotations\n\nfrom typing import Final\n",
        "from dragoman.schema.method import Method, MethodTable",
        "\nMETHODS: Final = MethodTable(__package__, [",
        *(f"    {_row(method)}," for method in methods),
        "])",
    ]
    return "\n".join(lines) + "\n"


def _row(method: Method) -> str:
    parts = [quoted(method.name), f"receiver={quoted(method.receiver)}", f"kind={quoted(method.kind)}"]
    parts += [f"params={quoted(method.params)}"]
    parts += [f"result={quoted(method.result)}"] if method.result else []
    parts += [] if method.stable else ["stable=False"]
    parts += [f"capability={quoted(method.capability)}"] if method.capability else []
    parts += ["preempts=True"] if method.preempts else []
    parts += ["session_scoped=True"] if method.session_scoped else []
    return f"Method({', '.join(parts)})"


def unstable_module(stable: Version, unstable: Version) -> str:
    """What the stable schema of the same release does not have."""
    types = set(unstable.items) - set(stable.items)
    fields, variants = set(), set()
    for name in set(unstable.items) & set(stable.items):
        new, old = unstable.items[name], stable.items[name]
        if isinstance(new, Struct) and isinstance(old, Struct):
            known = {field.wire for field in old.fields}
            fields |= {f"{name}.{field.wire}" for field in new.fields if field.wire not in known}
        elif isinstance(new, Union | Choice):
            variants |= {f"{name}.{tag}" for tag in _tags(new, unstable) - _tags(old, stable)}
    return (
        f"{HEADER}\n"
        f'"""What of protocol version {unstable.name[1:]} may still change in any release."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        f"TYPES: Final[frozenset[str]] = {listing(types)}\n"
        f'"""Names of types."""\n\n'
        f"FIELDS: Final[frozenset[str]] = {listing(fields)}\n"
        f'"""Fields of stable types, as `Type.wireName`."""\n\n'
        f"VARIANTS: Final[frozenset[str]] = {listing(variants)}\n"
        f'"""Members of stable unions, as `Union.tag`."""\n'
    )


def _tags(item: object, version: Version) -> set[str]:
    if isinstance(item, Choice):
        return {tag for tag, _ in item.members}
    if isinstance(item, Union):
        structs = [version.items[member] for member in item.members]
        return {struct.tag[1] for struct in structs if isinstance(struct, Struct) and struct.tag}
    return set()
