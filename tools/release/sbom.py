"""What a release is made of, as a CycloneDX document.

Three kinds of parts: what `pip install dragoman` brings (`required`), what extras add (`optional`), and what
is built into the page of the hub. Each part of pip names the wheels and extras that need it. A range of
versions is no version: a part has the version that our tests run with, where one is pinned, and always the
range that is permitted. The same sources make the same document.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from release.inspection import WHEELS

Part = dict[str, Any]
EXTRAS = "optional-dependencies"
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)")


def make_sbom(root: Path, files: list[Path], *, version: str, epoch: int) -> bytes:
    """The document for these built files of the project in `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    us = {
        "type": "library",
        "bom-ref": f"pkg:pypi/dragoman@{version}",
        "name": "dragoman",
        "version": version,
        "description": project["description"],
        "licenses": [{"expression": project["license"]}],
        "purl": f"pkg:pypi/dragoman@{version}",
        "externalReferences": [
            {"type": "distribution", "url": name, "hashes": [{"alg": "SHA-256", "content": digest}]}
            for name, digest in sorted(digests.items())
        ],
    }
    parts = [*python_parts(root, project), *page_parts(root)]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(digests, sort_keys=True))}",
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "component": us},
        "components": parts,
        "dependencies": [
            {"ref": us["bom-ref"], "dependsOn": sorted(part["bom-ref"] for part in parts)},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def python_parts(root: Path, project: dict[str, Any]) -> list[Part]:
    """What pip installs with our wheels and their extras; versions are those of the tools of developers."""
    dev = map(split, project[EXTRAS]["dev"])
    pins = {name: bounds[2:] for name, bounds in dev if bounds.startswith("==")}
    required = {name for name, _ in map(split, project["dependencies"])}
    wanted: dict[str, tuple[str, list[str]]] = {}
    for wheel in WHEELS.values():
        text = (root / "packages" / wheel.box / "pyproject.toml").read_text("utf-8")
        ours = tomllib.loads(text)["project"]
        extras = {f"{ours['name']}[{extra}]": lines for extra, lines in ours.get(EXTRAS, {}).items()}
        for needed_by, lines in {ours["name"]: ours["dependencies"], **extras}.items():
            for name, bounds in map(split, lines):
                if not name.startswith("dragoman"):
                    wanted.setdefault(name, (bounds, []))[1].append(needed_by)
    return [
        python_part(name, bounds, needed_by, pins.get(name), is_required=name in required)
        for name, (bounds, needed_by) in sorted(wanted.items())
    ]


def python_part(name: str, bounds: str, needed_by: list[str], pin: str | None, *, is_required: bool) -> Part:
    purl = f"pkg:pypi/{name}" + (f"@{pin}" if pin else "")
    properties = [{"name": "dragoman:requirement", "value": bounds}]
    properties += [{"name": "dragoman:needed-by", "value": one} for one in needed_by]
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        **({"version": pin} if pin else {}),
        "scope": "required" if is_required else "optional",
        "purl": purl,
        "properties": properties,
    }


def page_parts(root: Path) -> list[Part]:
    """What the build of the page puts into it; types are gone when it is built."""
    lock = json.loads((root / "packages/hub/web/package-lock.json").read_text("utf-8"))["packages"]
    return [
        page_part(path.removeprefix("node_modules/"), entry)
        for path, entry in sorted(lock.items())
        if path and not entry.get("dev") and "/@types/" not in path
    ]


def page_part(name: str, entry: dict[str, Any]) -> Part:
    purl = f"pkg:npm/{quote(name, safe='/')}@{entry['version']}"
    algorithm, _, digest = entry["integrity"].partition("-")
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": entry["version"],
        "scope": "required",
        "hashes": [
            {"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}
        ],
        "licenses": [{"license": {"id": entry["license"]}}],
        "purl": purl,
        "properties": [{"name": "dragoman:bundled-in", "value": "dragoman_hub/web/static"}],
    }


def split(line: str) -> tuple[str, str]:
    """The name of a requirement as registries spell it, and the versions that it permits."""
    match = REQUIREMENT.match(line)
    assert match is not None, line
    return re.sub(r"[-_.]+", "-", match[1]).lower(), match[2].strip()
