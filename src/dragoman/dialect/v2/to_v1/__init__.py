"""Values of v2 in v1: what an agent of v2 tells a client of v1, and what a client of v2 asks an agent of v1.

Pure functions of plain values. What v1 cannot hold is told to a `Teller`, which an edge is.
"""
