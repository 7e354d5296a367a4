"""Monitoring: sources that grow, labels that come later, checkpoints, and alerts."""
