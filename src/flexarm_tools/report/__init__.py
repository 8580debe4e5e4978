"""report.html: figures, plots, animation."""
