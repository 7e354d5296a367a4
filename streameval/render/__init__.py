"""The presentation of results: text, HTML pages and pictures."""
