"""From sample logs to tables, figures and one page."""
