"""What a conversation looks like, without a screen. Pure."""
