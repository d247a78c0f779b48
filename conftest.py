"""What holds for every test, of the house and of its boxes, is in `tests/house.py`."""

pytest_plugins = ["tests.house"]
