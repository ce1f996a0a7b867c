"""Criteria and verdicts of blame, the same everywhere."""

from __future__ import annotations

#: A user or an application is found where its q-value is at most this: of what is found, so much is expected to be false. At 0.1 causal nulls made up
#: 10.3 % of what was found in 17 simulated campaigns (300 users, seeds 1 to 14), which is that level and no fault of the p-values, whose nulls are
#: standard normal; at 0.05 they made up 6.0 %, and of 7.5 true ones a campaign 7.2 were still found.
FOUND_Q = 0.05

#: What is said of a user. Only who is named may reach an alert, an adviser or a page as a name.
NAMED, CANNOT_TELL, NO_EVIDENCE = "named", "cannot tell", "no evidence"
