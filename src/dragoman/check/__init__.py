"""Conformance: what a peer did on the wire, judged requirement by requirement, with the frames as evidence.

Every judgement is a rule over a recording (`rules`), so a live examination and a file from somewhere else are
judged by the same code. Scenes make a live peer show what it does; they record, and judge nothing.
"""
