"""Observes a running hub without changing it: processes, metrics, status, spans."""
