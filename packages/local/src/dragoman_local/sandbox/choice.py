"""What a command line or a file says of the sandbox, checked. Most starts never load the wall itself."""

from __future__ import annotations

from dragoman_local.sandbox.boundary import SandboxChoice, parse_profile


def chosen_sandbox(text: str | None) -> SandboxChoice:
    """Raises `LocalMistake` for what is no profile, and for one that this machine cannot hold: whoever chose
    a wall must not get less.
    """
    if not text or text == "auto":
        return "auto"
    profile = parse_profile(text)
    if profile != "off":
        from dragoman_local.sandbox.wall import hold_or_refuse

        hold_or_refuse(profile)
    return profile
