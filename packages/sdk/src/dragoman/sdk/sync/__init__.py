"""Turns, sessions and tools for handlers that are plain functions and run in threads of the asyncio
server.
"""
