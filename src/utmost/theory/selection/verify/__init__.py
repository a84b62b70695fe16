"""Why no private choice is better: the stated losses, and bounds by leads, chains and triangles."""
