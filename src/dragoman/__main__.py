"""`python -m dragoman` is `dragoman`."""

import sys

from dragoman.cli import main

if __name__ == "__main__":
    sys.exit(main())
