"""Why a job is slow: one answer, computed here from read data, for the page, alerts, evidence and the command line.

The steps of an answer, in order:

- `slowdown` determines whether a job's steps are slow, since when, and with what confidence;
- `onset_context` contains the machine's state around the onset: jobs alongside it, their traffic, routers and links;
- `carriers` finds the links and groups where stalls rose at the onset;
- `flow` attributes the waiting to jobs by flow (`flitwatch_domain.attribution`), and names up to three jobs, or none;
- `candidates` lists the jobs alongside it with their changes; if flows are unknown it scores the jobs by these changes, and names one or none;
- `remedies` lists changes that would help, with minutes where they can be estimated;
- `answer` combines these into the verdict with its reasons; `result` lists the fields.

Uses of answers:

- `chain` turns an answer into sentences, the same for every medium; `words` has the shared phrases and time formats;
- `incident` combines the answers of a machine's jobs;
- `case` prints the evidence of a job as one HTML page, with the lines of `pictures`.

The database part is `flitwatch_db.jobs.explanation`. Start at `answer`, and at `candidates` for why a job is named.
"""
