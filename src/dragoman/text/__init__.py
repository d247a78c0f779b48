"""Text that people read: made safe for a terminal, and Markdown as structure.

Pure: texts in, texts or values out. It knows no protocol, no terminal and no widget. Only `text.markdown`
needs a distribution beside the standard library.
"""
