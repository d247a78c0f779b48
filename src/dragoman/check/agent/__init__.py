"""The live examination of an agent: a connection that keeps every line, an editor, and scenes.

A scene makes an agent show what it does. It names the stretches in which something was tried (marks), writes
down what was seen beside the wire (facts), and judges nothing. Facts of every recording:

| fact | |
|---|---|
| `scene` | its name |
| `exit` | the exit status after the end of its input; null if it lived on, negative if it had to be killed |
| `died`, `hung` | what was being tried when it ended, or stopped to answer |
| `silent`, `unanswered` | why the scene ended early; what was never answered though the scene went on |
| `given up` | the ids of prompts that were not answered in time, and not when they were cancelled either |
| `flood`, `oversized` | how much it had said when it was stopped; the size of a line that was not kept |
| `stumbled` | the scene did not understand what it was told |
"""
