"""The hub's page: files built from `web/`, and a small application that serves them."""
