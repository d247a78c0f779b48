"""Turns the published JSON schemas of the Agent Client Protocol into the typed messages of `dragoman.schema`.

Reading order: `source` (which files, pinned), `names` (our words for things), `model` (what there is to
write), `fields` and `unions` (JSON schema to model), `methods` (the method table), `render` (model to
Python).
"""
