"""Why a job is slow: one answer."""
