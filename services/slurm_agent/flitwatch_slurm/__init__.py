"""The Slurm agent: a file of advice for job_submit.lua, and delays and preferences of pending jobs."""
