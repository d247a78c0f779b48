"""Web Push: devices hear that a session needs somebody, or has ended, also while their page is closed."""
