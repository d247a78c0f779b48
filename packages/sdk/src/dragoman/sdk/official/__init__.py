"""Runs agents that were written for the official Python SDK."""

from dragoman.sdk.official.adapter import adapt

__all__ = ["adapt"]
