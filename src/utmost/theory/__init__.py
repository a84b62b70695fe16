"""The theory by idea: a folder for each, with the laws it may release, its designs, and its verifiers.

`design` finds a mechanism and offers evidence, `verify` proves the claim again and imports nothing of any design; what
lies beside them in a folder (the problem, the laws that may be released) both share. `verifiers` lists the check of
every question; `verify_*` is what several of them use, `linear_program` and `symmetry` what several designs use.
"""
