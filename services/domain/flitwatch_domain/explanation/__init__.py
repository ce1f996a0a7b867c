"""Why a job is slow: one answer, computed here from what was read, printed by the page, alerts, evidence and the command line.

The steps of an answer, in their order:

- `slowdown` finds whether a job's steps are slow, since when, and how sure that is;
- `onset_context` holds what was read of the machine around it: jobs alongside it, their traffic, routers and links;
- `carriers` finds the links and groups that carry the slowness: where stalls rose at the onset;
- `flow` says whom it waits for by flow (`flitwatch_domain.attribution`), and names up to three jobs, or none;
- `candidates` lists the jobs alongside it with what each changed; where flows are not known it scores them by that, and names one or none;
- `remedies` says what would help, with minutes where they can be estimated;
- `answer` puts these together: the verdict with its reasons; `result` lists the fields.

What is made of answers:

- `chain` tells an answer in sentences, the same for every medium; `words` has the phrases and times that they share;
- `incident` puts the answers of a machine's jobs together;
- `case` prints the evidence of a job as one HTML page, with the lines of `pictures`.

The database's side is `flitwatch_db.jobs.explanation`. Start at `answer`, and at `candidates` for why a job is named.
"""
