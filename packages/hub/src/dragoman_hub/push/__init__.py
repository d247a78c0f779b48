"""Web Push: notifies devices that a session needs a person or has ended, even while the page is closed."""
