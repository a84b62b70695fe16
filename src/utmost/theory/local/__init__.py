"""Local privacy: every person randomises an answer before anyone sees it (LIM chapter 3)."""
