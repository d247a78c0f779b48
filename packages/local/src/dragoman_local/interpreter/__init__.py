"""Interpreters that use this machine: permission decisions, recordings, files for other dialects."""
