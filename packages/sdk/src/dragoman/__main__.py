"""`python -m dragoman` is `dragoman`."""

import sys

from dragoman_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
