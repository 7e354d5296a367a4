"""How the rows of files are counted: `streameval eval`, one module for each task."""
