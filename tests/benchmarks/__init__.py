"""Measurements: how good and how fast, on data that is made here."""
