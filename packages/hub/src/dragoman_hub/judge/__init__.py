"""What an agent may do: policy, remembered grants, people, the audit log."""
