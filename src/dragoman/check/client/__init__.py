"""Examining a client: an agent that is none stands in for the real one, and plays scenes in prompt turns.

The stand-in answers the handshake and sessions, and in the turns that the client begins it does everything
that an agent may do, then some of what no agent should. It records, marks stretches, and judges nothing.
"""
