"""Verifiers of noise on vectors: lower bounds by flows between errors, and by single integers."""
