"""Slurm agent: writes the advice file for job_submit.lua, and sets delays and preferences of pending jobs."""
