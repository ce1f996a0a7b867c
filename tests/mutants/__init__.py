"""Mutation testing: do a suite's tests notice when one token of the code that they are about changes?"""
