"""Several parties with one bit each, one function of all bits (LIM chapter 4)."""
