"""Reports: the page that shows answers with their proofs, and the check that proves it again without the table."""
