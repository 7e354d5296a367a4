"""Reports: what states hold as one HTML file that needs nothing else."""

from streameval.reports.page import html_report

__all__ = ["html_report"]
