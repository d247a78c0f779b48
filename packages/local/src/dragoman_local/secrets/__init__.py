"""Recognises secrets in text, for all packages. Pure: text in, spans or a redacted text out."""
