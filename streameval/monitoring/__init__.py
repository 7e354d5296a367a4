"""Monitoring: metrics of logs that grow, counted once and committed with the position read."""
