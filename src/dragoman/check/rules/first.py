"""Rules about version 1: they say nothing about a conversation that agreed upon a later one."""

from __future__ import annotations

from functools import partial

from dragoman.check.rule import rule

rule_v1 = partial(rule, versions=(1,))
