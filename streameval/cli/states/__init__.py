"""The commands that take states: show, merge, diff, explain, plot and report."""
