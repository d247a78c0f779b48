"""The live examination of an agent: a connection that keeps every line, an editor, and scenes.

A scene makes an agent show what it does. It names the stretches in which something was tried (marks), writes
down what was seen beside the wire (facts), and judges nothing. Every recording has the fact `scene`, its
name; one that ended before the scene did has `died` or `silent`, the name of what was being tried.
"""
