"""Tests a policy on recorded conversations: collects their acts, and shows how the policy would decide."""
