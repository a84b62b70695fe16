"""One number on a line, thresholds and tiers of it: mechanisms, designs and verifiers."""
