"""Local mechanisms for testing, information and any utility; surveys and what is estimated from them."""
