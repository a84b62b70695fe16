"""The best noise known for several integers at once, and where to look for its proof."""
