"""The optimal extension of a binary mechanism, its boundary, and tests of a share."""
