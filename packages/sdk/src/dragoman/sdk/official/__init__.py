"""Agents written for the official Python SDK, on our runtime."""

from dragoman.sdk.official.adapter import adapt

__all__ = ["adapt"]
