"""Questions with several ranked answers on any graph of datasets (RAIN)."""
