"""Verifiers of selection mechanisms: recomputed losses, and lower bounds by chains, triangles and dual prices."""
