"""What results say: metrics by name, gates, tables, JSON and pictures of each kind."""
