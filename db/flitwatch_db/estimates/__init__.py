"""Inputs and results of estimators and advice, and API reads of both."""
