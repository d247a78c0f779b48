"""Who may do what: one table of methods, tokens and their scopes, rates."""
