"""Pages of results: `streameval.reports.html_report`."""

from streameval.render.page import html_report

__all__ = ["html_report"]
