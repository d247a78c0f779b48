"""Authorisation: the table of methods, tokens and their scopes, and rate limits."""
