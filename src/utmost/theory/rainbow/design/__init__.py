"""The optimal mechanism inside regions of one ranking, boundaries, and the nearest mechanism."""
