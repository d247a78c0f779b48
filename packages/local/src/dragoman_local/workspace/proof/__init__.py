"""A policy that is proved on what was recorded: the acts of journals, and what it would say of them."""
