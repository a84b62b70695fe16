"""Yes/no questions on any graph of datasets (BIN, HET)."""
