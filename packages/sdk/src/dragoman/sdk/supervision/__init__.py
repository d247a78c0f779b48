"""Supervised agents: deadlines, crashes, restarts, and sessions that survive a process."""
