"""Partition selection: releasing which keys occur, without a public list of keys."""
