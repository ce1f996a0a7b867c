"""Network noise from the counters of network cards (De Sensi 2019): its equations and rules of comparison, the noise of a job, two sets of runs."""
