"""From the entries of a conversation to lines of styled text, at a given width."""
