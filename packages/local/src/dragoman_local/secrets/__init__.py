"""The one place that knows what secrets look like. Pure: text in, spans or a redacted text out."""
