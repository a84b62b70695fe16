"""Local mechanisms for testing, information and any utility; surveys and their estimates."""
