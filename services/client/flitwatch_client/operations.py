"""One method per operation of the API; generated from docs/contracts/openapi.json by `make client`, not edited."""

from __future__ import annotations

from typing import Any

from flitwatch_client import models


class Operations:
    """The operations; `_call` sends one."""

    @staticmethod
    def _part(value: Any) -> str:
        raise NotImplementedError

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> Any:
        raise NotImplementedError

    def stored_advice(self, *, kind: str | None = None, state: str | None = None, fabric: str | None = None, job: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.RecommendationList:
        """GET /api/v1/advice: List the advice of the loop and of routing modes, newest first, and the caller's own what-ifs."""
        return self._call("GET", "/api/v1/advice", {"kind": kind, "state": state, "fabric": fabric, "job": job, "limit": limit, "cursor": cursor})

    def advice(self, body: models.AdviceRequest) -> models.AdviceOutput:
        """POST /api/v1/advice: Advise whether a job should start, wait, or prefer some nodes. Unknown values are null, with the reason."""
        return self._call("POST", "/api/v1/advice", {}, body)

    def advice_batch(self, body: models.AdviceBatch) -> models.AdviceBatchAnswer:
        """POST /api/v1/advice/batch: Return advice for several jobs."""
        return self._call("POST", "/api/v1/advice/batch", {}, body)

    def advice_state(self) -> models.AdviceState:
        """GET /api/v1/advice/state: Return the applications, sizes and node groups that have advice, so that callers request only these."""
        return self._call("GET", "/api/v1/advice/state", {})

    def one_advice(self, recommendation_id: int) -> models.RecommendationDetail:
        """GET /api/v1/advice/{recommendation_id}: Return one recommendation with its evidence."""
        return self._call("GET", f"/api/v1/advice/{self._part(recommendation_id)}", {})

    def advice_lfts(self, recommendation_id: int) -> Any:
        """GET /api/v1/advice/{recommendation_id}/lfts: Return the forwarding tables in the format of OpenSM's file engine."""
        return self._call("GET", f"/api/v1/advice/{self._part(recommendation_id)}/lfts", {})

    def advice_links(self, recommendation_id: int) -> models.BeforeAfterLinks:
        """GET /api/v1/advice/{recommendation_id}/links: Return the links between switches before and after, for the plots."""
        return self._call("GET", f"/api/v1/advice/{self._part(recommendation_id)}/links", {})

    def advice_matrix(self, recommendation_id: int, *, by: str | None = None, of: str | None = None) -> models.TrafficMatrix:
        """GET /api/v1/advice/{recommendation_id}/matrix: Return the communication matrix by router or group: true (only for simulated traffic), reconstructed, or their difference."""
        return self._call("GET", f"/api/v1/advice/{self._part(recommendation_id)}/matrix", {"by": by, "of": of})

    def alerts(self, *, phase: str | None = None, rule: str | None = None, from_: str | float | None = None, to: str | float | None = None, limit: int | None = None, cursor: str | None = None) -> models.AlertList:
        """GET /api/v1/alerts: List alerts, newest first."""
        return self._call("GET", "/api/v1/alerts", {"phase": phase, "rule": rule, "from": from_, "to": to, "limit": limit, "cursor": cursor})

    def alert_contacts(self) -> models.ContactList:
        """GET /api/v1/alerts/contacts: List contact points by name. Receivers in the engine's file are not included."""
        return self._call("GET", "/api/v1/alerts/contacts", {})

    def delete_alert_contact(self, name: str) -> Any:
        """DELETE /api/v1/alerts/contacts/{name}: Remove a contact point. It receives no more mail."""
        return self._call("DELETE", f"/api/v1/alerts/contacts/{self._part(name)}", {})

    def put_alert_contact(self, name: str, body: models.NewContact) -> models.Contact:
        """PUT /api/v1/alerts/contacts/{name}: Create or change a contact point."""
        return self._call("PUT", f"/api/v1/alerts/contacts/{self._part(name)}", {}, body)

    def test_alert_contact(self, name: str) -> Any:
        """POST /api/v1/alerts/contacts/{name}/test: Request a test mail, which the engine sends within seconds. `GET /alerts/contacts` shows the result."""
        return self._call("POST", f"/api/v1/alerts/contacts/{self._part(name)}/test", {})

    def alert_rules(self) -> models.RuleList:
        """GET /api/v1/alerts/rules: List all rules."""
        return self._call("GET", "/api/v1/alerts/rules", {})

    def test_alert_rule(self, body: models.DryRun) -> Any:
        """POST /api/v1/alerts/rules/test: Test a rule over a past period as a task. Its result has {fired, alerts[], samples, series}. It sends no notification."""
        return self._call("POST", "/api/v1/alerts/rules/test", {}, body)

    def delete_alert_rule(self, name: str) -> Any:
        """DELETE /api/v1/alerts/rules/{name}: Remove a rule. A rule from the file returns when the engine starts again."""
        return self._call("DELETE", f"/api/v1/alerts/rules/{self._part(name)}", {})

    def put_alert_rule(self, name: str, body: models.NewRule) -> models.StoredRule:
        """PUT /api/v1/alerts/rules/{name}: Create or change a rule. It then overrides the file's rule of that name."""
        return self._call("PUT", f"/api/v1/alerts/rules/{self._part(name)}", {}, body)

    def alert_silences(self, *, limit: int | None = None) -> models.SilenceList:
        """GET /api/v1/alerts/silences: List silences, the last to end first."""
        return self._call("GET", "/api/v1/alerts/silences", {"limit": limit})

    def add_alert_silence(self, body: models.NewSilence) -> Any:
        """POST /api/v1/alerts/silences: Suppress the notifications of matching alerts for a period."""
        return self._call("POST", "/api/v1/alerts/silences", {}, body)

    def end_alert_silence(self, silence_id: int) -> Any:
        """DELETE /api/v1/alerts/silences/{silence_id}: End a silence now."""
        return self._call("DELETE", f"/api/v1/alerts/silences/{self._part(silence_id)}", {})

    def alert(self, alert_id: int) -> models.AlertDetail:
        """GET /api/v1/alerts/{alert_id}: Return an alert, its evidence at the time when it began to fire, and its notifications."""
        return self._call("GET", f"/api/v1/alerts/{self._part(alert_id)}", {})

    def audit(self, *, actor: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.AuditList:
        """GET /api/v1/audit: List changes, and responses that showed names of people, newest first."""
        return self._call("GET", "/api/v1/audit", {"actor": actor, "limit": limit, "cursor": cursor})

    def estimates(self) -> models.Applications:
        """GET /api/v1/estimates: List instrumented applications, with the state of their estimates."""
        return self._call("GET", "/api/v1/estimates", {})

    def blame(self, *, exe: str | None = None, nodes: int | None = None, estimate: int | None = None, by: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.Blame:
        """GET /api/v1/estimates/blame: Rank names by how strongly exposure to their jobs coincides with slow runs. Not proof of cause."""
        return self._call("GET", "/api/v1/estimates/blame", {"exe": exe, "nodes": nodes, "estimate": estimate, "by": by, "limit": limit, "cursor": cursor})

    def blame_several(self, *, by: str | None = None, definition: str | None = None, least_sets: int | None = None, limit: int | None = None) -> models.SeveralSets:
        """GET /api/v1/estimates/blame/several: List names that several sets of runs find, over all applications, with the evidence of each. Not proof of cause."""
        return self._call("GET", "/api/v1/estimates/blame/several", {"by": by, "definition": definition, "least_sets": least_sets, "limit": limit})

    def blame_detail(self, estimate_id: int, by: str, place: int) -> models.BlameDetail:
        """GET /api/v1/estimates/blame/{estimate_id}/{by}/{place}: Return the runs behind one name: the exposure to it and the time of each run."""
        return self._call("GET", f"/api/v1/estimates/blame/{self._part(estimate_id)}/{self._part(by)}/{self._part(place)}", {})

    def drivers(self, *, inputs: str | None = None) -> models.Deviation:
        """GET /api/v1/estimates/drivers: Show the relevance of counters by application."""
        return self._call("GET", "/api/v1/estimates/drivers", {"inputs": inputs})

    def forecast(self, *, exe: str | None = None, nodes: int | None = None, estimate: int | None = None) -> models.Forecast:
        """GET /api/v1/estimates/forecast: Show backtests by m, k and features, the baselines, the deployed forecaster and its drift."""
        return self._call("GET", "/api/v1/estimates/forecast", {"exe": exe, "nodes": nodes, "estimate": estimate})

    def versions(self, *, kind: str | None = None, exe: str | None = None, nodes: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.HeadList:
        """GET /api/v1/estimates/versions: List all stored estimates, newest first: data, parameters, code version, score."""
        return self._call("GET", "/api/v1/estimates/versions", {"kind": kind, "exe": exe, "nodes": nodes, "limit": limit, "cursor": cursor})

    def fabrics(self) -> models.FabricList:
        """GET /api/v1/fabrics: List all fabrics."""
        return self._call("GET", "/api/v1/fabrics", {})

    def fabric_detail(self, fabric: str) -> models.FabricDetail:
        """GET /api/v1/fabrics/{fabric}: Return one fabric."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}", {})

    def endpoints(self, fabric: str) -> models.Endpoints:
        """GET /api/v1/fabrics/{fabric}/endpoints: List the endpoints and their routers."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/endpoints", {})

    def frames(self, fabric: str, *, from_: str | float | None = None, to: str | float | None = None, step: int | None = None, class_: str | None = None) -> models.Frames:
        """GET /api/v1/fabrics/{fabric}/frames: Return flits and stalls of every router by step. The page sums windows of them while the reader drags."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/frames", {"from": from_, "to": to, "step": step, "class": class_})

    def lanes(self, fabric: str, *, at: str | float | None = None, window: str | None = None, router: int | None = None, port: int | None = None, endpoint: int | None = None) -> models.LaneFigures:
        """GET /api/v1/fabrics/{fabric}/lanes: Return counters of a window by virtual lane, service level or traffic class, for a router's port or an endpoint. Null means that there is no count."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/lanes", {"at": at, "window": window, "router": router, "port": port, "endpoint": endpoint})

    def links(self, fabric: str, *, class_: str | None = None, group: int | None = None, terminals: bool | None = None) -> models.Links:
        """GET /api/v1/fabrics/{fabric}/links: Return the links between routers."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/links", {"class": class_, "group": group, "terminals": terminals})

    def hot_links(self, fabric: str, *, at: str | float | None = None, window: str | None = None, limit: int | None = None, class_: str | None = None, link: int | None = None, router: int | None = None, src_group: int | None = None, dst_group: int | None = None) -> models.HotLinks:
        """GET /api/v1/fabrics/{fabric}/links/hot: List the links with the most stalls for the data that they send, and the jobs that use them, with estimated shares."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/links/hot", {"at": at, "window": window, "limit": limit, "class": class_, "link": link, "router": router, "src_group": src_group, "dst_group": dst_group})

    def job_paths(self, fabric: str, *, job: str, at: str | float | None = None, window: str | None = None) -> models.JobPaths:
        """GET /api/v1/fabrics/{fabric}/links/paths: List the links that a job's traffic is expected to use, with the expected amount."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/links/paths", {"job": job, "at": at, "window": window})

    def slow_cables(self, fabric: str) -> models.SlowCables:
        """GET /api/v1/fabrics/{fabric}/links/slow: List cables that run at half the speed of most others of their kind or less, slowest first, and cables whose link flaps."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/links/slow", {})

    def matrix(self, fabric: str, *, from_: str | float | None = None, to: str | float | None = None) -> models.Matrix:
        """GET /api/v1/fabrics/{fabric}/matrix: Return traffic between groups over a period: the column sends, the row receives."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/matrix", {"from": from_, "to": to})

    def occupancy(self, fabric: str, *, at: str | float | None = None) -> models.Occupancy:
        """GET /api/v1/fabrics/{fabric}/occupancy: Return the jobs that occupy routers of a fabric at a given time."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/occupancy", {"at": at})

    def overview(self, fabric: str, *, from_: str | float | None = None, to: str | float | None = None, points: int | None = None) -> models.Overview:
        """GET /api/v1/fabrics/{fabric}/overview: Return the whole machine over time, with gaps and marks, for a time brush."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/overview", {"from": from_, "to": to, "points": points})

    def roots(self, fabric: str, *, at: str | float | None = None, window: str | None = None) -> models.RootsOfCongestion:
        """GET /api/v1/fabrics/{fabric}/roots: List where congestion begins on a machine, from the use and stalls of its links, with the links that wait behind and the jobs that feed it."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/roots", {"at": at, "window": window})

    def routers(self, fabric: str) -> models.Routers:
        """GET /api/v1/fabrics/{fabric}/routers: Return the routers and their positions."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/routers", {})

    def router_detail(self, fabric: str, router: int, *, at: str | float | None = None, window: str | None = None) -> models.RouterDetail:
        """GET /api/v1/fabrics/{fabric}/routers/{router}: Return one router: its ports in a window and the jobs on it."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/routers/{self._part(router)}", {"at": at, "window": window})

    def samples(self, fabric: str, *, job: str | None = None, tag: str | None = None, phase: str | None = None, from_: str | float | None = None, to: str | float | None = None) -> models.SampleMap:
        """GET /api/v1/fabrics/{fabric}/samples: Return traffic and congested packets by link, from packet samples of all matching contexts."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/samples", {"job": job, "tag": tag, "phase": phase, "from": from_, "to": to})

    def sample_contexts(self, fabric: str, *, job: str | None = None, tag: str | None = None, phase: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.SampleContextList:
        """GET /api/v1/fabrics/{fabric}/samples/contexts: List contexts that have samples, newest first."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/samples/contexts", {"job": job, "tag": tag, "phase": phase, "limit": limit, "cursor": cursor})

    def sample_hosts(self, fabric: str, *, from_: str | float | None = None, to: str | float | None = None) -> models.SampleHosts:
        """GET /api/v1/fabrics/{fabric}/samples/hosts: Report the outcomes of packets that arrived at each sampling host, by default over the last day."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/samples/hosts", {"from": from_, "to": to})

    def stalls(self, fabric: str, *, at: str | float | None = None, window: str | None = None, class_: str | None = None) -> models.StallFigures:
        """GET /api/v1/fabrics/{fabric}/stalls: Return stalled time divided by sending time in a window, by router, link class and pair of groups."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/stalls", {"at": at, "window": window, "class": class_})

    def stalls_of_links(self, fabric: str, *, at: str | float | None = None, window: str | None = None, router: int | None = None, group: int | None = None, class_: str | None = None) -> models.LinkFigures:
        """GET /api/v1/fabrics/{fabric}/stalls/links: Return stalled time divided by sending time in a window, by counted link. Links without a counter are absent."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/stalls/links", {"at": at, "window": window, "router": router, "group": group, "class": class_})

    def timeseries(self, fabric: str, *, routers: str, counters: str | None = None, from_: str | float | None = None, to: str | float | None = None, points: int | None = None, sum: bool | None = None) -> models.Timeseries:
        """GET /api/v1/fabrics/{fabric}/timeseries: Return counters of routers over time, summed to at most `points` steps. A ratio is the step's summed stalls divided by its summed flits."""
        return self._call("GET", f"/api/v1/fabrics/{self._part(fabric)}/timeseries", {"routers": routers, "counters": counters, "from": from_, "to": to, "points": points, "sum": sum})

    def forecasts(self, *, fabric: str | None = None, limit: int | None = None) -> models.RunningList:
        """GET /api/v1/forecasts: List running instrumented jobs and their forecasts, the slowest first."""
        return self._call("GET", "/api/v1/forecasts", {"fabric": fabric, "limit": limit})

    def forecasts_of_jobs(self, *, fabric: str | None = None, limit: int | None = None) -> models.RunningJobList:
        """GET /api/v1/forecasts/jobs: List running jobs without recorded steps: the expected total time of each, from similar jobs that ran as long."""
        return self._call("GET", "/api/v1/forecasts/jobs", {"fabric": fabric, "limit": limit})

    def incident(self, *, fabric: str, at: str | float | None = None) -> models.Incident:
        """GET /api/v1/incident: Return a machine's current incident: which job slows which others, over which links, since when, and what would help."""
        return self._call("GET", "/api/v1/incident", {"fabric": fabric, "at": at})

    def incidents(self, *, limit: int | None = None, cursor: str | None = None, fabric: str | None = None, job: str | None = None, user: str | None = None, state: str | None = None, from_: str | float | None = None, to: str | float | None = None) -> models.IncidentList:
        """GET /api/v1/incidents: List incidents, newest first."""
        return self._call("GET", "/api/v1/incidents", {"limit": limit, "cursor": cursor, "fabric": fabric, "job": job, "user": user, "state": state, "from": from_, "to": to})

    def incidents_export(self, *, fabric: str | None = None, job: str | None = None, user: str | None = None, state: str | None = None, from_: str | float | None = None, to: str | float | None = None) -> Any:
        """GET /api/v1/incidents/export: Return incidents as a table (CSV), newest first: at most 10,000."""
        return self._call("GET", "/api/v1/incidents/export", {"fabric": fabric, "job": job, "user": user, "state": state, "from": from_, "to": to})

    def incident_detail(self, incident_id: int) -> models.IncidentDetail:
        """GET /api/v1/incidents/{incident_id}: Return one incident: causes, links, slowed jobs, minutes, alerts, and notes on actions taken. An incident that was merged into another one redirects there (308)."""
        return self._call("GET", f"/api/v1/incidents/{self._part(incident_id)}", {})

    def add_incident_note(self, incident_id: int, body: models.NewIncidentNote) -> Any:
        """POST /api/v1/incidents/{incident_id}/notes: Add a note on the actions taken in an incident."""
        return self._call("POST", f"/api/v1/incidents/{self._part(incident_id)}/notes", {}, body)

    def arrivals(self) -> models.Arrivals:
        """GET /api/v1/ingest/arrivals: List all sources with their arrivals and refused records. A null `last_at` means that no data have arrived yet."""
        return self._call("GET", "/api/v1/ingest/arrivals", {})

    def coverage(self, *, span: str | None = None, steps: int | None = None) -> models.IngestCoverage:
        """GET /api/v1/ingest/coverage: Report in which steps records of each kind were written."""
        return self._call("GET", "/api/v1/ingest/coverage", {"span": span, "steps": steps})

    def dead_letters(self, *, limit: int | None = None, cursor: str | None = None) -> models.DeadLetterList:
        """GET /api/v1/ingest/dead-letters: List records that could not be used, newest first."""
        return self._call("GET", "/api/v1/ingest/dead-letters", {"limit": limit, "cursor": cursor})

    def dead_letter_raw(self, number: int) -> Any:
        """GET /api/v1/ingest/dead-letters/{number}/raw: Return the raw bytes of a record as a download."""
        return self._call("GET", f"/api/v1/ingest/dead-letters/{self._part(number)}/raw", {})

    def status(self) -> models.Status:
        """GET /api/v1/ingest/status: Report arrivals, the writer's lag, and refused records."""
        return self._call("GET", "/api/v1/ingest/status", {})

    def jobs(self, *, fabric: str | None = None, user: str | None = None, state: str | None = None, name: str | None = None, q: str | None = None, at: str | float | None = None, from_: str | float | None = None, to: str | float | None = None, sort: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.JobList:
        """GET /api/v1/jobs: List jobs, newest first unless sorted otherwise."""
        return self._call("GET", "/api/v1/jobs", {"fabric": fabric, "user": user, "state": state, "name": name, "q": q, "at": at, "from": from_, "to": to, "sort": sort, "limit": limit, "cursor": cursor})

    def job(self, job_id: str, *, cluster: str | None = None) -> models.JobDetail:
        """GET /api/v1/jobs/{job_id}: Return one job, its nodes on the fabric and its neighbours."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}", {"cluster": cluster})

    def case(self, job_id: str, *, cluster: str | None = None, at: str | float | None = None) -> Any:
        """GET /api/v1/jobs/{job_id}/case: Return the evidence of a job as one self-contained HTML page: chain, pictures, figures, method, and limits of the evidence."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/case", {"cluster": cluster, "at": at})

    def counters(self, job_id: str, *, cluster: str | None = None, from_: str | float | None = None, to: str | float | None = None, points: int | None = None) -> models.JobCounters:
        """GET /api/v1/jobs/{job_id}/counters: Return the counters of a job's own network cards and of the links of its routers while it ran."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/counters", {"cluster": cluster, "from": from_, "to": to, "points": points})

    def job_diagnosis(self, job_id: str, *, cluster: str | None = None, at: str | float | None = None, window: str | None = None, tag: str | None = None, phase: str | None = None) -> models.RootsOfCongestion:
        """GET /api/v1/jobs/{job_id}/diagnosis: Find where the congestion that delays a job begins: from its packet samples if there are any, otherwise from port counters."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/diagnosis", {"cluster": cluster, "at": at, "window": window, "tag": tag, "phase": phase})

    def explanation(self, job_id: str, *, cluster: str | None = None, at: str | float | None = None) -> models.Explanation:
        """GET /api/v1/jobs/{job_id}/explanation: Explain whether a job is slow, since when, which links and jobs may be the cause, how certain this is, and what would help."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/explanation", {"cluster": cluster, "at": at})

    def network_noise(self, job_id: str, *, cluster: str | None = None) -> models.JobNetworkNoise:
        """GET /api/v1/jobs/{job_id}/network-noise: Estimate how much longer a job's network cards took to send than in its own quiet times, and the share of that in its slowdown."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/network-noise", {"cluster": cluster})

    def outlook(self, job_id: str, *, cluster: str | None = None) -> models.Outlook:
        """GET /api/v1/jobs/{job_id}/outlook: Describe a job without recorded steps: its time compared with earlier similar jobs, stalls on its routers, and neighbours."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/outlook", {"cluster": cluster})

    def tasks_of_job(self, job_id: str, *, cluster: str | None = None, at: str | float | None = None) -> models.WholeJob:
        """GET /api/v1/jobs/{job_id}/tasks: List the tasks of an array (530 of 530_1), or the components of a heterogeneous job (10 of 10+0), with a summary of their verdicts."""
        return self._call("GET", f"/api/v1/jobs/{self._part(job_id)}/tasks", {"cluster": cluster, "at": at})

    def compare_network_noise(self, body: models.NoiseQuestion) -> models.NoiseComparison:
        """POST /api/v1/network-noise/compare: Compare whether messages took longer in one set of runs than in another, within the limits of published guidelines."""
        return self._call("POST", "/api/v1/network-noise/compare", {}, body)

    def measured_noise(self, *, network: str | None = None, collective: str | None = None, limit: int | None = None) -> models.MeasuredList:
        """GET /api/v1/noise/measured: List the measurements of `flitwatch import noise` by ratio, with a line fitted to each series."""
        return self._call("GET", "/api/v1/noise/measured", {"network": network, "collective": collective, "limit": limit})

    def simulated_noise(self, *, tasks: int | None = None) -> models.SimulatedList:
        """GET /api/v1/noise/simulated: List simulated slowdowns of tasks, for comparison with the measured ones."""
        return self._call("GET", "/api/v1/noise/simulated", {"tasks": tasks})

    def project_report(self, account: str, *, month: str, format: str | None = None) -> models.ProjectReport:
        """GET /api/v1/projects/{account}/report: Report what the jobs of a project lost to incidents in a month, and which users caused it."""
        return self._call("GET", f"/api/v1/projects/{self._part(account)}/report", {"month": month, "format": format})

    def runs(self, *, job: str | None = None, exe: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.RunList:
        """GET /api/v1/runs: List runs of instrumented applications, newest first."""
        return self._call("GET", "/api/v1/runs", {"job": job, "exe": exe, "limit": limit, "cursor": cursor})

    def report_run(self, body: models.ReportedRun) -> models.RunReport:
        """POST /api/v1/runs: Report a run of any program, with its steps so far. A repeated key identifies the same run."""
        return self._call("POST", "/api/v1/runs", {}, body)

    def slowest_runs(self, *, fabric: str | None = None, limit: int | None = None) -> models.SlowestRuns:
        """GET /api/v1/runs/slowest: List running instrumented jobs by the slowdown of their newest steps against earlier runs, with the expected end of each."""
        return self._call("GET", "/api/v1/runs/slowest", {"fabric": fabric, "limit": limit})

    def run_forecast(self, run_id: int) -> models.RunForecast:
        """GET /api/v1/runs/{run_id}/forecast: Return the steps of a run, the forecast band of the next ones, and earlier forecasts with the actual times."""
        return self._call("GET", f"/api/v1/runs/{self._part(run_id)}/forecast", {})

    def steps(self, run_id: int) -> models.RunSteps:
        """GET /api/v1/runs/{run_id}/steps: Return the steps of a run, with the usual times of other runs of the same application."""
        return self._call("GET", f"/api/v1/runs/{self._part(run_id)}/steps", {})

    def report_steps(self, run_id: int, body: models.MoreSteps) -> models.RunReport:
        """POST /api/v1/runs/{run_id}/steps: Add steps to a running run. A repeated step replaces the earlier one."""
        return self._call("POST", f"/api/v1/runs/{self._part(run_id)}/steps", {}, body)

    def search(self, *, q: str) -> models.Hits:
        """GET /api/v1/search: Search jobs, incidents, users, fabrics, routers and nodes by part of their name."""
        return self._call("GET", "/api/v1/search", {"q": q})

    def log_out(self) -> Any:
        """DELETE /api/v1/session: End the session."""
        return self._call("DELETE", "/api/v1/session", {})

    def session(self) -> models.Session:
        """GET /api/v1/session: Return the caller's account, role and scopes."""
        return self._call("GET", "/api/v1/session", {})

    def log_in(self, body: models.Login) -> models.Session:
        """POST /api/v1/session: Log in with the name and password of a local account or of the site's directory. The session is a cookie."""
        return self._call("POST", "/api/v1/session", {}, body)

    def own_password(self, body: models.NewPassword) -> Any:
        """PUT /api/v1/session/password: Set a new password for the caller's own account. All its sessions end."""
        return self._call("PUT", "/api/v1/session/password", {}, body)

    def tasks(self, *, name: str | None = None, state: str | None = None, limit: int | None = None, cursor: str | None = None) -> models.TaskList:
        """GET /api/v1/tasks: List tasks, newest first. Among tasks started without a login, only those of the caller's own visit are listed."""
        return self._call("GET", "/api/v1/tasks", {"name": name, "state": state, "limit": limit, "cursor": cursor})

    def start(self, body: models.StartCount | models.StartStudy | models.StartCollective | models.StartPacket | models.StartWhatIf | models.StartLoop | models.StartOptimise | models.StartAdvice | models.StartBlame | models.StartMeasuredBlame | models.StartEstimate | models.StartDryRun) -> Any:
        """POST /api/v1/tasks: Add a task to the queue. A worker runs it."""
        return self._call("POST", "/api/v1/tasks", {}, body)

    def add_file(self, body: bytes) -> Any:
        """POST /api/v1/tasks/files: Upload a file for a task to read: the unchanged body, plain or compressed. It is deleted when its task ends. Without a task, it is deleted after a day, or after an hour if the caller is not logged in."""
        return self._call("POST", "/api/v1/tasks/files", {}, body)

    def delete_file(self, file_id: int) -> Any:
        """DELETE /api/v1/tasks/files/{file_id}: Delete an uploaded file that waits for a task. Below scope `operate`, only the caller's own tasks."""
        return self._call("DELETE", f"/api/v1/tasks/files/{self._part(file_id)}", {})

    def task(self, task_id: int) -> models.Task:
        """GET /api/v1/tasks/{task_id}: Return one task with its progress and result."""
        return self._call("GET", f"/api/v1/tasks/{self._part(task_id)}", {})

    def cancel(self, task_id: int) -> Any:
        """POST /api/v1/tasks/{task_id}/cancel: Ask a task to stop at its next step. Below scope `operate`, only the caller's own tasks."""
        return self._call("POST", f"/api/v1/tasks/{self._part(task_id)}/cancel", {})

    def tokens(self) -> models.TokenList:
        """GET /api/v1/tokens: List the caller's tokens. Admins get the tokens of all accounts."""
        return self._call("GET", "/api/v1/tokens", {})

    def add_token(self, body: models.NewToken) -> Any:
        """POST /api/v1/tokens: Create a token, in a session or as an admin. Its secret is shown only once."""
        return self._call("POST", "/api/v1/tokens", {}, body)

    def revoke_token(self, token_id: int) -> Any:
        """DELETE /api/v1/tokens/{token_id}: Revoke a token, in a session or as an admin. A token may revoke itself."""
        return self._call("DELETE", f"/api/v1/tokens/{self._part(token_id)}", {})

    def users(self) -> models.AccountList:
        """GET /api/v1/users: List all accounts."""
        return self._call("GET", "/api/v1/users", {})

    def add_user(self, body: models.NewAccount) -> Any:
        """POST /api/v1/users: Create an account."""
        return self._call("POST", "/api/v1/users", {}, body)

    def change_user(self, name: str, body: models.Change) -> models.AccountList:
        """PATCH /api/v1/users/{name}: Change an account's role or password, or disable or enable it. Its sessions end."""
        return self._call("PATCH", f"/api/v1/users/{self._part(name)}", {}, body)

    def healthz(self) -> models.Health:
        """GET /healthz: Report that the process is running."""
        return self._call("GET", "/healthz", {})

    def metrics(self) -> Any:
        """GET /metrics: Return metrics of this process and of ingest for Prometheus. Callers who may view also get the newest findings: stalls, gaps, predicted slowdowns, firing alerts."""
        return self._call("GET", "/metrics", {})

    def readyz(self) -> models.Ready:
        """GET /readyz: Report that the database answers and that this version can use its schema. `read_only` shows that the disk is nearly full; stored data can still be read."""
        return self._call("GET", "/readyz", {})
