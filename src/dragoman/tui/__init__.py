"""The terminal client: `dragoman chat`.

Written with Textual against the public face alone. What it stands on (agents, files, history, permissions) is
handed in as a `House` (see `ports`); `dragoman.cli.chat` builds one. Everything that comes from an agent is
hostile text: it is sanitized where it is drawn, and never read as markup.

Reading order: `ports`, `text` and `model` (pure), `drawing` (entries to lines), `conversation` (turns and
the queue, without a screen), `widgets`, `screens`, `app`.
"""
