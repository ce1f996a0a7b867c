"""What estimators and advice read, what they leave behind, and both as the API shows them."""
