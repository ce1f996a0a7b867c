"""Blame: association between a user's presence and slow runs; never proof of cause.

Steps, in order:

1. `checks` validates arrays of runs, users and exposure. `observations` joins related runs, with `copies`. `strata` and `calendar` remove the effects of
   time, regimes and circumstances.
2. `presence` (the paper's estimator) or `exposure` scores users: `information` and `blocks` give p-values, `selection` scores a user
   given others.
3. `controls` tests each finding further: other weeks, one week left out, correlated users. `rhythm` tests weekdays, hours and days of the month.
4. `effects` estimates seconds. `verdict` names users, or explains why no one can be named. `calibration` measures how often shuffled runs lead to a name.

Open

- `verdict` for the reasons why a user is or is not named, and the thresholds;
- `presence` for comparison with Bhatele 2020, `exposure` for the use of overlap and traffic;
- `calendar` for regimes and trends; `blocks` for permutations that keep days or weeks together;
- `effects` for intervals; `calibration` for false alarms.

This package reads neither a database nor the planted truth. `flitwatch_ml.work.blame` loads the runs and stores the result.
"""

from flitwatch_ml.blame.exposure import ExposureBlame
from flitwatch_ml.blame.presence import PresenceBlame
from flitwatch_ml.blame.verdict import CalendarBlame

__all__ = ["CalendarBlame", "ExposureBlame", "PresenceBlame"]
