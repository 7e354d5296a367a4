"""Results as people see them: pages of HTML and their pictures."""
