"""What can be seen of a running hub: processes, meters, status, spans. It looks on and changes nothing."""
