"""Blame: dependence between a user's presence and a run's optimality; never proof of cause.

What happens, in order:

1. `checks` validates arrays of runs, users and exposure; `observations` joins runs that belong together, with `copies`; `strata` and `calendar` take out what time, regimes and circumstances explain.
2. `presence` (the paper's estimator) or `exposure` scores users: `information`, `permutation` and `blocks` give p-values, `selection` scores a user
   given others.
3. `controls` puts each finding to further tests: other weeks, one week left out, users who come together; `rhythm` to those of weekdays, hours and days of the month.
4. `effects` says how many seconds; `verdict` names, or says why no one can be named; `calibration` shows how often shuffled runs would give a name.

Open

- `verdict` for the reasons a user is or is not named, and the thresholds;
- `presence` to compare with Bhatele 2020, `exposure` for how overlap and traffic count;
- `calendar` for regimes and trends; `blocks` for permutations that keep days or weeks together;
- `effects` for intervals; `calibration` for false alarms.

Nothing here reads a database or the truth. `flitwatch_ml.work.blame` loads the runs and stores the result.
"""

from flitwatch_ml.blame.exposure import ExposureBlame
from flitwatch_ml.blame.presence import PresenceBlame
from flitwatch_ml.blame.verdict import CalendarBlame

__all__ = ["CalendarBlame", "ExposureBlame", "PresenceBlame"]
