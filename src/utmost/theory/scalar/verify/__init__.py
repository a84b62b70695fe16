"""Verifiers of mechanisms for one number: theorems, dual flows, pairs of points, dual prices."""
