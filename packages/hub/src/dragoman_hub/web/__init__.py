"""The page of the hub: files made from `web/`, and a small application that serves them."""
