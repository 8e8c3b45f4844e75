"""Stimuli of the image benchmark: items, degradation, releases."""
