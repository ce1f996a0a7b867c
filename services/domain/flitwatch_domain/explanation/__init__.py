"""Why a job is slow: one answer, computed here from what was read, printed by the page, alerts, evidence and the command line."""
