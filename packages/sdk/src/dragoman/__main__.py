"""Runs the command line: `python -m dragoman` does the same as `dragoman`."""

import sys

try:
    from dragoman_app.cli import main
except ModuleNotFoundError as error:
    sys.exit(f"The command `dragoman` is not installed here ({error}).\nTry: pip install dragoman")

if __name__ == "__main__":
    sys.exit(main())
