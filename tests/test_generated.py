"""What is generated and committed is what its generator writes today."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GENERATOR = ROOT / "tools" / "generate_schema.py"
PACKAGE = ROOT / "tests" / "interop" / "ts" / "node_modules" / "@agentclientprotocol" / "sdk"


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="the TypeScript SDK is not installed: make setup needs npm")
def test_the_generated_schema_is_fresh() -> None:
    check = subprocess.run([sys.executable, GENERATOR, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert check.returncode == 0, f"run make schema\n{check.stdout}{check.stderr}"


@pytest.mark.skipif(
    not (ROOT / "packages/hub/web").is_dir(), reason="the sources of the page are not part of this archive"
)
def test_the_page_has_the_terminals_table_of_characters() -> None:
    generator = ROOT / "tools" / "generate_characters.py"
    check = subprocess.run([sys.executable, generator, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert check.returncode == 0, f"{check.stdout}{check.stderr}"
