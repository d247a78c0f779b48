"""The live examination of an agent: a connection that keeps every line, an editor, and scenes."""
