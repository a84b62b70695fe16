"""Noise for numeric queries (LIM chapter 2)."""
