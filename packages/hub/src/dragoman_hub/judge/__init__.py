"""Permissions in the hub: policy, remembered answers, people, the audit log."""
