"""aeon's bundled regression sets and MultiRocket's answers, as one file: `python aeon_sets.py OUT.npz`.

It runs in a separate environment (aeon.txt in this folder), as aeon's numba needs an older numpy than the product (docs/adr/0025).
"""

import sys

import numpy as np
from aeon.datasets import load_cardano_sentiment, load_covid_3month
from aeon.regression.convolution_based import MultiRocketRegressor

found = {}
for name, load in (("covid_3month", load_covid_3month), ("cardano_sentiment", load_cardano_sentiment)):
    train, known = load(split="train")
    test, wanted = load(split="test")
    answers = MultiRocketRegressor(random_state=1).fit(train, known).predict(test)
    parts = {"train": train, "known": known, "test": test, "wanted": wanted, "multirocket": answers}
    found |= {f"{name}_{part}": values for part, values in parts.items()}
np.savez(sys.argv[1], **found)
