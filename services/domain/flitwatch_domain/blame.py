"""Criteria and verdicts of blame, used everywhere."""

from __future__ import annotations

#: A user or an application is blamed if its q-value is at most this, the expected share of false findings. At 0.1, causal nulls were 10.3 % of the
#: findings in 17 simulated campaigns (300 users, seeds 1 to 14). That is the nominal level: the nulls' p-values are correct (standard normal). At 0.05
#: they were 6.0 %, and of 7.5 true ones per campaign 7.2 were still found.
FOUND_Q = 0.05

#: Verdicts about a user. Only a user with verdict `named` may appear by name in an alert, an adviser or a page.
NAMED, CANNOT_TELL, NO_EVIDENCE = "named", "cannot tell", "no evidence"
