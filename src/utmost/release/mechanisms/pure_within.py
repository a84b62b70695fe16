"""The largest epsilon whose pure promise a level implies; see `utmost.privacy.pure_within`."""

from utmost.privacy.pure_within import implies, pure_within

__all__ = ["implies", "pure_within"]
