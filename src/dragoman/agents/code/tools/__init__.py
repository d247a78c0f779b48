"""What the model can do. `tool` says what a tool is, `places` where files and commands are; each other module
is a few tools of one kind. Nothing here imports the model layer.
"""
