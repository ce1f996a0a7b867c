"""Inputs and results of estimators and advice, and both as the API shows them."""
