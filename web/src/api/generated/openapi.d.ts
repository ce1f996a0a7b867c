// Generated from docs/contracts/openapi.json by `npm run generate`.
export interface paths {
    "/api/v1/fabrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Fabrics
         * @description All fabrics.
         */
        get: operations["fabrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Fabric Detail
         * @description One fabric.
         */
        get: operations["fabric_detail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/routers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Routers
         * @description Routers and their places.
         */
        get: operations["routers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Links
         * @description Links between routers.
         */
        get: operations["links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Endpoints
         * @description Where nodes attach.
         */
        get: operations["endpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/routers/{router}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Router Detail
         * @description One router: its ports in a window and the jobs on it.
         */
        get: operations["router_detail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/congestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Congestion
         * @deprecated
         * @description Time stalled over the time of sending in a window, by router, link class and pair of groups.
         */
        get: operations["congestion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/stalls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stalls
         * @description Time stalled over the time of sending in a window, by router, link class and pair of groups.
         */
        get: operations["stalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/congestion/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Congestion Links
         * @deprecated
         * @description Time stalled over the time of sending in a window, by counted link; a link that is absent has no counter.
         */
        get: operations["congestion_links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/stalls/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stalls Of Links
         * @description Time stalled over the time of sending in a window, by counted link; a link that is absent has no counter.
         */
        get: operations["stalls_of_links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/lanes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lanes
         * @description Counters of a window by virtual lane, service level or traffic class, of a router's port or of an endpoint; null where nobody counted them.
         */
        get: operations["lanes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/timeseries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Timeseries
         * @description Counters of routers over time, summed to at most `points` steps; a ratio is summed stalls over summed flits of its step.
         */
        get: operations["timeseries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Matrix
         * @description Traffic between groups over a span: the column sends, the row receives.
         */
        get: operations["matrix"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Overview
         * @description The whole machine over time, with gaps and marks, for a time brush.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/frames": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Frames
         * @description Flits and stalls of every router step by step; the page sums windows of them while the reader drags.
         */
        get: operations["frames"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/links/hot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Hot Links
         * @description Links that stall most for what they send, and the jobs that use them with their estimated shares.
         */
        get: operations["hot_links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/links/paths": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Job Paths
         * @description Links that a job's traffic is expected to use, with how much.
         */
        get: operations["job_paths"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/roots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Roots
         * @description Where congestion begins on a machine, by use and stalls of its links, with the links that wait behind and the jobs that feed it.
         */
        get: operations["roots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/diagnosis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Job Diagnosis
         * @description Where the congestion that holds a job up begins: by its packet samples where there are some, else by counters of ports.
         */
        get: operations["job_diagnosis"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/samples": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Samples
         * @description Traffic and congested packets by link, as sampled by the packets themselves, of all contexts that match.
         */
        get: operations["samples"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/samples/contexts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sample Contexts
         * @description Contexts that have samples, the newest first.
         */
        get: operations["sample_contexts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/samples/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sample Hosts
         * @description What became of the packets that came to each sampling host; without a span, those of the last day.
         */
        get: operations["sample_hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Jobs
         * @description Jobs, newest first unless sorted otherwise.
         */
        get: operations["jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Job
         * @description One job, its place on the fabric and its neighbours.
         */
        get: operations["job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/fabrics/{fabric}/occupancy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Occupancy
         * @description Jobs that hold routers of a fabric at a moment.
         */
        get: operations["occupancy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/explanation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explanation
         * @description Whether a job is slow, since when, which links carry it, who may be behind it, how sure that is, and what would help.
         */
        get: operations["explanation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incident": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Incident
         * @description The present incident of a machine: which job slows which others, over which links, since when, and what would help.
         */
        get: operations["incident"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/case": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Case
         * @description The evidence of a job as one HTML page that loads nothing: chain, pictures, figures, method, what it does not prove, and the hash of its content.
         */
        get: operations["case"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/counters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counters
         * @description What was counted on a job's own network cards and on the links of its routers while it ran.
         */
        get: operations["counters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Incidents
         * @description Incidents, the newest first.
         */
        get: operations["incidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Incidents Export
         * @description Incidents as a table (CSV), the newest first: at most 10,000.
         */
        get: operations["incidents_export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Incident Detail
         * @description One incident: causes, links, slowed jobs, minutes, alerts, and what was done. One that was found to be part of another leads there (308).
         */
        get: operations["incident_detail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add Incident Note
         * @description Say what was done about an incident.
         */
        post: operations["add_incident_note"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/network-noise": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Network Noise
         * @description How much longer a job's network cards took to send than in its own quiet times, and the share of that in its slowdown.
         */
        get: operations["network_noise"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/network-noise/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare Network Noise
         * @description Whether messages took longer in one set of runs than in another, as far as published guidelines allow the comparison.
         */
        post: operations["compare_network_noise"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs
         * @description Runs of instrumented applications, the newest first.
         */
        get: operations["runs"];
        put?: never;
        /**
         * Report Run
         * @description Report a run of any program, with the steps it has made so far; the same key again is the same run.
         */
        post: operations["report_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Steps
         * @description The steps of a run beside what other runs of the same application take.
         */
        get: operations["steps"];
        put?: never;
        /**
         * Report Steps
         * @description Add steps to a run that goes on; a step that comes again replaces itself.
         */
        post: operations["report_steps"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Estimates
         * @description Instrumented applications, and how the estimates of each stand.
         */
        get: operations["estimates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Versions
         * @description Every estimate that is kept, the newest first: data, parameters, code version, score.
         */
        get: operations["versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/blame": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Blame
         * @description Who: names ranked by how much exposure to their jobs goes with slow runs. Not proof of cause.
         */
        get: operations["blame"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/blame/several": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Blame Several
         * @description Who, over all applications: names that several sets of runs find, with the evidence of each. Not proof of cause.
         */
        get: operations["blame_several"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/blame/{estimate_id}/{by}/{place}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Blame Detail
         * @description The runs behind one name: its exposure in each, and the time of each.
         */
        get: operations["blame_detail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/deviation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deviation
         * @description What: relevance of counters by application.
         */
        get: operations["deviation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/estimates/forecast": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Forecast
         * @description What next: backtests by m, k and features, the baselines, the forecaster that serves, its drift.
         */
        get: operations["forecast"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/forecasts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Forecasts
         * @description Running instrumented jobs and their forecasts, the slowest first.
         */
        get: operations["forecasts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/forecasts/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Forecasts Of Jobs
         * @description Running jobs without recorded steps: how long each will take, by jobs of its like that lasted as long.
         */
        get: operations["forecasts_of_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/forecast": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Run Forecast
         * @description Steps of a run, the band over the next, and earlier forecasts beside what came.
         */
        get: operations["run_forecast"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/outlook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Outlook
         * @description A job without recorded steps: its time against the past of its like, stalls on its routers, neighbours.
         */
        get: operations["outlook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/noise/measured": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Measured Noise
         * @description What `flitwatch import noise` stored, by ratio, and a line fitted over the ratios of each series.
         */
        get: operations["measured_noise"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/noise/simulated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Simulated Noise
         * @description Slowdowns that tasks simulated, to stand beside the measured ones.
         */
        get: operations["simulated_noise"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alerts
         * @description Alerts, the newest first.
         */
        get: operations["alerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alert Rules
         * @description Every rule.
         */
        get: operations["alert_rules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/rules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put Alert Rule
         * @description Make or change a rule; it then belongs to the API, and the file's rule of that name no longer counts.
         */
        put: operations["put_alert_rule"];
        post?: never;
        /**
         * Delete Alert Rule
         * @description Remove a rule; a rule of the file comes back when the engine starts again.
         */
        delete: operations["delete_alert_rule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/rules/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test Alert Rule
         * @description What a rule would have done over a span, as a task; its result has {fired, alerts[], samples, series}. It sends no notification.
         */
        post: operations["test_alert_rule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/silences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alert Silences
         * @description Silences, the last to end first.
         */
        get: operations["alert_silences"];
        put?: never;
        /**
         * Add Alert Silence
         * @description Keep alerts that match from being told for a while.
         */
        post: operations["add_alert_silence"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/silences/{silence_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End Alert Silence
         * @description End a silence now.
         */
        delete: operations["end_alert_silence"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alert Contacts
         * @description Contact points, by name; receivers of the engine's file are not among them.
         */
        get: operations["alert_contacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/contacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put Alert Contact
         * @description Make or change a contact point.
         */
        put: operations["put_alert_contact"];
        post?: never;
        /**
         * Delete Alert Contact
         * @description Remove a contact point: nothing is mailed there any more.
         */
        delete: operations["delete_alert_contact"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/contacts/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test Alert Contact
         * @description Have the engine send a test mail there within seconds; `GET /alerts/contacts` says how it went.
         */
        post: operations["test_alert_contact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/{alert_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alert
         * @description One alert, its evidence as it was when it began to fire, and its notifications.
         */
        get: operations["alert"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/advice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Advice
         * @description Whether a job should start, wait, or prefer some nodes; unknown is null, with the reason.
         */
        post: operations["advice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/advice/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Advice Batch
         * @description The same for several jobs.
         */
        post: operations["advice_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/advice/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Advice State
         * @description The applications, sizes and groups of nodes that advice knows: what is worth asking about.
         */
        get: operations["advice_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recommendations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recommendations
         * @description What the loop and the routing advice came to, the newest first: recommendations, and the caller's own what-ifs.
         */
        get: operations["recommendations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recommendations/{recommendation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recommendation
         * @description One recommendation with its evidence.
         */
        get: operations["recommendation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recommendations/{recommendation_id}/lfts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recommendation Lfts
         * @description The forwarding tables as OpenSM's file engine reads them.
         */
        get: operations["recommendation_lfts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recommendations/{recommendation_id}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recommendation Matrix
         * @description The communication matrix by router or group: true (of simulated traffic alone), reconstructed, and their difference.
         */
        get: operations["recommendation_matrix"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recommendations/{recommendation_id}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recommendation Links
         * @description Links between switches before and after, for the plots.
         */
        get: operations["recommendation_links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tasks
         * @description Tasks, the newest first; of those that callers without a login started, their own visit's alone.
         */
        get: operations["tasks"];
        put?: never;
        /**
         * Start
         * @description Put work into the queue; a worker takes it.
         */
        post: operations["start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Task
         * @description One task with its progress and result.
         */
        get: operations["task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add File
         * @description Upload a file for a task to read: the body as it is, plain or compressed. It is deleted when its task ends; without one after a day, or after an hour where nobody is logged in.
         */
        post: operations["add_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/files/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete File
         * @description Delete an uploaded file that waits for a task. Below scope `operate`, one's own only.
         */
        delete: operations["delete_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel
         * @description Ask a task to stop; it does so at its next step. Below scope `operate`, one's own only.
         */
        post: operations["cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingest/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Status
         * @description What comes in, how far behind the writer is, what was refused.
         */
        get: operations["status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingest/arrivals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Arrivals
         * @description Every way in, with what has arrived through it and what was refused; "nothing yet" is a null `last_at`.
         */
        get: operations["arrivals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingest/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Dead Letters
         * @description Records that could not be used, the newest first.
         */
        get: operations["dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingest/dead-letters/{number}/raw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Dead Letter Raw
         * @description The bytes of a record as they came; to be saved, never shown.
         */
        get: operations["dead_letter_raw"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search
         * @description Jobs, incidents, users, fabrics, routers and nodes by part of their name.
         */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description What happens, as server-sent events; a comment keeps the connection alive.
         */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/remotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Remotes
         * @description Other platforms whose machines can be seen from here, each with its machines or the reason why they cannot be seen now.
         */
        get: operations["remotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/remotes/{remote}/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Remote
         * @description What a remote answers, as it answers it. Nothing can be changed there from here.
         */
        get: operations["read_remote"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Session
         * @description Who the caller is.
         */
        get: operations["session"];
        put?: never;
        /**
         * Log In
         * @description Log in with name and password, of a local account or of the site's directory; the session is a cookie.
         */
        post: operations["log_in"];
        /**
         * Log Out
         * @description End the session.
         */
        delete: operations["log_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Own Password
         * @description Another password for one's own account; all its sessions end.
         */
        put: operations["own_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Users
         * @description All accounts.
         */
        get: operations["users"];
        put?: never;
        /**
         * Add User
         * @description Make an account.
         */
        post: operations["add_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change User
         * @description Give an account another role or password, or switch it off or on; its sessions end.
         */
        patch: operations["change_user"];
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens
         * @description The caller's tokens; an admin's answer has everybody's.
         */
        get: operations["tokens"];
        put?: never;
        /**
         * Add Token
         * @description Make a token, in a session or as an admin; its secret is shown this once.
         */
        post: operations["add_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description Revoke a token, in a session or as an admin; a token may revoke itself.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit
         * @description What was changed and whose names were seen, the newest first.
         */
        get: operations["audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Oidc Leave
         * @description Go to the site's own login.
         */
        get: operations["oidc_leave"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc/back": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Oidc Back
         * @description Come back from the site's own login with a code, which becomes a session.
         */
        get: operations["oidc_back"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Oidc Log Out
         * @description Go where the provider's own session is ended, too; this site's ends with DELETE /session.
         */
        get: operations["oidc_log_out"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Healthz
         * @description The process is up.
         */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readyz
         * @description The database answers and its tables are such as this version needs. While its disk is nearly full, `read_only` says so, and what is stored can be read.
         */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Figures of this process and of ingest, for Prometheus; to whoever may view also the newest findings: stalls, gaps, predicted slowdowns, firing alerts.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Account
         * @description An account.
         */
        Account: {
            /** Name */
            name: string;
            /** Role */
            role: string;
            /** Disabled */
            disabled: boolean;
            /**
             * Password
             * @description Whether it can log in with a password.
             */
            password: boolean;
            /**
             * Issuer
             * @description Of an account that comes by OpenID Connect, or `ldap:` and where people are in the directory.
             */
            issuer: string | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Seen
             * @description Last login.
             */
            seen: string | null;
            /**
             * Tokens
             * @description Valid tokens.
             */
            tokens: number;
        };
        /**
         * AccountList
         * @description All accounts.
         */
        AccountList: {
            /** Items */
            items: components["schemas"]["Account"][];
        };
        /**
         * Advice
         * @description `routing.advice`: a routing mode and a placement from the counters of a job's NICs.
         */
        "Advice-Input": {
            /** Application */
            application: string;
            /** Job */
            job?: string | null;
            /** User */
            user?: string | null;
            /** Fabric */
            fabric?: string | null;
            /**
             * Message Bytes
             * @default 65536
             */
            message_bytes: number;
            /**
             * Observations
             * @description By routing mode; ADAPTIVE_0 and at least one other.
             */
            observations?: {
                [key: string]: components["schemas"]["Observation"][];
            } | null;
            /**
             * Intervals
             * @description In the place of observations: when `job` ran with which mode; the database has the counters.
             */
            intervals?: {
                [key: string]: components["schemas"]["Interval"][];
            } | null;
            check?: components["schemas"]["Check"] | null;
            /**
             * Simulated
             * @default false
             */
            simulated: boolean;
        };
        /**
         * Advice
         * @description What to do with the job.
         */
        "Advice-Output": {
            /**
             * Action
             * @enum {string}
             */
            action: "start" | "delay" | "prefer";
            /**
             * Preferred
             * @description Index of the candidate to prefer.
             */
            preferred: number | null;
            /**
             * Retry After S
             * @description After a delay the question is asked anew.
             */
            retry_after_s: number | null;
            /** @description Of the preferred candidate, else of the best; null: unknown. */
            expected_slowdown: components["schemas"]["Slowdown"] | null;
            /**
             * Usual S
             * @description Mean time of comparable runs on as many nodes; null: unknown.
             */
            usual_s: number | null;
            /** @description Where comparable runs had another number of nodes: the range of the usual time. */
            usual_range_s: components["schemas"]["UsualRange"] | null;
            /**
             * Routing Mode
             * @description MPICH_GNI_ROUTING_MODE on the preferred candidate, else on every one, from the application's NIC counters; null: unknown, see reasons.
             */
            routing_mode: string | null;
            /** Candidates */
            candidates: components["schemas"]["Candidate"][];
            /** Reasons */
            reasons: components["schemas"]["Reason"][];
            /**
             * Because
             * @description Which part said what, of those that are switched on.
             */
            because: components["schemas"]["AdviceFinding"][];
            /**
             * Stale
             * @description A worker or the database is down; the answer is from what was known before.
             */
            stale: boolean;
            /**
             * As Of
             * Format: date-time
             */
            as_of: string;
        };
        /**
         * AdviceBatch
         * @description Several questions at once.
         */
        AdviceBatch: {
            /** Jobs */
            jobs: components["schemas"]["AdviceRequest"][];
        };
        /**
         * AdviceBatchAnswer
         * @description Answers in the order of the questions.
         */
        AdviceBatchAnswer: {
            /** Items */
            items: components["schemas"]["Advice-Output"][];
        };
        /**
         * AdviceFinding
         * @description What one part of advice said; `known` false: it cannot tell, and changed nothing.
         */
        AdviceFinding: {
            /**
             * Part
             * @enum {string}
             */
            part: "counters" | "blame" | "forecast" | "running" | "drivers" | "pattern" | "routing";
            /** Known */
            known: boolean;
            /** Text */
            text: string;
            /** Evidence */
            evidence: string | null;
        };
        /**
         * AdviceRequest
         * @description A job that is to be placed.
         */
        AdviceRequest: {
            /** User */
            user: string;
            /**
             * Application
             * @description As instrumented runs name it.
             */
            application: string;
            /** Nodes */
            nodes: number;
            /**
             * Candidates
             * @description Lists of nodes the scheduler could give it.
             * @default []
             */
            candidates: string[][];
            /** Deadline */
            deadline?: string | null;
        };
        /**
         * AdviceState
         * @description What advice can be asked about, so that an agent asks no more.
         */
        AdviceState: {
            /** Applications */
            applications: components["schemas"]["KnownApplication"][];
            /** Groups */
            groups: components["schemas"]["GroupNodes"][];
            /**
             * Pseudonyms
             * @description Whether users are pseudonyms, which a scheduler does not know.
             */
            pseudonyms: boolean;
            /** Stale */
            stale: boolean;
            /**
             * As Of
             * Format: date-time
             */
            as_of: string;
        };
        /**
         * Alert
         * @description One alert: a series of a rule's signal that was beyond its threshold.
         */
        Alert: {
            /** Alert Id */
            alert_id: number;
            /** Rule */
            rule: string;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /**
             * Phase
             * @enum {string}
             */
            phase: "pending" | "firing" | "resolved";
            /** Severity */
            severity: string;
            /**
             * Since
             * Format: date-time
             * @description Begin of this phase.
             */
            since: string;
            /**
             * Seen
             * Format: date-time
             * @description Time of the newest sample.
             */
            seen: string;
            /** Fired At */
            fired_at: string | null;
            /** Resolved At */
            resolved_at: string | null;
            /** Value */
            value: number;
            /** Peak */
            peak: number;
            /**
             * Probability
             * @description That the value is at or above the threshold; null where it is measured.
             */
            probability: number | null;
            /** Summary */
            summary: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Page
             * @description Place of the page about it, at that time.
             */
            page: string | null;
        };
        /**
         * AlertDetail
         * @description An alert with its evidence as it was when it began to fire.
         */
        AlertDetail: {
            /** Alert Id */
            alert_id: number;
            /** Rule */
            rule: string;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /**
             * Phase
             * @enum {string}
             */
            phase: "pending" | "firing" | "resolved";
            /** Severity */
            severity: string;
            /**
             * Since
             * Format: date-time
             * @description Begin of this phase.
             */
            since: string;
            /**
             * Seen
             * Format: date-time
             * @description Time of the newest sample.
             */
            seen: string;
            /** Fired At */
            fired_at: string | null;
            /** Resolved At */
            resolved_at: string | null;
            /** Value */
            value: number;
            /** Peak */
            peak: number;
            /**
             * Probability
             * @description That the value is at or above the threshold; null where it is measured.
             */
            probability: number | null;
            /** Summary */
            summary: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Page
             * @description Place of the page about it, at that time.
             */
            page: string | null;
            /** Evidence */
            evidence: {
                [key: string]: unknown;
            };
            /** Notices */
            notices: components["schemas"]["Notice"][];
        };
        /**
         * AlertList
         * @description A page of alerts.
         */
        AlertList: {
            /** Items */
            items: components["schemas"]["Alert"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Alternative
         * @description What else was tried.
         */
        Alternative: {
            /** Label */
            label: string;
            /** Time S */
            time_s: number | null;
        };
        /**
         * Application
         * @description An instrumented application on as many nodes, and what is estimated of it.
         */
        Application: {
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Runs */
            runs: number;
            /**
             * Running
             * @description Runs whose job has not ended.
             */
            running: number;
            /** Simulated */
            simulated: boolean;
            /**
             * Source
             * @description `runs`: recorded by the platform; `files`: brought by a person (task ml.blame_measured, flitwatch import runs).
             * @enum {string}
             */
            source: "runs" | "files";
            blame: components["schemas"]["EstimateStatus"];
            deviation: components["schemas"]["EstimateStatus"];
            forecast: components["schemas"]["EstimateStatus"];
        };
        /**
         * Applications
         * @description Those with most runs first.
         */
        Applications: {
            /** Items */
            items: components["schemas"]["Application"][];
        };
        /** ApplicationsOnAllocations */
        ApplicationsOnAllocations: {
            /**
             * Detour Interval Us
             * @description 0: none.
             * @default 0
             */
            detour_interval_us: number;
            /**
             * Detour Us
             * @description Mean length; 0: a hundredth of the interval.
             * @default 0
             */
            detour_us: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Ranks
             * @default 64
             */
            ranks: number;
            /**
             * Iterations
             * @default 4
             */
            iterations: number;
            /**
             * Latency Factor
             * @description Lambda of the choice.
             * @default 0.8
             */
            latency_factor: number;
            /**
             * Stall Factor
             * @description Sigma of the choice.
             * @default 1.5
             */
            stall_factor: number;
            /**
             * Sizes
             * @default [
             *       8192,
             *       32768
             *     ]
             */
            sizes: number[];
            /** Applications */
            applications?: ("fft" | "milc" | "halo3d" | "hpcg" | "sweep" | "amg")[] | null;
        };
        /**
         * Arrivals
         * @description What has arrived, by door.
         */
        Arrivals: {
            /**
             * Now
             * Format: date-time
             */
            now: string;
            /** Recent S */
            recent_s: number;
            /** Doors */
            doors: components["schemas"]["DoorArrivals"][];
            /**
             * Simulated
             * @description Records of the cluster twin over the last `recent_s`; no door counts them.
             */
            simulated: number;
            /**
             * Unknown
             * @description Other records over the last `recent_s` that name no door.
             */
            unknown: number;
            /** Machines */
            machines: components["schemas"]["MachineReport"][];
        };
        /**
         * AttentionWeights
         * @description Of one net over the past steps, the oldest first; mean over later runs, 95 % interval over runs.
         */
        AttentionWeights: {
            /** Forecaster */
            forecaster: string;
            /** Mean */
            mean: number[];
            /** Low */
            low: number[];
            /** High */
            high: number[];
        };
        /**
         * AuditEntry
         * @description Something that a caller did or saw.
         */
        AuditEntry: {
            /** Audit Id */
            audit_id: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Actor */
            actor: string;
            /** Role */
            role: string | null;
            /** Via */
            via: string;
            /** Action */
            action: string;
            /** Target */
            target: string | null;
            /** Status */
            status: number | null;
            /** Address */
            address: string | null;
            /** Request Id */
            request_id: string | null;
            /** Details */
            details: {
                [key: string]: unknown;
            };
        };
        /**
         * AuditList
         * @description Entries, the newest first.
         */
        AuditList: {
            /** Items */
            items: components["schemas"]["AuditEntry"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Backtest
         * @description One row of the ablation table.
         */
        Backtest: {
            /** M */
            m: number;
            /** K */
            k: number;
            /**
             * Features
             * @description app, then any of placement, io, sys, joined by +.
             */
            features: string;
            /**
             * Mape
             * @description % error on held-out runs by forecaster.
             */
            mape: {
                [key: string]: number;
            };
            gain: components["schemas"]["Gain"] | null;
            /**
             * Coverage90
             * @description Share of held-out windows within the 90 % interval.
             */
            coverage90: number | null;
            /** Best */
            best: string;
            /** Runs */
            runs: number;
            /** Windows */
            windows: number;
        };
        /**
         * Band
         * @description The newest forecast by step: the mean curve scaled to the forecast and its interval.
         */
        Band: {
            /** Step */
            step: number[];
            /** Expected S */
            expected_s: number[];
            /** Low S */
            low_s: number[];
            /** High S */
            high_s: number[];
        };
        /**
         * BandPoint
         * @description The fitted line at one ratio, with its 95 % interval.
         */
        BandPoint: {
            /** Ratio */
            ratio: number;
            /** Low */
            low: number;
            /** Fitted */
            fitted: number;
            /** High */
            high: number;
        };
        /**
         * BeforeAfterLinks
         * @description Inter-switch links of the simulated fabric before and after, by column.
         */
        BeforeAfterLinks: {
            /** Link */
            link: number[];
            /** Src */
            src: number[];
            /** Dst */
            dst: number[];
            /** Class */
            class: string[];
            /** Router */
            router: number[];
            /** Name */
            name: string[];
            /** Level */
            level: (number | null)[];
            /** Group */
            group: (number | null)[];
            /** Nodes */
            nodes: number[];
            before: components["schemas"]["Carried"];
            after: components["schemas"]["Carried"];
        };
        /**
         * Bisection
         * @description Random bisections of one topology, or of figure 11's stand-ins.
         */
        Bisection: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /** Topology */
            topology?: string | null;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
        };
        /** Bisections */
        Bisections: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default quartz1
             */
            topology: string;
            /**
             * Mbytes
             * @default 10
             */
            mbytes: number;
            /**
             * Packet Bytes
             * @default 4096
             */
            packet_bytes: number;
        };
        /**
         * Blame
         * @description Who: names ranked by how much exposure to their jobs goes with slow runs.
         */
        Blame: {
            estimate: components["schemas"]["Head"];
            /**
             * By
             * @enum {string}
             */
            by: "user" | "application";
            method: components["schemas"]["Method"];
            /** Caveat */
            caveat: string;
            /**
             * Found
             * @description Entries that are named.
             */
            found: number;
            /** Cannot Tell */
            cannot_tell: number;
            /** Testable */
            testable: number;
            /** Total */
            total: number;
            runs: components["schemas"]["BlameRuns"];
            /** @description Of runs from files; null for recorded ones. */
            calibration: components["schemas"]["Calibration-Output"] | null;
            /**
             * Drivers
             * @description Of runs from files: other columns of numbers, the strongest first.
             */
            drivers: components["schemas"]["Driver"][];
            /**
             * Notes
             * @description What a reader should know of the files.
             */
            notes: string[];
            /** Entries */
            entries: components["schemas"]["BlameEntry"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * BlameArguments
         * @description `ml.blame`.
         */
        BlameArguments: {
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Definition */
            definition?: ("ours" | "paper") | null;
            /** Least Nodes */
            least_nodes?: number | null;
        };
        /**
         * BlameDetail
         * @description The runs behind one name, by column in the order of start.
         */
        BlameDetail: {
            estimate: components["schemas"]["Head"];
            /**
             * By
             * @enum {string}
             */
            by: "user" | "application";
            entry: components["schemas"]["BlameEntry"];
            /**
             * Run Id
             * @description Null: a run from a file, which the platform does not know.
             */
            run_id: (number | null)[];
            /**
             * Run Name
             * @description As the file calls it; null for recorded runs, and below scope names for files of others.
             */
            run_name: (string | null)[];
            /** Job Id */
            job_id: (string | null)[];
            /** Start */
            start: string[];
            /** Time S */
            time_s: number[];
            /** Slow */
            slow: boolean[];
            /**
             * Overlap
             * @description Share of the run that its large jobs covered together; null: not known (files give amounts only).
             */
            overlap: (number | null)[];
            /**
             * Exposure
             * @description Sum over its jobs of overlap x shared nodes by group; 0: no such job beside the run.
             */
            exposure: number[];
        };
        /**
         * BlameEntry
         * @description A user, or the jobs of one name.
         */
        BlameEntry: {
            /**
             * Place
             * @description In the ranking, from 1.
             */
            place: number;
            /** Name */
            name: string;
            /** Pseudonym */
            pseudonym: boolean;
            /**
             * Own
             * @description The runs themselves were submitted by this user.
             */
            own: boolean;
            /**
             * Verdict
             * @description Only `named` is a name: beyond chance, and neither the calendar, one week nor another user may stand for it.
             * @enum {string}
             */
            verdict: "named" | "cannot tell" | "no evidence";
            /**
             * Reasons
             * @description Why; `in place 3` is another entry of this estimate.
             */
            reasons: string[];
            /**
             * Effect S
             * @description Seconds by which an exposed run takes longer on average.
             */
            effect_s: number | null;
            /**
             * Effect Low S
             * @description 95 % interval of `effect_s`.
             */
            effect_low_s: number | null;
            /** Effect High S */
            effect_high_s: number | null;
            /**
             * Lost Node Hours
             * @description effect_s x nodes of the exposed runs, added up.
             */
            lost_node_hours: number | null;
            /** Lost Low Node Hours */
            lost_low_node_hours: number | null;
            /** Lost High Node Hours */
            lost_high_node_hours: number | null;
            /**
             * Runs Needed
             * @description Runs with which the present score would be enough for a name; null: named, or no sign of one.
             */
            runs_needed: number | null;
            /**
             * Score
             * @description Conditional z-score, given the others selected; high: exposed runs are slow.
             */
            score: number;
            /** Sign */
            sign: number;
            /**
             * P
             * @description One-sided; null where too few runs are shared.
             */
            p: number | null;
            /**
             * Q
             * @description Least false-discovery rate at which it is found.
             */
            q: number | null;
            /** Testable */
            testable: boolean;
            /**
             * Reason
             * @description Why it cannot be tested: too few shared runs, for example.
             */
            reason: string | null;
            /** Exposed Runs */
            exposed_runs: number;
            /**
             * Selected
             * @description Order in which the greedy selection took it; null: not selected.
             */
            selected: number | null;
            /**
             * Mi Bits
             * @description Mutual information of presence and optimality.
             */
            mi_bits: number;
            /** Mi Sign */
            mi_sign: number;
            /** Mi P */
            mi_p: number | null;
            /** Mi Q */
            mi_q: number | null;
        };
        /**
         * BlameEvidence
         * @description What one set of runs, an application on as many nodes, says of a name.
         */
        BlameEvidence: {
            /** Estimate Id */
            estimate_id: number;
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Runs */
            runs: number;
            /**
             * Place
             * @description In that estimate's ranking.
             */
            place: number;
            /** Simulated */
            simulated: boolean;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "named" | "cannot tell" | "no evidence";
            /** Testable */
            testable: boolean;
            /** Score */
            score: number;
            /** P */
            p: number | null;
            /** Q */
            q: number | null;
            /** Effect S */
            effect_s: number | null;
            /** Effect Low S */
            effect_low_s: number | null;
            /** Effect High S */
            effect_high_s: number | null;
            /** Lost Node Hours */
            lost_node_hours: number | null;
            /** Exposed Runs */
            exposed_runs: number;
            /** Mi Bits */
            mi_bits: number;
            /** Mi Sign */
            mi_sign: number;
            /** Mi P */
            mi_p: number | null;
            /** Mi Q */
            mi_q: number | null;
        };
        /**
         * BlameRuns
         * @description The runs that were compared, by column.
         */
        BlameRuns: {
            /**
             * Run Id
             * @description Null: a run from a file, which the platform does not know.
             */
            run_id: (number | null)[];
            /**
             * Run Name
             * @description As the file calls it; null for recorded runs, and below scope names for files of others.
             */
            run_name: (string | null)[];
            /** Job Id */
            job_id: (string | null)[];
            /** Start */
            start: string[];
            /** Time S */
            time_s: number[];
            /**
             * Slow
             * @description At or above the mean time (not optimal, tau = 1).
             */
            slow: boolean[];
        };
        /**
         * Calibration
         * @description Pairs of runs that lambda and sigma are fitted on.
         */
        "Calibration-Input": {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Ranks
             * @default 32
             */
            ranks: number;
            /**
             * Sizes
             * @default [
             *       4096,
             *       32768
             *     ]
             */
            sizes: number[];
            /** Patterns */
            patterns?: ("allreduce" | "alltoall" | "broadcast" | "halo3d" | "sweep3d")[] | null;
        };
        /**
         * Calibration
         * @description How often the method names anybody where nobody can be to blame: the same runs with their times dealt out at random.
         */
        "Calibration-Output": {
            /** Shuffles */
            shuffles: number;
            /**
             * Q
             * @description The limit of false discoveries at which a name counts.
             */
            q: number;
            /** Sets With A Name */
            sets_with_a_name: number;
            /**
             * Share
             * @description Of the shuffled sets; at most a tenth should have a name.
             */
            share: number | null;
        };
        /**
         * Candidate
         * @description A candidate list of nodes.
         */
        Candidate: {
            /** Index */
            index: number;
            /**
             * Action
             * @description What to do with the job on these nodes.
             * @enum {string}
             */
            action: "start" | "delay" | "prefer";
            /** @description null: unknown, see reason. */
            expected_slowdown: components["schemas"]["Slowdown"] | null;
            /** Reason */
            reason: string;
            /**
             * Routing Mode
             * @description MPICH_GNI_ROUTING_MODE on these nodes; null: unknown.
             */
            routing_mode: string | null;
        };
        /**
         * CandidateJob
         * @description A job beside the slow one.
         */
        CandidateJob: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** Simulated */
            simulated: boolean;
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /** End */
            end: string | null;
            /** Named */
            named: boolean;
            /** Shared Routers */
            shared_routers: number;
            /** Shared Groups */
            shared_groups: number;
            /**
             * Shared Links
             * @description Carrying links that touch one of its routers.
             */
            shared_links: number;
            /**
             * Exposure
             * @description Sum over groups of its nodes times the slow job's share of its own nodes there.
             */
            exposure: number;
            /**
             * Footprint
             * @description Stall cycles gained at the routers of its nodes over the mean of all counted routers; null: not counted.
             */
            footprint: number | null;
            /**
             * Change
             * @enum {string}
             */
            change: "started" | "sends more" | "none";
            /** Changed */
            changed: string | null;
            /**
             * Sent Before Bytes Per S
             * @description By its network cards; null: not counted.
             */
            sent_before_bytes_per_s: number | null;
            /** Sent After Bytes Per S */
            sent_after_bytes_per_s: number | null;
            blame: components["schemas"]["StoredBlame"] | null;
            /**
             * Score
             * @description Its `part`, or 0 where it started after the slow stretch began; where parts are not known the product of `parts`, as a share of all candidates'.
             */
            score: number;
            /**
             * Part
             * @description 0 to 1: how much of what the slow job waits for comes with its traffic; null: not known.
             */
            part: number | null;
            parts: components["schemas"]["ScoreParts"];
            /**
             * Why Not
             * @description Why its score is 0.
             */
            why_not: string | null;
        };
        /**
         * Carried
         * @description What the links carried, by link.
         */
        Carried: {
            /** Traffic Bytes */
            traffic_bytes: (number | null)[];
            /**
             * Congested
             * @description Congested fraction, 0 to 1.
             */
            congested: (number | null)[];
        };
        /**
         * CarryingGroup
         * @description The counted routers of a group.
         */
        CarryingGroup: {
            /** Stall Ratio Before */
            stall_ratio_before: number | null;
            /** Stall Ratio After */
            stall_ratio_after: number | null;
            /** Rose */
            rose: boolean | null;
            /** Group */
            group: number;
            /**
             * Nodes
             * @description Nodes of the job in it.
             */
            nodes: number;
        };
        /**
         * CarryingLink
         * @description A directed link at the job's routers, or between its groups, whose stalls rose.
         */
        CarryingLink: {
            /** Stall Ratio Before */
            stall_ratio_before: number | null;
            /** Stall Ratio After */
            stall_ratio_after: number | null;
            /** Rose */
            rose: boolean | null;
            /** Link */
            link: number;
            /** Link Class */
            link_class: string;
            /** From Router */
            from_router: number;
            /** From Name */
            from_name: string;
            /** From Group */
            from_group: number;
            /** To Router */
            to_router: number;
            /** To Name */
            to_name: string;
            /** To Group */
            to_group: number;
        };
        /**
         * ChainSentence
         * @description One sentence of the causal chain.
         */
        ChainSentence: {
            /**
             * Part
             * @enum {string}
             */
            part: "slowed" | "steps" | "links" | "jobs" | "since" | "certainty" | "help";
            /**
             * Text
             * @description Names jobs by number, and nobody by name.
             */
            text: string;
        };
        /**
         * Change
         * @description What is to be another with an account.
         */
        Change: {
            /** Role */
            role?: ("viewer" | "user" | "operator" | "admin" | "service") | null;
            /** Disabled */
            disabled?: boolean | null;
            /** Password */
            password?: string | null;
        };
        /**
         * Check
         * @description A moment of the job's past on which its placement is tried.
         */
        Check: {
            /** At S */
            at_s: number;
            /**
             * Window S
             * @default 300
             */
            window_s: number;
            /**
             * Pattern
             * @default stencil3d
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "barrier" | "bisection" | "bisection-shuffle" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "fill-boundary" | "halo3d" | "incast" | "permutation" | "pingpong" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "ring-allreduce" | "tree-allreduce" | "hierarchical-allreduce" | "expert-alltoall";
            /**
             * Bytes
             * @default 100000
             */
            bytes: number;
            /**
             * Routing
             * @default adaptive0
             * @enum {string}
             */
            routing: "minimal" | "valiant" | "adaptive0" | "adaptive1" | "adaptive2" | "adaptive3" | "min-hash" | "nmin-hash" | "in-order" | "ftree" | "hw-adaptive" | "spray" | "dor";
            /**
             * Seeds
             * @description An interval needs three.
             * @default 5
             */
            seeds: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
        };
        /**
         * ClassFigures
         * @description A link class in the window.
         */
        ClassFigures: {
            /** Flits */
            flits: number | null;
            /** Stall Cycles */
            stall_cycles: number | null;
            /** Ratio */
            ratio: number | null;
            /** P50 */
            p50: number | null;
            /** P95 */
            p95: number | null;
            /** Max */
            max: number | null;
            /**
             * Per
             * @description What p50, p95 and max are taken over: the ratios of each `link`, or of each `router`'s tiles of the class.
             */
            per: string;
            /**
             * Counted
             * @description How many of those have a ratio.
             */
            counted: number;
        };
        /**
         * Collective
         * @description `sim.collective`.
         */
        Collective: {
            /**
             * Pattern
             * @description A pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED].
             * @default binomial-bcast
             */
            pattern: string;
            /**
             * Ratio
             * @default 0.5
             */
            ratio: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /**
             * First Run
             * @default 0
             */
            first_run: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Semantics
             * @default longest-path
             * @enum {string}
             */
            semantics: "longest-path" | "orcs";
            /**
             * Wait For Own Send
             * @default false
             */
            wait_for_own_send: boolean;
            /**
             * Perturbation
             * @default permutation
             * @enum {string}
             */
            perturbation: "permutation" | "random-peer";
            /**
             * Mapping
             * @default random
             * @enum {string}
             */
            mapping: "random" | "linear";
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, torus:20,20,20, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             */
            topology: string;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
        };
        /** Collectives */
        Collectives: {
            /**
             * Detour Interval Us
             * @description 0: none.
             * @default 0
             */
            detour_interval_us: number;
            /**
             * Detour Us
             * @description Mean length; 0: a hundredth of the interval.
             * @default 0
             */
            detour_us: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Ranks
             * @default 64
             */
            ranks: number;
            /**
             * Iterations
             * @default 4
             */
            iterations: number;
            /**
             * Latency Factor
             * @description Lambda of the choice.
             * @default 0.8
             */
            latency_factor: number;
            /**
             * Stall Factor
             * @description Sigma of the choice.
             * @default 1.5
             */
            stall_factor: number;
            /**
             * Sizes
             * @default [
             *       1024,
             *       16384,
             *       131072
             *     ]
             */
            sizes: number[];
            /** Patterns */
            patterns?: ("allreduce" | "alltoall" | "barrier" | "broadcast" | "halo3d" | "sweep3d")[] | null;
        };
        /**
         * ComparedFigure
         * @description A figure of both sets within allocations that both have; null: cannot tell.
         */
        ComparedFigure: {
            /**
             * Key
             * @enum {string}
             */
            key: "latency_cycles" | "stalls_per_flit" | "flits_per_s" | "message_s";
            /** Unit */
            unit: string;
            /** First */
            first: number | null;
            /** Second */
            second: number | null;
            /**
             * Ratio
             * @description The second over the first.
             */
            ratio: number | null;
            /**
             * Low
             * @description 95 % interval of the ratio.
             */
            low: number | null;
            /** High */
            high: number | null;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "higher" | "lower" | "cannot tell";
        };
        /**
         * ComparedGuideline
         * @description A published guideline for comparisons.
         */
        ComparedGuideline: {
            /**
             * Number
             * @enum {integer}
             */
            number: 1 | 2 | 3;
            /**
             * Holds
             * @description null: it could not be looked at.
             */
            holds: boolean | null;
            /** Text */
            text: string;
        };
        /**
         * ComparedSet
         * @description What a set holds.
         */
        ComparedSet: {
            /** Observations */
            observations: number;
            /**
             * Shared
             * @description Of them in allocations that both sets have: these are compared.
             */
            shared: number;
            dispersion: components["schemas"]["NoiseDispersion"];
            /** Left Out */
            left_out: components["schemas"]["LeftOut"][];
        };
        /**
         * CongestionRoot
         * @description A link at which congestion begins.
         */
        CongestionRoot: {
            /** Link */
            link: number;
            /** Link Class */
            link_class: string;
            /**
             * Src
             * @description Vertex that sends: a router, or the number of routers plus an endpoint.
             */
            src: number;
            /** Src Name */
            src_name: string;
            /** Dst */
            dst: number;
            /** Dst Name */
            dst_name: string;
            /**
             * Utilisation
             * @description Part of the capacity that was used; of samples by the job's own packets alone.
             */
            utilisation: number | null;
            /** Stalls Per Flit */
            stalls_per_flit: number | null;
            /**
             * Congested Fraction
             * @description Part of the job's sampled packets that found the link congested.
             */
            congested_fraction: number | null;
            /**
             * Cause
             * @description The first three by counters of ports, the others by packet samples.
             * @enum {string}
             */
            cause: "full-link" | "full-endpoint" | "slow-endpoint" | "communication-pattern" | "mapping-or-bandwidth" | "static-routes" | "background-traffic";
            /**
             * Confidence
             * @description 0.5 to 1, by counters of ports; null by packet samples.
             */
            confidence: number | null;
            /** Advice */
            advice: string;
            /**
             * Victims
             * @description Its tree, the nearest first.
             */
            victims: components["schemas"]["VictimLink"][];
            /** Victims Total */
            victims_total: number;
            /**
             * Jobs
             * @description The largest share first.
             */
            jobs: components["schemas"]["Feeder"][];
            /**
             * Jobs Unknown Because
             * @description Why no job is named; null where one is.
             */
            jobs_unknown_because: string | null;
        };
        /**
         * Contact
         * @description A contact point: where alerts are mailed.
         */
        Contact: {
            /** Name */
            name: string;
            /**
             * Addresses
             * @description Null below scope operate.
             */
            addresses: string[] | null;
            /**
             * Least Severity
             * @description Alerts below it are not mailed there.
             * @enum {string}
             */
            least_severity: "info" | "warning" | "critical";
            /**
             * Updated
             * Format: date-time
             */
            updated: string;
            /**
             * Test Asked At
             * @description When the last test mail was asked for.
             */
            test_asked_at: string | null;
            /**
             * Test Tried At
             * @description When the engine last tried one; before `test_asked_at`: one waits for the engine.
             */
            test_tried_at: string | null;
            /**
             * Test Error
             * @description Why the last test mail was not sent; below scope operate only that.
             */
            test_error: string | null;
        };
        /**
         * ContactList
         * @description Contact points, by name.
         */
        ContactList: {
            /** Items */
            items: components["schemas"]["Contact"][];
        };
        /**
         * Count
         * @description `demo.count`: count with a pause before each number.
         */
        Count: {
            /**
             * To
             * @default 10
             */
            to: number;
            /**
             * Delay S
             * @default 0.1
             */
            delay_s: number;
        };
        /**
         * Counter
         * @description A feature: a counter of table II, one of any other fabric, or how a run lay.
         */
        Counter: {
            /**
             * Abbreviation
             * @description Its name; of table II's counters the abbreviation.
             */
            abbreviation: string;
            /** Vendor */
            vendor: string;
            /** Column */
            column: string;
            /** Description */
            description: string;
            /**
             * Meaning
             * @description What it counts and where, for example `stalls on the row bus`.
             */
            meaning: string;
        };
        /**
         * CreatedToken
         * @description A token with its secret, which is shown this once.
         */
        CreatedToken: {
            /** Token Id */
            token_id: number;
            /** Secret */
            secret: string;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
        };
        /** DeSensiApplications */
        DeSensiApplications: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig10";
            /**
             * @default {
             *       "detour_interval_us": 0,
             *       "detour_us": 0,
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "ranks": 64,
             *       "iterations": 4,
             *       "latency_factor": 0.8,
             *       "stall_factor": 1.5,
             *       "sizes": [
             *         8192,
             *         32768
             *       ]
             *     }
             */
            parameters: components["schemas"]["ApplicationsOnAllocations"];
        };
        /** DeSensiCalibration */
        DeSensiCalibration: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-calibration";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "ranks": 32,
             *       "sizes": [
             *         4096,
             *         32768
             *       ]
             *     }
             */
            parameters: components["schemas"]["Calibration-Input"];
        };
        /** DeSensiCollectives */
        DeSensiCollectives: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig8-collectives";
            /**
             * @default {
             *       "detour_interval_us": 0,
             *       "detour_us": 0,
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "ranks": 64,
             *       "iterations": 4,
             *       "latency_factor": 0.8,
             *       "stall_factor": 1.5,
             *       "sizes": [
             *         1024,
             *         16384,
             *         131072
             *       ]
             *     }
             */
            parameters: components["schemas"]["Collectives"];
        };
        /** DeSensiFig3 */
        DeSensiFig3: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig3";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24"
             *     }
             */
            parameters: components["schemas"]["Fig3"];
        };
        /** DeSensiFig4 */
        DeSensiFig4: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig4";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "detour_interval_us": 5,
             *       "detour_us": 1
             *     }
             */
            parameters: components["schemas"]["NodeSizes"];
        };
        /** DeSensiFig5 */
        DeSensiFig5: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig5";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "largest_bytes": 1048576,
             *       "detour_interval_us": 5,
             *       "detour_us": 1
             *     }
             */
            parameters: components["schemas"]["DetourSizes"];
        };
        /** DeSensiFig7 */
        DeSensiFig7: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig7";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "size_bytes": 1048576
             *     }
             */
            parameters: components["schemas"]["Fig7"];
        };
        /** DeSensiModel */
        DeSensiModel: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-model";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24"
             *     }
             */
            parameters: components["schemas"]["Model"];
        };
        /** DeSensiSizes */
        DeSensiSizes: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "desensi-fig8";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "load_gib_per_s": 1,
             *       "topology": "dragonfly:4,6,16,24",
             *       "largest_bytes": 1048576
             *     }
             */
            parameters: components["schemas"]["Sizes"];
        };
        /**
         * DeadLetter
         * @description A record that could not be used.
         */
        DeadLetter: {
            /** Id */
            id: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Topic */
            topic: string;
            /** Partition */
            partition: number;
            /** Offset */
            offset: number;
            /** Source */
            source: string;
            /** Where */
            where: string;
            /** Reason */
            reason: string;
            /**
             * Raw Bytes
             * @description The record's whole size; at most its first 64 kB are kept.
             */
            raw_bytes: number;
        };
        /**
         * DeadLetterList
         * @description A page of dead letters.
         */
        DeadLetterList: {
            /** Items */
            items: components["schemas"]["DeadLetter"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * DeadLetters
         * @description How many there are, and the newest.
         */
        DeadLetters: {
            /** Total */
            total: number;
            /** Last Hour */
            last_hour: number;
            /** Recent */
            recent: components["schemas"]["DeadLetter"][];
        };
        /** DetourSizes */
        DetourSizes: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Largest Bytes
             * @default 1048576
             */
            largest_bytes: number;
            /**
             * Detour Interval Us
             * @description 0: no OS noise.
             * @default 5
             */
            detour_interval_us: number;
            /**
             * Detour Us
             * @description Mean length.
             * @default 1
             */
            detour_us: number;
        };
        /**
         * Deviation
         * @description What: the heat map of counters and sets.
         */
        Deviation: {
            /**
             * Inputs
             * @enum {string}
             */
            inputs: "rates" | "deltas";
            /** Counters */
            counters: components["schemas"]["Counter"][];
            /** Sets */
            sets: components["schemas"]["Relevance"][];
            /** Lacking */
            lacking: components["schemas"]["MissingEstimate"][];
            /** Caveat */
            caveat: string;
        };
        /**
         * DoorArrivals
         * @description A way in, and what came through it.
         */
        DoorArrivals: {
            /** Key */
            key: string;
            /** Title */
            title: string;
            /** About */
            about: string;
            /**
             * Commands
             * @description With {site}, {host} and {fabric} to be filled in.
             */
            commands: string[];
            /** Needs */
            needs: string[];
            /**
             * Scope
             * @description The scope of the token that a sender needs at this API; null: none.
             */
            scope: string | null;
            /**
             * Records
             * @description Since counting began.
             */
            records: number;
            /**
             * Recent
             * @description Over the last `recent_s`.
             */
            recent: number;
            /**
             * Last At
             * @description Null: nothing yet.
             */
            last_at: string | null;
            /** Refused */
            refused: components["schemas"]["DoorRefusal"][];
        };
        /**
         * DoorRefusal
         * @description Records that a door could not use, by their source and topic.
         */
        DoorRefusal: {
            /**
             * Records
             * @description Over the last day.
             */
            records: number;
            /**
             * At
             * Format: date-time
             * @description The newest.
             */
            at: string;
            /** Where */
            where: string;
            /**
             * Reason
             * @description Of the newest.
             */
            reason: string;
        };
        /**
         * Drift
         * @description Whether the runs that come still look like those that were learned from.
         */
        Drift: {
            /**
             * Checked
             * Format: date-time
             */
            checked: string;
            /**
             * Forecasts
             * @description Forecasts since, whose outcome is known.
             */
            forecasts: number;
            /** Coverage90 */
            coverage90: number | null;
            /** Mape */
            mape: number | null;
            /**
             * Psi
             * @description Population stability index by feature; above 0.25 is a shift.
             */
            psi: {
                [key: string]: number;
            };
            /** Drifting */
            drifting: boolean;
            /** Why */
            why: string | null;
        };
        /**
         * Driver
         * @description How a circumstance of the runs goes with their times.
         */
        Driver: {
            /** Name */
            name: string;
            /**
             * Correlation
             * @description Partial: hours, dates and regimes taken out.
             */
            correlation: number;
            /** P */
            p: number;
            /** Q */
            q: number;
        };
        /**
         * DryRun
         * @description What to try: the rule of that name, or the one given, over a span.
         */
        DryRun: {
            /** Name */
            name?: string | null;
            rule?: components["schemas"]["NewRule"] | null;
            /**
             * From
             * Format: date-time
             */
            from: string;
            /**
             * To
             * Format: date-time
             */
            to: string;
        };
        /**
         * DryRunArguments
         * @description `alerting.test`: a rule over a span of the past.
         */
        DryRunArguments: {
            rule: components["schemas"]["Rule"];
            /** From S */
            from_s: number;
            /** To S */
            to_s: number;
        };
        /**
         * Endpoints
         * @description By endpoint.
         */
        Endpoints: {
            /** Endpoint */
            endpoint: number[];
            /** Router */
            router: number[];
            /** Port */
            port: (number | null)[];
            /** Node */
            node: string[];
            /** Nid */
            nid: (number | null)[];
            /** Role */
            role: string[];
        };
        /**
         * EstimateArguments
         * @description `ml.deviation` and `ml.forecast`; `definition`: ours unless the paper's is asked for.
         */
        EstimateArguments: {
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Definition */
            definition?: ("ours" | "paper") | null;
        };
        /**
         * EstimateStatus
         * @description How one kind of estimate stands for an application.
         */
        EstimateStatus: {
            /** Estimate Id */
            estimate_id: number | null;
            /** Created */
            created: string | null;
            /**
             * Checked
             * @description When a worker last looked at these runs.
             */
            checked: string | null;
            /**
             * Lacks
             * @description Why there is no newer estimate, for example "needs 8 runs, has 3".
             */
            lacks: string | null;
            /** Score */
            score: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * ExaminedJobs
         * @description How many of the jobs that run could be judged.
         */
        ExaminedJobs: {
            /** Running */
            running: number;
            /** Slow */
            slow: number;
            /** Not Slow */
            not_slow: number;
            /**
             * Unknown
             * @description Not comparable with earlier runs.
             */
            unknown: number;
        };
        /**
         * Explained
         * @description What the features of one meaning explain of the deviation, on runs that were held out.
         */
        Explained: {
            /** Name */
            name: string;
            /** Features */
            features: string[];
            /**
             * Explained
             * @description 1 - error of a model of these features alone / error of the mean curve; mean over folds.
             */
            explained: number;
            /**
             * Low
             * @description 95 % interval over folds that holds for all groups at once.
             */
            low: number;
            /** High */
            high: number;
            /**
             * Kept
             * @description Folds in which the elimination kept one of them.
             */
            kept: number;
            /** Folds */
            folds: number;
            /**
             * Verdict
             * @description `carries`: the interval lies above zero, and seven of ten folds kept one of them.
             * @enum {string}
             */
            verdict: "carries" | "cannot tell" | "not used";
        };
        /**
         * Explanation
         * @description Why a job is slow, whether it is, and what would help.
         */
        Explanation: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** Cluster */
            cluster: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** State */
            state: string;
            /** Nodes */
            nodes: number | null;
            /** Start */
            start: string | null;
            /** End */
            end: string | null;
            /** Simulated */
            simulated: boolean;
            /**
             * As Of
             * Format: date-time
             */
            as_of: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            /**
             * Reasons
             * @description Why nobody can tell; empty otherwise.
             */
            reasons: string[];
            /** Title */
            title: string;
            /** Detail */
            detail: string;
            slowdown: components["schemas"]["JobSlowdown"] | null;
            routers: components["schemas"]["OwnRouters"] | null;
            /**
             * Links
             * @description Those that gained most stalls first.
             */
            links: components["schemas"]["CarryingLink"][];
            /** @description Where the congestion on its links begins, by its packet samples or counters of ports in the minute after the onset; null where that is not found. */
            root: components["schemas"]["CongestionRoot"] | null;
            /**
             * Root From
             * @description From here to `root_to`, the minute after the onset, the root is looked for; null where too little of it is over, or the job's place is unknown.
             */
            root_from: string | null;
            /** Root To */
            root_to: string | null;
            /** Groups */
            groups: components["schemas"]["CarryingGroup"][];
            /**
             * Candidates
             * @description The most likely first.
             */
            candidates: components["schemas"]["CandidateJob"][];
            /** Candidates Total */
            candidates_total: number;
            /**
             * Named
             * @description The job that is named; of several the first, and `candidates` say which others are.
             */
            named: string | null;
            /** @description What it waits for; null where it is not slow, or its place is not known. */
            flow: components["schemas"]["FlowWaiting"] | null;
            /** Remedies */
            remedies: components["schemas"]["Remedy"][];
            /**
             * Incident Id
             * @description The newest incident that slowed it; null: none.
             */
            incident_id: number | null;
            /** @description What it cost others; null: no incident names it. */
            slowed: components["schemas"]["SlowedTotal"] | null;
            /**
             * Chain
             * @description The same as sentences, as alerts, evidence and commands print it.
             */
            chain: components["schemas"]["ChainSentence"][];
        };
        /**
         * Fabric
         * @description A fabric in a list.
         */
        Fabric: {
            /** Id */
            id: number;
            /** Name */
            name: string;
            /**
             * Kind
             * @description dragonfly, fat_tree, torus or graph
             */
            kind: string;
            /**
             * Technology
             * @description cray_xc, slingshot, infiniband, opa or generic
             */
            technology: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Snapshot
             * @description Its counters are one sample without a time.
             */
            snapshot: boolean;
            /**
             * Recorded
             * @description Its counters are a recording that is whole: no more are awaited.
             */
            recorded: boolean;
            /**
             * Counted At
             * @description receiver or sender: at which end of a link its counters stand.
             */
            counted_at: string;
            /** Routers */
            routers: number;
            /** Endpoints */
            endpoints: number;
            /** Links */
            links: number;
            /** Groups */
            groups: number[];
            /**
             * First Ts
             * @description Start of the oldest data.
             */
            first_ts: string | null;
            /**
             * Last Ts
             * @description End of the newest data.
             */
            last_ts: string | null;
            /**
             * Complete Through
             * @description Rows are complete up to here.
             */
            complete_through: string | null;
        };
        /**
         * FabricDetail
         * @description A fabric with what its importer noted.
         */
        FabricDetail: {
            /** Id */
            id: number;
            /** Name */
            name: string;
            /**
             * Kind
             * @description dragonfly, fat_tree, torus or graph
             */
            kind: string;
            /**
             * Technology
             * @description cray_xc, slingshot, infiniband, opa or generic
             */
            technology: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Snapshot
             * @description Its counters are one sample without a time.
             */
            snapshot: boolean;
            /**
             * Recorded
             * @description Its counters are a recording that is whole: no more are awaited.
             */
            recorded: boolean;
            /**
             * Counted At
             * @description receiver or sender: at which end of a link its counters stand.
             */
            counted_at: string;
            /** Routers */
            routers: number;
            /** Endpoints */
            endpoints: number;
            /** Links */
            links: number;
            /** Groups */
            groups: number[];
            /**
             * First Ts
             * @description Start of the oldest data.
             */
            first_ts: string | null;
            /**
             * Last Ts
             * @description End of the newest data.
             */
            last_ts: string | null;
            /**
             * Complete Through
             * @description Rows are complete up to here.
             */
            complete_through: string | null;
            /** Source */
            source: string;
            /** Attributes */
            attributes: {
                [key: string]: unknown;
            };
            /** Warnings */
            warnings: string[];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
        };
        /**
         * FabricList
         * @description All fabrics.
         */
        FabricList: {
            /** Items */
            items: components["schemas"]["Fabric"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Feeder
         * @description A job that feeds a root.
         */
        Feeder: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /**
             * Share
             * @description Estimated part of what the link carried; null for the job that holds the node at its end.
             */
            share: number | null;
        };
        /** Fig11 */
        Fig11: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /** Semantics */
            semantics?: ("longest-path" | "orcs") | ("longest-path" | "orcs")[] | null;
            /**
             * Pattern
             * @description A pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED].
             * @default binomial-bcast
             */
            pattern: string;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
            /** Ratios */
            ratios?: number[] | null;
            /**
             * Fabrics
             * @default []
             */
            fabrics: components["schemas"]["Machine"][];
            /**
             * Stand Ins
             * @default true
             */
            stand_ins: boolean;
        };
        /** Fig13 */
        Fig13: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /** Semantics */
            semantics?: ("longest-path" | "orcs") | ("longest-path" | "orcs")[] | null;
            /**
             * Pattern
             * @description A pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED].
             * @default binomial-bcast
             */
            pattern: string;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
            /**
             * Ratio
             * @default 0.5
             */
            ratio: number;
            /** Topologies */
            topologies?: string | string[] | null;
        };
        /** Fig15 */
        Fig15: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /** Semantics */
            semantics?: ("longest-path" | "orcs") | ("longest-path" | "orcs")[] | null;
            /**
             * Pattern
             * @description A pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED].
             * @default binomial-bcast
             */
            pattern: string;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
            /** Ratios */
            ratios?: number[] | null;
            /** Topologies */
            topologies?: {
                [key: string]: string;
            } | null;
        };
        /** Fig16 */
        Fig16: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @default 1000
             */
            runs: number;
            /** Semantics */
            semantics?: ("longest-path" | "orcs") | ("longest-path" | "orcs")[] | null;
            /**
             * Pattern
             * @description A pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27, sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED].
             * @default binomial-bcast
             */
            pattern: string;
            /** Routing */
            routing?: ("dmodk" | "dor" | "minhop" | "updn" | "ftree" | "minimal" | "valiant") | null;
            /**
             * Ratio
             * @default 0.5
             */
            ratio: number;
            /** K 2D */
            k_2d?: number[] | null;
            /** K 3D */
            k_3d?: number[] | null;
        };
        /** Fig3 */
        Fig3: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
        };
        /** Fig7 */
        Fig7: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Size Bytes
             * @default 1048576
             */
            size_bytes: number;
        };
        /**
         * Finding
         * @description One finding.
         */
        Finding: {
            /** Text */
            text: string;
            /** Value */
            value: number | null;
            /** Unit */
            unit: string | null;
        };
        /**
         * Fit
         * @description A line by least squares through the slowdowns of a series' splits over the ratio.
         */
        Fit: {
            /** Network */
            network: string;
            /** Collective */
            collective: string;
            /** Collective Bytes */
            collective_bytes: number;
            /** Perturbation Bytes */
            perturbation_bytes: number;
            /** World */
            world: number;
            /** Splits */
            splits: number;
            /**
             * Slope
             * @description Slowdown that a ratio of 1 adds.
             */
            slope: number;
            /** Slope Ci95 */
            slope_ci95: [
                number,
                number
            ];
            /** Intercept */
            intercept: number;
            /** Band */
            band: components["schemas"]["BandPoint"][];
        };
        /**
         * FlowWaiting
         * @description What the job waits for, by flow: stall cycles a flit that its traffic meets on its way.
         */
        FlowWaiting: {
            /**
             * Waiting
             * @description Beyond the quiet ones, over the minutes; null: not known.
             */
            waiting: number | null;
            /**
             * Quiet
             * @description In the quiet minute.
             */
            quiet: number | null;
            /**
             * Own Part
             * @description 0 to 1: how much of it comes with the job's own traffic.
             */
            own_part: number | null;
            /**
             * Counted
             * @description 0 to 1: the part of its way that is counted.
             */
            counted: number | null;
            /**
             * Quiet From
             * @description When the quiet minute began.
             */
            quiet_from: string | null;
            /**
             * Minutes
             * @description When the minutes of the slow stretch began that are looked at: the worst.
             */
            minutes: string[];
            /**
             * Resolution S
             * @description How long they are: 60; 10 where the first minute is slow already; 3600 where minutes are no longer kept.
             */
            resolution_s: number;
            /**
             * Routes
             * @description Whose the ways of the traffic are: those of the forwarding tables, or those that are expected of such a machine.
             */
            routes: ("assumed" | "tables") | null;
            /**
             * To File System
             * @description Whether the way is that to the file system: on a fat tree, where the job waits there longer than between its nodes.
             */
            to_file_system: boolean;
            /** Unknown Because */
            unknown_because: string | null;
        };
        /**
         * Forecast
         * @description What next: backtests of every forecaster, the one that serves, and how it does since.
         */
        Forecast: {
            estimate: components["schemas"]["Head"];
            serves: components["schemas"]["Serving"];
            /** Backtests */
            backtests: components["schemas"]["Backtest"][];
            /** Step */
            step: number[];
            /**
             * Curve S
             * @description Mean time of each step.
             */
            curve_s: number[];
            drift: components["schemas"]["Drift"] | null;
            /**
             * Rests On
             * @description Of what serves, then of attention alone, the paper's forecaster.
             */
            rests_on: components["schemas"]["ForecastBasis"][];
            /**
             * Rests On Lacks
             * @description Why that is unknown.
             */
            rests_on_lacks: string | null;
            /** Notes */
            notes: string[];
        };
        /**
         * ForecastBasis
         * @description What a forecaster rests on (figure 11 of the paper): learned from the earlier runs, asked on later ones.
         */
        ForecastBasis: {
            /** Forecaster */
            forecaster: string;
            /**
             * Mape
             * @description % error on the later runs as they are.
             */
            mape: number;
            /** Learned */
            learned: number;
            /** Runs */
            runs: number;
            /**
             * Inputs
             * @description The largest first.
             */
            inputs: components["schemas"]["ForecastInput"][];
            /** Weights */
            weights: components["schemas"]["AttentionWeights"][];
        };
        /**
         * ForecastInput
         * @description How much a forecast rests on one input; counters of one meaning that move together are one input.
         */
        ForecastInput: {
            /** Name */
            name: string;
            /**
             * Meaning
             * @description What the counters count and where, for example `stalls on the row bus`.
             */
            meaning: string;
            /** Features */
            features: string[];
            /**
             * Increase
             * @description Percentage points of error added on later runs where this input is that of another run.
             */
            increase: number;
            /**
             * Low
             * @description 95 % interval over runs that holds for all inputs at once.
             */
            low: number;
            /** High */
            high: number;
            /**
             * Verdict
             * @description `carries`: the interval lies above zero; `not used`: no forecast changed.
             * @enum {string}
             */
            verdict: "carries" | "cannot tell" | "not used";
        };
        /**
         * Frames
         * @description Router counters step by step, for brushing.
         */
        Frames: {
            /** Ts */
            ts: string[];
            /** Step S */
            step_s: number;
            /** Routers */
            routers: number[];
            /**
             * Flits
             * @description [step][router]
             */
            flits: (number | null)[][];
            /** Stall Cycles */
            stall_cycles: (number | null)[][];
        };
        /**
         * Gain
         * @description Of attention over the best other, as a share; 90 % interval over runs.
         */
        Gain: {
            /** Mean */
            mean: number;
            /** Low */
            low: number;
            /** High */
            high: number;
        };
        /**
         * Gap
         * @description Time of a device without samples.
         */
        Gap: {
            /** Id */
            id: number;
            /** Fabric Id */
            fabric_id: number | null;
            /** Device */
            device: string;
            /** Schema */
            schema: string;
            /**
             * From
             * Format: date-time
             */
            from: string;
            /**
             * To
             * Format: date-time
             */
            to: string;
            /** Reason */
            reason: string;
            /**
             * Open
             * @description Whether the device is still silent: the gap reaches to within a minute of now.
             */
            open: boolean;
        };
        /**
         * GroupNodes
         * @description The compute nodes of a group.
         */
        GroupNodes: {
            /** Fabric Id */
            fabric_id: number;
            /** Group */
            group: number;
            /**
             * Nodes
             * @description A host list.
             */
            nodes: string;
        };
        /**
         * Head
         * @description One result of an estimator: its data, parameters, code version and score.
         */
        Head: {
            /** Estimate Id */
            estimate_id: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "blame" | "deviation" | "forecast";
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Code Version */
            code_version: string;
            /** Runs */
            runs: number;
            /** Steps */
            steps: number;
            /**
             * First
             * Format: date-time
             * @description Start of the first run.
             */
            first: string;
            /**
             * Last
             * Format: date-time
             * @description Start of the last run.
             */
            last: string;
            /** Parameters */
            parameters: {
                [key: string]: unknown;
            };
            /**
             * Score
             * @description blame: found, testable; deviation: mape, baseline_mape; forecast: mape by forecaster, gain, coverage90.
             */
            score: {
                [key: string]: unknown;
            };
            /** Simulated */
            simulated: boolean;
            /**
             * Source
             * @description `runs`: recorded by the platform; `files`: brought by a person (task ml.blame_measured, flitwatch import runs).
             * @enum {string}
             */
            source: "runs" | "files";
        };
        /**
         * HeadList
         * @description A page of estimates.
         */
        HeadList: {
            /** Items */
            items: components["schemas"]["Head"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Health
         * @description A check that passed.
         */
        Health: {
            /** Status */
            status: string;
        };
        /**
         * Hit
         * @description Something that was found.
         */
        Hit: {
            /**
             * Kind
             * @description job, incident, router, node, user or fabric
             */
            kind: string;
            /** Id */
            id: string;
            /** Title */
            title: string;
            /** Detail */
            detail: string | null;
            /**
             * Href
             * @description Path of its page.
             */
            href: string;
        };
        /**
         * Hits
         * @description What was found, exact hits first.
         */
        Hits: {
            /** Items */
            items: components["schemas"]["Hit"][];
        };
        /** HoeflerBisection */
        HoeflerBisection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "ebb" | "hoefler-ebb";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "runs": 1000
             *     }
             */
            parameters: components["schemas"]["Bisection"];
        };
        /** HoeflerFig11 */
        HoeflerFig11: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "fig11" | "hoefler-fig11";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "runs": 1000,
             *       "pattern": "binomial-bcast",
             *       "fabrics": [],
             *       "stand_ins": true
             *     }
             */
            parameters: components["schemas"]["Fig11"];
        };
        /** HoeflerFig13 */
        HoeflerFig13: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "fig13" | "hoefler-fig13";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "runs": 1000,
             *       "pattern": "binomial-bcast",
             *       "ratio": 0.5
             *     }
             */
            parameters: components["schemas"]["Fig13"];
        };
        /** HoeflerFig15 */
        HoeflerFig15: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "fig15" | "hoefler-fig15";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "runs": 1000,
             *       "pattern": "binomial-bcast"
             *     }
             */
            parameters: components["schemas"]["Fig15"];
        };
        /** HoeflerFig16 */
        HoeflerFig16: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "fig16" | "hoefler-fig16";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "runs": 1000,
             *       "pattern": "binomial-bcast",
             *       "ratio": 0.5
             *     }
             */
            parameters: components["schemas"]["Fig16"];
        };
        /**
         * HotLink
         * @description A counted link between routers.
         */
        HotLink: {
            /** Link */
            link: number;
            /** Link Class */
            link_class: string;
            /**
             * Src
             * @description Router that sends.
             */
            src: number;
            /** Src Name */
            src_name: string;
            /** Src Group */
            src_group: number;
            /** Src Port */
            src_port: number | null;
            /**
             * Dst
             * @description Router that receives.
             */
            dst: number;
            /** Dst Name */
            dst_name: string;
            /** Dst Group */
            dst_group: number;
            /** Dst Port */
            dst_port: number | null;
            /** Flits */
            flits: number | null;
            /** Stall Cycles */
            stall_cycles: number | null;
            /**
             * Ratio
             * @description Stalls over flits: the time stalled over the time of sending.
             */
            ratio: number | null;
            /**
             * Jobs
             * @description The largest share first; shares of at least 1 %.
             */
            jobs: components["schemas"]["LinkUser"][];
            /**
             * Jobs More
             * @description Further jobs with such a share.
             */
            jobs_more: number;
            /**
             * Explained
             * @description What the jobs are expected to put on it over what it carried; null where bytes are not counted.
             */
            explained: number | null;
            /**
             * Cannot Tell
             * @description Why no job is given a share; null where a job is.
             */
            cannot_tell: string | null;
        };
        /**
         * HotLinks
         * @description The hottest links of a window and who uses them.
         */
        HotLinks: {
            /** At */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /**
             * Links Counted
             * @description Counted links that meet the filter.
             */
            links_counted: number;
            /**
             * Items
             * @description Greatest ratio of stalls first.
             */
            items: components["schemas"]["HotLink"][];
            /**
             * Detour
             * @description Estimated part of traffic between groups that went through a third group; null without shares.
             */
            detour: number | null;
            /**
             * Note
             * @description Says so where the sums of a long window are estimates.
             */
            note: string | null;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * Incident
         * @description The present incident of a machine, or that there is none, or that nobody can tell.
         */
        Incident: {
            /**
             * Incident Id
             * @description Of GET /incidents/{incident_id}; null: not stored yet.
             */
            incident_id: number | null;
            /** Title */
            title: string;
            /** Detail */
            detail: string;
            /** Since */
            since: string | null;
            /** Until */
            until: string | null;
            /** @description The job that is named. */
            aggressor: components["schemas"]["CandidateJob"] | null;
            /**
             * Links
             * @description The hottest first.
             */
            links: components["schemas"]["CarryingLink"][];
            /**
             * Victims
             * @description Jobs for which it is named; those that waste most nodes first.
             */
            victims: components["schemas"]["SlowJob"][];
            /**
             * Others
             * @description Jobs that are slow too, for which another job is named, or none.
             */
            others: components["schemas"]["SlowJob"][];
            /**
             * Remedies
             * @description Of the job that wastes most nodes.
             */
            remedies: components["schemas"]["Remedy"][];
            /** Fabric */
            fabric: string;
            /**
             * As Of
             * Format: date-time
             */
            as_of: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "incident" | "none" | "cannot tell";
            /**
             * Reasons
             * @description Why nobody can tell; empty otherwise.
             */
            reasons: string[];
            judged: components["schemas"]["ExaminedJobs"];
            /** @description The newest incident of the last day that is over; null while one is present. */
            last: components["schemas"]["IncidentSummary"] | null;
        };
        /**
         * IncidentAlert
         * @description An alert of an incident.
         */
        IncidentAlert: {
            /** Alert Id */
            alert_id: number;
            /** Rule */
            rule: string;
            /**
             * Phase
             * @enum {string}
             */
            phase: "pending" | "firing" | "resolved";
            /** Fired At */
            fired_at: string | null;
            /** Resolved At */
            resolved_at: string | null;
            /**
             * Delivered
             * @description Messages that receivers took.
             */
            delivered: number;
        };
        /**
         * IncidentCause
         * @description A job that is named for an incident.
         */
        IncidentCause: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** Simulated */
            simulated: boolean;
            /** Start */
            start: string | null;
            /** End */
            end: string | null;
            /**
             * Part
             * @description 0 to 1: how much of the waiting comes with its traffic; null where only times and places name it.
             */
            part: number | null;
        };
        /**
         * IncidentDetail
         * @description An incident with all that is known of it.
         */
        IncidentDetail: {
            /** Incident Id */
            incident_id: number;
            /** Fabric */
            fabric: string;
            /** Simulated */
            simulated: boolean;
            /**
             * State
             * @description Withdrawn: the whole run of the slowed job does not confirm what was said while it ran.
             * @enum {string}
             */
            state: "open" | "over" | "withdrawn";
            /**
             * Began
             * Format: date-time
             */
            began: string;
            /**
             * Ended
             * @description Null while it is open.
             */
            ended: string | null;
            /** Title */
            title: string;
            /**
             * Causes
             * @description The largest part first.
             */
            causes: components["schemas"]["IncidentCause"][];
            /**
             * Worst
             * @description The slowed job that lost most; null: none is left.
             */
            worst: string | null;
            /**
             * Slowed
             * @description Jobs that it slowed, those that ended or recovered among them.
             */
            slowed: number;
            /**
             * Slow Now
             * @description Jobs that it slows now.
             */
            slow_now: number;
            /**
             * Lost S
             * @description Seconds that the slowed jobs lost, all together.
             */
            lost_s: number;
            /**
             * Node Hours
             * @description The same, times the nodes of each.
             */
            node_hours: number;
            /**
             * Node Hours Low
             * @description 95 % interval.
             */
            node_hours_low: number;
            /** Node Hours High */
            node_hours_high: number;
            /** Detail */
            detail: string;
            /**
             * Quiet
             * @description Stall cycles a flit on that way in a quiet minute; null: not known.
             */
            quiet: number | null;
            /**
             * Links
             * @description The hottest first.
             */
            links: components["schemas"]["CarryingLink"][];
            /**
             * Victims
             * @description Those that waste most nodes first.
             */
            victims: components["schemas"]["SlowedJob"][];
            /**
             * Remedies
             * @description Of the job that wastes most nodes.
             */
            remedies: components["schemas"]["Remedy"][];
            /** Minutes */
            minutes: components["schemas"]["IncidentMinute"][];
            /** Alerts */
            alerts: components["schemas"]["IncidentAlert"][];
            /** Notes */
            notes: components["schemas"]["IncidentNote"][];
        };
        /**
         * IncidentHead
         * @description One incident: the jobs that kept links congested, and what that cost.
         */
        IncidentHead: {
            /** Incident Id */
            incident_id: number;
            /** Fabric */
            fabric: string;
            /** Simulated */
            simulated: boolean;
            /**
             * State
             * @description Withdrawn: the whole run of the slowed job does not confirm what was said while it ran.
             * @enum {string}
             */
            state: "open" | "over" | "withdrawn";
            /**
             * Began
             * Format: date-time
             */
            began: string;
            /**
             * Ended
             * @description Null while it is open.
             */
            ended: string | null;
            /** Title */
            title: string;
            /**
             * Causes
             * @description The largest part first.
             */
            causes: components["schemas"]["IncidentCause"][];
            /**
             * Worst
             * @description The slowed job that lost most; null: none is left.
             */
            worst: string | null;
            /**
             * Slowed
             * @description Jobs that it slowed, those that ended or recovered among them.
             */
            slowed: number;
            /**
             * Slow Now
             * @description Jobs that it slows now.
             */
            slow_now: number;
            /**
             * Lost S
             * @description Seconds that the slowed jobs lost, all together.
             */
            lost_s: number;
            /**
             * Node Hours
             * @description The same, times the nodes of each.
             */
            node_hours: number;
            /**
             * Node Hours Low
             * @description 95 % interval.
             */
            node_hours_low: number;
            /** Node Hours High */
            node_hours_high: number;
        };
        /**
         * IncidentList
         * @description A page of incidents.
         */
        IncidentList: {
            /** Items */
            items: components["schemas"]["IncidentHead"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * IncidentMinute
         * @description A minute of an incident.
         */
        IncidentMinute: {
            /**
             * At
             * Format: date-time
             * @description Its beginning.
             */
            at: string;
            /**
             * Waiting
             * @description Stall cycles a flit, on the way of the job that lost most.
             */
            waiting: number;
            /**
             * Part
             * @description 0 to 1: the causes' part of the traffic where it waits; null: not known.
             */
            part: number | null;
        };
        /**
         * IncidentNote
         * @description A note on what was done about an incident.
         */
        IncidentNote: {
            /** Note Id */
            note_id: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Author */
            author: string;
            /** Text */
            text: string;
        };
        /**
         * IncidentSummary
         * @description Who slows whom, where and since when, and what would help.
         */
        IncidentSummary: {
            /**
             * Incident Id
             * @description Of GET /incidents/{incident_id}; null: not stored yet.
             */
            incident_id: number | null;
            /** Title */
            title: string;
            /** Detail */
            detail: string;
            /** Since */
            since: string | null;
            /** Until */
            until: string | null;
            /** @description The job that is named. */
            aggressor: components["schemas"]["CandidateJob"] | null;
            /**
             * Links
             * @description The hottest first.
             */
            links: components["schemas"]["CarryingLink"][];
            /**
             * Victims
             * @description Jobs for which it is named; those that waste most nodes first.
             */
            victims: components["schemas"]["SlowJob"][];
            /**
             * Others
             * @description Jobs that are slow too, for which another job is named, or none.
             */
            others: components["schemas"]["SlowJob"][];
            /**
             * Remedies
             * @description Of the job that wastes most nodes.
             */
            remedies: components["schemas"]["Remedy"][];
        };
        /**
         * Interval
         * @description A part of a job's run time, in epoch seconds.
         */
        Interval: {
            /** From S */
            from_s: number;
            /** To S */
            to_s: number;
        };
        /**
         * Job
         * @description A job in a list.
         */
        Job: {
            /** Job Pk */
            job_pk: number;
            /** Cluster */
            cluster: string;
            /**
             * Job Id
             * @description As the scheduler prints it: 42, 3_4, 10+1.
             */
            job_id: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** Partition */
            partition: string | null;
            /** State */
            state: string;
            /** Submit */
            submit: string | null;
            /** Start */
            start: string | null;
            /** End */
            end: string | null;
            /**
             * Elapsed S
             * @description Until now for a job that runs; null where nobody knows its end.
             */
            elapsed_s: number | null;
            /** Nodes */
            nodes: number | null;
            /** Groups */
            groups: number[];
            /**
             * Fabric Id
             * @description The fabric that holds most of its nodes' endpoints.
             */
            fabric_id: number | null;
            /** Simulated */
            simulated: boolean;
            /**
             * Routers
             * @description How many routers its nodes are on; null where that is unknown.
             */
            routers: number | null;
            /** Runs */
            runs: number;
        };
        /**
         * JobCounters
         * @description What was counted on a job's own network cards and links; a figure that nothing counts is left out.
         */
        JobCounters: {
            /**
             * Ts
             * @description Start of each step.
             */
            ts: string[];
            /** Step S */
            step_s: number;
            /** Parts */
            parts: components["schemas"]["JobPart"][];
        };
        /**
         * JobDetail
         * @description A job, its place on the fabric, and who ran beside it.
         */
        JobDetail: {
            /** Job Pk */
            job_pk: number;
            /** Cluster */
            cluster: string;
            /**
             * Job Id
             * @description As the scheduler prints it: 42, 3_4, 10+1.
             */
            job_id: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** Partition */
            partition: string | null;
            /** State */
            state: string;
            /** Submit */
            submit: string | null;
            /** Start */
            start: string | null;
            /** End */
            end: string | null;
            /**
             * Elapsed S
             * @description Until now for a job that runs; null where nobody knows its end.
             */
            elapsed_s: number | null;
            /** Nodes */
            nodes: number | null;
            /** Groups */
            groups: number[];
            /**
             * Fabric Id
             * @description The fabric that holds most of its nodes' endpoints.
             */
            fabric_id: number | null;
            /** Simulated */
            simulated: boolean;
            /** Restart */
            restart: number;
            /** Exit Code */
            exit_code: string | null;
            /** Node List */
            node_list: string | null;
            /**
             * Routers
             * @description Of fabric_id, as are groups and endpoints.
             */
            routers: number[];
            /** Endpoints */
            endpoints: number[];
            /**
             * Planes
             * @description All fabrics that its nodes have endpoints on, fabric_id first.
             */
            planes: components["schemas"]["Plane"][];
            /** Steps */
            steps: components["schemas"]["JobStep"][];
            /** Neighbours */
            neighbours: components["schemas"]["Neighbour"][];
            /** Runs */
            runs: components["schemas"]["Run"][];
            /**
             * Links
             * @description To other monitors of the site, by its settings.
             */
            links: components["schemas"]["Link"][];
        };
        /**
         * JobList
         * @description A page of jobs.
         */
        JobList: {
            /** Items */
            items: components["schemas"]["Job"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * JobNetworkNoise
         * @description The network noise of a job, from the counters of its network cards (De Sensi 2019).
         */
        JobNetworkNoise: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /**
             * Verdict
             * @description `estimated`: seconds are known. `not computed`: the job runs, or ended moments ago.
             * @enum {string}
             */
            verdict: "estimated" | "cannot tell" | "not computed";
            /** Computed At */
            computed_at: string | null;
            /** Fabric Id */
            fabric_id: number | null;
            /** Window S */
            window_s: number | null;
            /**
             * Windows
             * @description Windows with traffic.
             */
            windows: number;
            /** Cards */
            cards: number;
            /** Cards Counted */
            cards_counted: number;
            /** Figures */
            figures: components["schemas"]["NoiseFigure"][];
            /**
             * Message Dispersion
             * @description Of the modelled time of a message of 64 KiB.
             */
            message_dispersion: number | null;
            /**
             * Noise S
             * @description Modelled seconds of sending beyond the job's own quiet level, mean over its cards.
             */
            noise_s: number | null;
            /**
             * Worst Noise S
             * @description The same of the card that has most.
             */
            worst_noise_s: number | null;
            of_runtime: components["schemas"]["Share"];
            /** @description Of the seconds beyond the median of finished jobs of its kind. */
            of_slowdown: components["schemas"]["Share"];
            /**
             * Counters
             * @description Columns of the tables endpoint_* that it was made from.
             */
            counters: string[];
            /**
             * Unknown
             * @description Why a figure is unknown.
             */
            unknown: {
                [key: string]: string;
            };
            /** Method */
            method: string;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * JobOnFabric
         * @description A job on the fabric at a moment.
         */
        JobOnFabric: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** Start */
            start: string | null;
            /** Routers */
            routers: number[];
        };
        /**
         * JobOnRouter
         * @description A job that holds nodes of a router.
         */
        JobOnRouter: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
        };
        /**
         * JobPart
         * @description A figure of a job's own parts over time.
         */
        JobPart: {
            /** Key */
            key: string;
            /** Label */
            label: string;
            /**
             * Unit
             * @description By the catalogue of counters.
             */
            unit: string;
            /**
             * Values
             * @description One a step; null is unknown.
             */
            values: (number | null)[];
        };
        /**
         * JobPaths
         * @description Links between routers that a job's traffic is expected to use, by column; the most loaded first.
         */
        JobPaths: {
            /** At */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /** Job Pk */
            job_pk: number | null;
            /** Job Id */
            job_id: string;
            /** Link */
            link: number[];
            /** Src */
            src: number[];
            /** Dst */
            dst: number[];
            /** Class */
            class: string[];
            /**
             * Bytes Per S
             * @description Expected, in the mean of the window.
             */
            bytes_per_s: number[];
            /**
             * Links Used
             * @description Links with any of its traffic; the answer lists the most loaded of them.
             */
            links_used: number;
            /** Cannot Tell */
            cannot_tell: string | null;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * JobSlowdown
         * @description A slow stretch of the job.
         */
        JobSlowdown: {
            /**
             * Basis
             * @description What it is slow against: steps of earlier runs, its own other steps, or (counters) the elapsed time of jobs like it.
             * @enum {string}
             */
            basis: "earlier runs" | "own steps" | "counters";
            /** Earlier Runs */
            earlier_runs: number;
            /**
             * Factor
             * @description Time over usual time, of the stretch.
             */
            factor: number;
            /**
             * Lost S
             * @description Seconds beyond the usual time so far.
             */
            lost_s: number;
            /**
             * Lost Low S
             * @description 95 % interval of lost_s, by how much its steps differ between earlier runs.
             */
            lost_low_s: number;
            /** Lost High S */
            lost_high_s: number;
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /**
             * Since Low
             * Format: date-time
             * @description The interval (95 %) in which it began.
             */
            since_low: string;
            /**
             * Since High
             * Format: date-time
             */
            since_high: string;
            /**
             * Until
             * @description The end of its last slow step. It is over once three steps in a row, or two that took 120 s together, were near usual; of a run that has ended, once one was. Null: not over so far, or slow to the run's end.
             */
            until: string | null;
            /**
             * From Start
             * @description The first step was slow already: it began with the job or before.
             */
            from_start: boolean;
            /**
             * Since By
             * @description What tells the onset best.
             * @enum {string}
             */
            since_by: "counters" | "steps";
            /** First Step */
            first_step: number | null;
            /** Last Step */
            last_step: number | null;
        };
        /**
         * JobStep
         * @description A step of a job.
         */
        JobStep: {
            /** Step */
            step: string;
            /** Name */
            name: string | null;
            /** State */
            state: string | null;
            /** Start */
            start: string | null;
            /** End */
            end: string | null;
            /** Nodes */
            nodes: number | null;
            /** Node List */
            node_list: string | null;
        };
        /**
         * KnownApplication
         * @description An application of a size that past runs or estimates know.
         */
        KnownApplication: {
            /** Application */
            application: string;
            /** Nodes */
            nodes: number;
            /**
             * Users
             * @description Whose answers differ from those for everybody; pseudonyms below operator.
             */
            users: string[];
        };
        /**
         * LaneFigures
         * @description By lane 0 to 15 of one port or endpoint, what it sent in [at - window_s, at).
         */
        LaneFigures: {
            /**
             * At
             * @description End of the window that was used; null without data or time.
             */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /**
             * Sl Flits
             * @description Data by service level or queue; InfiniBand: words of 4 bytes, Ethernet: bytes.
             */
            sl_flits: (number | null)[];
            /**
             * Stall Cycles
             * @description By virtual lane (InfiniBand: PortVLXmitWait in times of a word), priority (Ethernet: pauses in times of a byte) or traffic class (cycles that a NIC was paused).
             */
            stall_cycles: (number | null)[];
            /**
             * Packets
             * @description By traffic class.
             */
            packets: (number | null)[];
            /** Simulated */
            simulated: boolean;
        };
        /**
         * LdmsSchema
         * @description A metric set that was seen.
         */
        LdmsSchema: {
            /** Schema Id */
            schema_id: number;
            /** Name */
            name: string;
            /** Digest */
            digest: string;
            /** Kind */
            kind: string;
            /** Columns */
            columns: number;
            /**
             * Unknown
             * @description Columns beside counters that no counter of the catalogue names: their values are not kept.
             */
            unknown: string[];
            /**
             * First Seen
             * Format: date-time
             */
            first_seen: string;
            /**
             * Last Seen
             * Format: date-time
             */
            last_seen: string;
            /** Records */
            records: number;
        };
        /**
         * LeftOut
         * @description A member of a set without an observation, and why.
         */
        LeftOut: {
            /** Number */
            number: string;
            /** Why */
            why: string;
        };
        /**
         * Link
         * @description A job's page in another monitor of the site.
         */
        Link: {
            /** Name */
            name: string;
            /** Url */
            url: string;
        };
        /**
         * LinkFigures
         * @description By counted link.
         */
        LinkFigures: {
            /** At */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /** Link */
            link: number[];
            /**
             * Src
             * @description Router that sends.
             */
            src: number[];
            /**
             * Dst
             * @description Router that receives.
             */
            dst: number[];
            /** Src Port */
            src_port: (number | null)[];
            /** Dst Port */
            dst_port: (number | null)[];
            /** Class */
            class: string[];
            /** Flits */
            flits: (number | null)[];
            /** Stall Cycles */
            stall_cycles: (number | null)[];
            /** Ratio */
            ratio: (number | null)[];
            /**
             * Note
             * @description Says so where the sums of a long window are estimates.
             */
            note?: string | null;
        };
        /**
         * LinkUser
         * @description A job that uses a link.
         */
        LinkUser: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /**
             * Share
             * @description Estimated part of what the link carried in the window, 0 to 1.
             */
            share: number;
        };
        /**
         * Links
         * @description By link, directed; an end at a node names the router that the node is on.
         */
        Links: {
            /** Link */
            link: number[];
            /** Src */
            src: number[];
            /** Dst */
            dst: number[];
            /** Src Port */
            src_port: (number | null)[];
            /** Dst Port */
            dst_port: (number | null)[];
            /** Class */
            class: string[];
            /** Bandwidth Bps */
            bandwidth_bps: (number | null)[];
            /** Multiplicity */
            multiplicity: number[];
            /**
             * Src Endpoint
             * @description With terminals=true: the endpoint that sends.
             */
            src_endpoint?: (number | null)[] | null;
            /** Dst Endpoint */
            dst_endpoint?: (number | null)[] | null;
        };
        /**
         * Login
         * @description Name and password, of a local account or of one in the site's directory.
         */
        Login: {
            /** Name */
            name: string;
            /**
             * Password
             * Format: password
             */
            password: string;
        };
        /**
         * Loop
         * @description `routing.loop` and `routing.reconstruct`: a simulated machine, its counters, its traffic, its routes.
         */
        Loop: {
            /**
             * Pattern
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "amg-1728" | "barrier" | "barrier-with-bully" | "barrier-with-bully-even" | "bisection" | "bisection-shuffle" | "boxlib-cns-1024" | "boxlib-mg-1024" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "expert-alltoall" | "fill-boundary" | "halo3d" | "hierarchical-allreduce" | "incast" | "irregular-70" | "lulesh-512" | "multigrid-1000" | "nekbone-1024" | "noisy-shuffle" | "partisn-168" | "permutation" | "pingpong" | "ring-allreduce" | "shift" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "tree-allreduce";
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default quartz1
             */
            topology: string;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Sls
             * @default 5
             */
            sls: number;
            /**
             * Vls
             * @default 5
             */
            vls: number;
            /**
             * Epochs
             * @default 1
             */
            epochs: number;
            /**
             * Megabytes
             * @description What the busiest node sends.
             * @default 10
             */
            megabytes: number;
            /**
             * Packet Bytes
             * @default 4096
             */
            packet_bytes: number;
            /**
             * Basis
             * @default od
             * @enum {string}
             */
            basis: "od" | "auto" | "i" | "s" | "cd" | "scd" | "cs" | "scs";
            /**
             * Iterations
             * @default 5
             */
            iterations: number;
            /**
             * Noise
             * @default 0
             */
            noise: number;
            /**
             * Optimise S
             * @default 30
             */
            optimise_s: number;
            /**
             * Reconstruct S
             * @default 900
             */
            reconstruct_s: number;
            /**
             * Slots
             * @default 1
             */
            slots: number;
            /**
             * Mtu
             * @description Counters are MTU/2 x packets + bytes/2 instead of bytes.
             */
            mtu?: number | null;
        };
        /**
         * Machine
         * @description A machine beside the stand-ins of figure 11.
         */
        Machine: {
            /** Name */
            name: string;
            /**
             * Spec
             * @description A topology; use theta, edison, cori, slingshot, quartz1, torus:20,20,20, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             */
            spec: string;
        };
        /**
         * MachineReport
         * @description A machine, and how many of its switches have counters now.
         */
        MachineReport: {
            /** Fabric */
            fabric: string;
            /** Simulated */
            simulated: boolean;
            /** Devices */
            devices: number;
            /**
             * Reporting
             * @description With counters of the last ten minutes.
             */
            reporting: number;
        };
        /**
         * Mark
         * @description Something that happened.
         */
        Mark: {
            /**
             * Ts
             * Format: date-time
             */
            ts: string;
            /** Kind */
            kind: string;
            /** Text */
            text: string;
        };
        /**
         * Matrix
         * @description Traffic between groups: the column sends, the row receives.
         */
        Matrix: {
            /** Groups */
            groups: number[];
            /** Flits */
            flits: (number | null)[][];
            /** Stall Cycles */
            stall_cycles: (number | null)[][];
            /** Ratio */
            ratio: (number | null)[][];
            /**
             * Note
             * @description Says so where the sums of a long span are estimates.
             */
            note?: string | null;
        };
        /**
         * Measured
         * @description A collective beside perturbation, measured by the MPI microbenchmark over random splits of its world.
         */
        Measured: {
            /** Network */
            network: string;
            /** Collective */
            collective: string;
            /** Collective Bytes */
            collective_bytes: number;
            /** Perturbation Bytes */
            perturbation_bytes: number;
            /**
             * World
             * @description MPI processes.
             */
            world: number;
            /**
             * Ratio
             * @description Perturbing processes over all processes.
             */
            ratio: number;
            /** Splits */
            splits: number;
            /**
             * Late
             * @description Measurements that missed their window and were left out.
             */
            late: number;
            /** Perturbed S */
            perturbed_s: number | null;
            /** Quiet S */
            quiet_s: number | null;
            /**
             * Slowdown
             * @description Mean over the splits; null where every measurement was late.
             */
            slowdown: number | null;
            /** Slowdown Min */
            slowdown_min: number | null;
            /** Slowdown Max */
            slowdown_max: number | null;
            /** Slowdown Quartiles */
            slowdown_quartiles: number[] | null;
            /**
             * Imported At
             * Format: date-time
             */
            imported_at: string;
            /** @description null where every measurement was late. */
            perturbed_box: components["schemas"]["NotchedBox"] | null;
            quiet_box: components["schemas"]["NotchedBox"] | null;
        };
        /**
         * MeasuredBlameArguments
         * @description `ml.blame_measured`; `runs` and `exposure` are numbers of files (POST /tasks/files).
         */
        MeasuredBlameArguments: {
            /**
             * Name
             * @description What the set is called.
             */
            name: string;
            /** Runs */
            runs: number;
            /** Exposure */
            exposure: number;
            /**
             * Shuffles
             * @default 100
             */
            shuffles: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
        };
        /**
         * MeasuredList
         * @description By network, collective, sizes and ratio.
         */
        MeasuredList: {
            /** Items */
            items: components["schemas"]["Measured"][];
            /**
             * Fits
             * @description Of the series with three splits or more at two ratios or more.
             */
            fits: components["schemas"]["Fit"][];
        };
        /**
         * Method
         * @description How blame was estimated.
         */
        Method: {
            /** Name */
            name: string;
            /**
             * Strata
             * @description Runs are compared within these only.
             */
            strata: string;
            /** Response */
            response: string;
            /** Alpha */
            alpha: number;
            /**
             * Least Nodes
             * @description Smaller jobs do not count.
             */
            least_nodes: number;
            /**
             * Min Exposed
             * @description Fewer exposed runs are too few to test.
             */
            min_exposed: number;
            /**
             * Beside
             * @description The method of the paper, whose figures stand beside it.
             */
            beside: string;
            /**
             * Calendar
             * @description What of the calendar is taken out of run times and exposure.
             */
            calendar?: string | null;
            /**
             * Regimes S
             * @description Epoch seconds since when another level of run times holds: marks and change points.
             * @default []
             */
            regimes_s: number[];
        };
        /** MiniGhost */
        MiniGhost: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Topology */
            topology?: string | null;
            /**
             * Kbytes
             * @default 2000
             */
            kbytes: number;
            /**
             * Variables
             * @default 5
             */
            variables: number;
            /**
             * Compute
             * @description Computation over the time of a node's bytes on its link.
             * @default 7
             */
            compute: number;
            /**
             * Imbalance
             * @description Of the computation, from node to node.
             * @default 0.05
             */
            imbalance: number;
            /**
             * Congested After Ns
             * @description A link is congested where a packet waits longer, ns; 0: where its queue exceeds its credits.
             * @default 0
             */
            congested_after_ns: number;
        };
        /**
         * MissingEstimate
         * @description An application without this estimate.
         */
        MissingEstimate: {
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Runs */
            runs: number;
            /** Lacks */
            lacks: string | null;
        };
        /** Model */
        Model: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Runs
             * @description Allocations: a correlation needs three.
             */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Allocations */
            allocations?: number | null;
            /** Sizes */
            sizes?: number[] | null;
        };
        /**
         * MoreSteps
         * @description Further steps of a run.
         */
        MoreSteps: {
            /**
             * Key
             * @description Drawn once for each run, so that a repeated request adds nothing.
             */
            key: string;
            /** Steps */
            steps: components["schemas"]["ReportedStep"][];
        };
        /**
         * Neighbour
         * @description A job that ran at the same time on the same routers or groups.
         */
        Neighbour: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** Shared Routers */
            shared_routers: number;
            /** Shared Groups */
            shared_groups: number;
            /** Overlap S */
            overlap_s: number;
        };
        /**
         * NeighbourWithBlame
         * @description A job that runs on the same routers or groups, with what blame says of its user.
         */
        NeighbourWithBlame: {
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Nodes */
            nodes: number | null;
            /** Shared Routers */
            shared_routers: number;
            /** Shared Groups */
            shared_groups: number;
            /** Overlap S */
            overlap_s: number;
            /**
             * Blamed
             * @description Applications whose slow runs go with this user's exposure (q at most 0.05).
             */
            blamed: string[];
        };
        /**
         * NewAccount
         * @description An account to be made.
         */
        NewAccount: {
            /** Name */
            name: string;
            /**
             * Role
             * @enum {string}
             */
            role: "viewer" | "user" | "operator" | "admin" | "service";
            /**
             * Password
             * @description Without it nobody can log in with a password.
             */
            password?: string | null;
        };
        /**
         * NewContact
         * @description Where to mail, and from which severity on.
         */
        NewContact: {
            /** Addresses */
            addresses: string[];
            /**
             * Least Severity
             * @default info
             * @enum {string}
             */
            least_severity: "info" | "warning" | "critical";
        };
        /**
         * NewIncidentNote
         * @description A note to be kept with an incident.
         */
        NewIncidentNote: {
            /** Text */
            text: string;
        };
        /**
         * NewPassword
         * @description Another password for one's own account.
         */
        NewPassword: {
            /**
             * Password
             * Format: password
             */
            password: string;
            /**
             * New
             * Format: password
             */
            new: string;
        };
        /**
         * NewRule
         * @description A rule but for its name; durations are seconds or text such as `5m`.
         */
        NewRule: {
            /**
             * Signal
             * @enum {string}
             */
            signal: "incident" | "slowdown" | "stall_ratio" | "congested_routers" | "root" | "blamed_user" | "forecast_drift" | "ingest_gap" | "counter_silence";
            /** Above */
            above: number;
            /** Clear */
            clear?: number | null;
            /** Probability */
            probability?: number | null;
            /**
             * For
             * @default 0
             */
            for: number | string;
            /**
             * Every
             * @default 60
             */
            every: number | string;
            /**
             * Absent
             * @default 600
             */
            absent: number | string;
            /**
             * By
             * @default group
             * @enum {string}
             */
            by: "machine" | "group" | "class";
            /**
             * Where
             * @description Only series with these labels, which the signal has.
             * @default {}
             */
            where: {
                [key: string]: string;
            };
            /**
             * Congested At
             * @default 1
             */
            congested_at: number;
            /**
             * Severity
             * @default warning
             * @enum {string}
             */
            severity: "info" | "warning" | "critical";
            /**
             * Summary
             * @default
             */
            summary: string;
            /**
             * Labels
             * @description Further labels of its alerts, by which receivers and silences match.
             * @default {}
             */
            labels: {
                [key: string]: string;
            };
            /**
             * Enabled
             * @default true
             */
            enabled: boolean;
        };
        /**
         * NewSilence
         * @description Which alerts send no notification, until when, and why.
         */
        NewSilence: {
            /**
             * Matchers
             * @description Label to value, or to /regular expression/; all must match.
             */
            matchers: {
                [key: string]: string;
            };
            /**
             * Starts
             * @description Without it, now.
             */
            starts?: string | null;
            /**
             * Ends
             * Format: date-time
             */
            ends: string;
            /** Comment */
            comment: string;
        };
        /**
         * NewToken
         * @description A token to be made.
         */
        NewToken: {
            /** Label */
            label: string;
            /** Scopes */
            scopes: ("read" | "names" | "advice" | "tasks" | "runs" | "operate" | "admin")[];
            /**
             * Days
             * @default 90
             */
            days: number;
            /**
             * Account
             * @description Without it the caller's own; another's takes role admin.
             */
            account?: string | null;
        };
        /**
         * NextSteps
         * @description A forecast of the next steps of a run.
         */
        NextSteps: {
            /** After Steps */
            after_steps: number;
            /** Ahead */
            ahead: number;
            /**
             * Made
             * Format: date-time
             */
            made: string;
            /** Estimate Id */
            estimate_id: number | null;
            /** Forecaster */
            forecaster: string;
            /** Expected S */
            expected_s: number;
            /**
             * Low S
             * @description The interval, 90 %, is of the sum over the next `ahead` steps.
             */
            low_s: number;
            /** High S */
            high_s: number;
            /**
             * Usual S
             * @description What the mean run takes for the same steps.
             */
            usual_s: number;
            /**
             * Slowdown
             * @description expected / usual.
             */
            slowdown: number;
            /**
             * Observed S
             * @description What they took, once known.
             */
            observed_s: number | null;
        };
        /**
         * NoParameters
         * @description A study of tables: nothing is drawn, so that it has neither runs nor a seed.
         */
        NoParameters: {
            /** Threads */
            threads?: number | null;
        };
        /**
         * NodeSizes
         * @description An all-to-all inside one node.
         */
        NodeSizes: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /** Repeats */
            repeats?: number | null;
            /** Sizes */
            sizes?: number[] | null;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /**
             * Detour Interval Us
             * @description 0: none.
             * @default 5
             */
            detour_interval_us: number;
            /**
             * Detour Us
             * @description Mean length.
             * @default 1
             */
            detour_us: number;
        };
        /**
         * NoiseComparison
         * @description Two sets of runs by the counters of their network cards (De Sensi 2019, section 3).
         */
        NoiseComparison: {
            /**
             * Verdict
             * @description Of the second set's modelled message time against the first's.
             * @enum {string}
             */
            verdict: "higher" | "lower" | "cannot tell";
            /** Why */
            why: string;
            /** Guidelines */
            guidelines: components["schemas"]["ComparedGuideline"][];
            /** Figures */
            figures: components["schemas"]["ComparedFigure"][];
            first: components["schemas"]["ComparedSet"];
            second: components["schemas"]["ComparedSet"];
            /** Message Bytes */
            message_bytes: number;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * NoiseDispersion
         * @description Quartile coefficients of dispersion within the set's largest allocation; null below four observations.
         */
        NoiseDispersion: {
            /**
             * Measured
             * @description Of the times that runs took: also what is not the network's.
             */
            measured: number | null;
            /**
             * Network
             * @description Of the message times that latency and stalls predict.
             */
            network: number | null;
            /** Latency */
            latency: number | null;
        };
        /**
         * NoiseFigure
         * @description A figure of a job's network cards.
         */
        NoiseFigure: {
            /**
             * Key
             * @enum {string}
             */
            key: "latency_us" | "waits";
            /** Label */
            label: string;
            /** Unit */
            unit: string;
            /**
             * Mean
             * @description Over the job.
             */
            mean: number;
            /**
             * Quiet
             * @description Lower quartile over the job's windows.
             */
            quiet: number;
            /**
             * Dispersion
             * @description Quartile coefficient of dispersion over the windows: (Q3 - Q1) / (Q3 + Q1).
             */
            dispersion: number;
        };
        /**
         * NoiseQuestion
         * @description Two sets to compare, and the message whose modelled time is compared.
         */
        NoiseQuestion: {
            first: components["schemas"]["NoiseSet"];
            second: components["schemas"]["NoiseSet"];
            /**
             * Message Bytes
             * @default 65536
             */
            message_bytes: number;
        };
        /**
         * NoiseSet
         * @description One of two sets: runs or jobs by their numbers, or the newest runs of an application in a span.
         */
        NoiseSet: {
            /**
             * Runs
             * @default []
             */
            runs: number[];
            /**
             * Jobs
             * @description As the scheduler prints them; each of them is one observation.
             * @default []
             */
            jobs: string[];
            /**
             * Application
             * @description As instrumented runs name it.
             */
            application?: string | null;
            /**
             * Since
             * @description With `application`: runs that began from this moment on.
             */
            since?: string | null;
            /**
             * Until
             * @description With `application`: and before this one.
             */
            until?: string | null;
        };
        /**
         * NotchedBox
         * @description Seconds of all single measurements: extremes, quartiles, median.
         */
        NotchedBox: {
            /** Least */
            least: number;
            /** Q1 */
            q1: number;
            /** Median */
            median: number;
            /** Q3 */
            q3: number;
            /** Most */
            most: number;
            /**
             * Notch
             * @description 95 % interval of the median: medians whose notches do not overlap differ.
             */
            notch: [
                number,
                number
            ];
            /** Measurements */
            measurements: number;
        };
        /**
         * Notice
         * @description One thing told to one receiver.
         */
        Notice: {
            /** Receiver */
            receiver: string;
            /**
             * Status
             * @enum {string}
             */
            status: "firing" | "resolved";
            /**
             * Turn
             * @description Repetition, from 0.
             */
            turn: number;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Delivered */
            delivered: string | null;
            /** Attempts */
            attempts: number;
            /**
             * Tried
             * @description The last attempt.
             */
            tried: string | null;
            /**
             * Error
             * @description Why the last attempt failed; below scope operate only that it did.
             */
            error: string | null;
        };
        /**
         * Observation
         * @description What a job's NICs counted over an interval; `allocation`: its nodes in rank order.
         */
        Observation: {
            /** Allocation */
            allocation: string[];
            /** Interval S */
            interval_s: number;
            /** Request Flits */
            request_flits: number;
            /** Request Packets */
            request_packets: number;
            /** Stalled Cycles */
            stalled_cycles: number;
            /** Cumulative Latency Us */
            cumulative_latency_us: number;
        };
        /**
         * Observed
         * @description Steps that have come, by column.
         */
        Observed: {
            /** Step */
            step: number[];
            /** Time S */
            time_s: number[];
            /** Usual S */
            usual_s: (number | null)[];
        };
        /**
         * Occupancy
         * @description Jobs that hold routers at a moment; of a snapshot those that its snapshot names.
         */
        Occupancy: {
            /** At */
            at: string | null;
            /**
             * Nodes Held
             * @description Nodes that jobs hold, each once: two jobs of one node count both in `jobs`, as while the end of the first is on its way.
             */
            nodes_held: number;
            /** Jobs */
            jobs: components["schemas"]["JobOnFabric"][];
        };
        /**
         * Optimise
         * @description `routing.optimise`: the same; `time_limit_s` is the optimiser's.
         */
        Optimise: {
            /**
             * Pattern
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "amg-1728" | "barrier" | "barrier-with-bully" | "barrier-with-bully-even" | "bisection" | "bisection-shuffle" | "boxlib-cns-1024" | "boxlib-mg-1024" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "expert-alltoall" | "fill-boundary" | "halo3d" | "hierarchical-allreduce" | "incast" | "irregular-70" | "lulesh-512" | "multigrid-1000" | "nekbone-1024" | "noisy-shuffle" | "partisn-168" | "permutation" | "pingpong" | "ring-allreduce" | "shift" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "tree-allreduce";
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default quartz1
             */
            topology: string;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Sls
             * @default 5
             */
            sls: number;
            /**
             * Vls
             * @default 5
             */
            vls: number;
            /**
             * Epochs
             * @default 1
             */
            epochs: number;
            /**
             * Megabytes
             * @description What the busiest node sends.
             * @default 10
             */
            megabytes: number;
            /**
             * Packet Bytes
             * @default 4096
             */
            packet_bytes: number;
            /**
             * Basis
             * @default od
             * @enum {string}
             */
            basis: "od" | "auto" | "i" | "s" | "cd" | "scd" | "cs" | "scs";
            /**
             * Iterations
             * @default 5
             */
            iterations: number;
            /**
             * Noise
             * @default 0
             */
            noise: number;
            /**
             * Optimise S
             * @default 30
             */
            optimise_s: number;
            /**
             * Reconstruct S
             * @default 900
             */
            reconstruct_s: number;
            /**
             * Slots
             * @default 1
             */
            slots: number;
            /**
             * Mtu
             * @description Counters are MTU/2 x packets + bytes/2 instead of bytes.
             */
            mtu?: number | null;
            /** Time Limit S */
            time_limit_s?: number | null;
        };
        /**
         * Outlook
         * @description What can be said of a job without recorded steps.
         */
        Outlook: {
            /** Job Id */
            job_id: string;
            /** Elapsed S */
            elapsed_s: number | null;
            /** Has Steps */
            has_steps: boolean;
            /** Past */
            past: components["schemas"]["PastJobs"][];
            /** @description Null for a job that has not begun, or has ended. */
            run_time: components["schemas"]["RunTime"] | null;
            stalls: components["schemas"]["Stalls"] | null;
            /** Neighbours */
            neighbours: components["schemas"]["NeighbourWithBlame"][];
            /** Simulated */
            simulated: boolean;
        };
        /**
         * Overview
         * @description The whole machine over time.
         */
        Overview: {
            /** Ts */
            ts: string[];
            /** Step S */
            step_s: number;
            /** Flits */
            flits: (number | null)[];
            /** Stall Cycles */
            stall_cycles: (number | null)[];
            /** Ratio */
            ratio: (number | null)[];
            /**
             * P50
             * @description Median over routers of their ratio.
             */
            p50: (number | null)[];
            /** P95 */
            p95: (number | null)[];
            /** Coverage */
            coverage: (number | null)[];
            /**
             * Counted Share
             * @description Share of the steps, up to where rows are complete, in which any router was counted; 0: nothing was counted.
             */
            counted_share: number;
            /** Gaps */
            gaps: components["schemas"]["Span"][];
            /** Marks */
            marks: components["schemas"]["Mark"][];
        };
        /**
         * OwnRouters
         * @description The job's routers together.
         */
        OwnRouters: {
            /** Stall Ratio Before */
            stall_ratio_before: number | null;
            /** Stall Ratio After */
            stall_ratio_after: number | null;
            /** Rose */
            rose: boolean | null;
            /** Routers */
            routers: number;
        };
        /**
         * Packet
         * @description `sim.packet`: packets, credits and adaptive routing.
         */
        Packet: {
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, torus:20,20,20, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             */
            topology: string;
            /**
             * Routing
             * @enum {string}
             */
            routing: "minimal" | "valiant" | "adaptive0" | "adaptive1" | "adaptive2" | "adaptive3" | "min-hash" | "nmin-hash" | "in-order" | "ftree" | "hw-adaptive" | "spray" | "dor";
            /** Traffic */
            traffic?: string | null;
            /**
             * Bytes
             * @description What each node sends.
             */
            bytes?: number | null;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
            /** Ranks */
            ranks?: number | null;
            /**
             * Placement
             * @default contiguous
             * @enum {string}
             */
            placement: "contiguous" | "random-node" | "random-router" | "random-chassis" | "random-cabinet" | "random-group" | "cyclic" | "random-rank";
            /**
             * Message Scale
             * @default 1
             */
            message_scale: number;
            /**
             * Background
             * @description A background; use none, uniform[:GIB_PER_S] or bursty[:GIB_PER_S].
             * @default none
             */
            background: string;
            /** Jobs */
            jobs?: components["schemas"]["PacketJob"][] | null;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Nic Protocol
             * @default false
             */
            nic_protocol: boolean;
            /**
             * Virtual Lanes
             * @default 1
             */
            virtual_lanes: number;
            /**
             * Threads
             * @description Divide the run over so many; the answer is the same for any number. Left out: in one piece, with an answer that differs a little.
             */
            threads?: number | null;
            /**
             * Engine
             * @default eager
             * @enum {string}
             */
            engine: "eager" | "oracle-oldest" | "oracle-round-robin";
            /**
             * Congestion Control
             * @description pairs: Slingshot's back-pressure on the pairs that feed a congested node; dcqcn: of RoCE, with ECN's marks and a lossless fabric.
             * @default none
             * @enum {string}
             */
            congestion_control: "none" | "pairs" | "dcqcn";
            /**
             * Traffic Classes
             * @description With buffers of their own on every link.
             * @default []
             */
            traffic_classes: components["schemas"]["TrafficClass"][];
            /**
             * Job Class
             * @description Traffic class of what `traffic` sends.
             */
            job_class?: string | null;
            /**
             * Background Class
             * @description Traffic class of the background.
             */
            background_class?: string | null;
        };
        /**
         * PacketJob
         * @description One of several jobs of a packet-level run.
         */
        PacketJob: {
            /**
             * Pattern
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "barrier" | "bisection" | "bisection-shuffle" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "fill-boundary" | "halo3d" | "incast" | "permutation" | "pingpong" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "ring-allreduce" | "tree-allreduce" | "hierarchical-allreduce" | "expert-alltoall";
            /** Ranks */
            ranks: number;
            /** Bytes */
            bytes: number;
            /**
             * Placement
             * @enum {string}
             */
            placement: "contiguous" | "random-node" | "random-router" | "random-chassis" | "random-cabinet" | "random-group" | "cyclic" | "random-rank";
            /** Traffic Class */
            traffic_class?: string | null;
        };
        /**
         * PairFigures
         * @description By pair of groups with counted links between them; `src` sends, `dst` receives.
         */
        PairFigures: {
            /** Src */
            src: number[];
            /** Dst */
            dst: number[];
            /** Flits */
            flits: (number | null)[];
            /** Stall Cycles */
            stall_cycles: (number | null)[];
            /** Ratio */
            ratio: (number | null)[];
            /**
             * Note
             * @description Says so where the sums of a long window are estimates.
             */
            note?: string | null;
            /**
             * Complete Through
             * @description Port counters are complete up to here.
             */
            complete_through?: string | null;
        };
        /**
         * ParameterProblem
         * @description One parameter that is not valid.
         */
        ParameterProblem: {
            /**
             * Where
             * @description The parameter, for example query.points.
             */
            where: string;
            /** Detail */
            detail: string;
        };
        /**
         * PastJobs
         * @description Completed jobs that a job can be held against.
         */
        PastJobs: {
            /**
             * Basis
             * @description What they have in common: user, name, size (within a factor of two).
             */
            basis: string;
            /** Jobs */
            jobs: number;
            /** P10 S */
            p10_s: number | null;
            /** P50 S */
            p50_s: number | null;
            /** P90 S */
            p90_s: number | null;
            /**
             * Longer
             * @description Share of them that took longer than this job has so far.
             */
            longer: number | null;
        };
        /**
         * Peer
         * @description The other end of a tile's link.
         */
        Peer: {
            /** Router */
            router?: number | null;
            /** Node */
            node?: string | null;
            /** Name */
            name?: string | null;
        };
        /** Pf3d */
        Pf3d: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Topology */
            topology?: string | null;
            /**
             * Mbytes
             * @default 4
             */
            mbytes: number;
            /**
             * Congested After Ns
             * @description A link is congested where a packet waits longer, ns; 0: where its queue exceeds its credits.
             * @default 0
             */
            congested_after_ns: number;
        };
        /**
         * Plane
         * @description A job's place on one of the fabrics that its nodes have endpoints on.
         */
        Plane: {
            /** Fabric Id */
            fabric_id: number;
            /** Fabric */
            fabric: string;
            /** Nodes */
            nodes: number;
            /** Endpoints */
            endpoints: number[];
            /** Routers */
            routers: number[];
            /** Groups */
            groups: number[];
        };
        /**
         * Problem
         * @description An error (RFC 9457).
         */
        Problem: {
            /**
             * Type
             * @description urn:flitwatch:problem: and the kind.
             */
            type: string;
            /** Title */
            title: string;
            /** Status */
            status: number;
            /** Detail */
            detail: string;
            /**
             * Instance
             * @description The path that was asked for.
             */
            instance: string;
            /**
             * Advice
             * @description What the caller can do.
             */
            advice: string;
            /** Errors */
            errors?: components["schemas"]["ParameterProblem"][] | null;
        };
        /**
         * Ready
         * @description The service answers requests.
         */
        Ready: {
            /** Status */
            status: string;
            /**
             * Read Only
             * @description Why nothing new is stored for now; null: it is.
             */
            read_only: string | null;
        };
        /**
         * Reason
         * @description Why, and where the evidence stands.
         */
        Reason: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "blamed_user" | "congestion" | "unknown" | "unknown_nodes" | "deadline" | "waiting" | "pattern" | "routing_mode" | "stale";
            /** Text */
            text: string;
            /** Evidence */
            evidence: string | null;
        };
        /**
         * Recommendation
         * @description What was found, recommended or refused.
         */
        Recommendation: {
            /** Recommendation Id */
            recommendation_id: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "routes" | "routing_mode" | "placement";
            /**
             * State
             * @enum {string}
             */
            state: "recommended" | "refused";
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Task Id */
            task_id: number | null;
            /** Fabric Id */
            fabric_id: number | null;
            /** Fabric */
            fabric: string | null;
            /** Job Id */
            job_id: string | null;
            /** User */
            user: string | null;
            /** Application */
            application: string | null;
            /** Title */
            title: string;
            /** Reason */
            reason: string;
            gain: components["schemas"]["RecommendationGain"] | null;
            /**
             * Environment
             * @description Line for the job's environment, such as MPICH_GNI_ROUTING_MODE=...
             */
            environment: string | null;
            /** Has Lfts */
            has_lfts: boolean;
            /** Has Matrix */
            has_matrix: boolean;
            /** Has Links */
            has_links: boolean;
            /** Simulated */
            simulated: boolean;
            /**
             * Created By
             * @description Whose task wrote it; null: not known.
             */
            created_by: string | null;
            /**
             * Authorised
             * @description Whether its author may change what the site relies on; else it is a what-if of theirs, and steers no advice.
             */
            authorised: boolean;
            /**
             * Figures
             * @description Where its figures come from: observations that its author handed in, a simulation, or the counters in the database.
             * @enum {string}
             */
            figures: "given" | "simulated" | "counted";
        };
        /**
         * RecommendationDetail
         * @description A recommendation with its evidence.
         */
        RecommendationDetail: {
            /** Recommendation Id */
            recommendation_id: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "routes" | "routing_mode" | "placement";
            /**
             * State
             * @enum {string}
             */
            state: "recommended" | "refused";
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Task Id */
            task_id: number | null;
            /** Fabric Id */
            fabric_id: number | null;
            /** Fabric */
            fabric: string | null;
            /** Job Id */
            job_id: string | null;
            /** User */
            user: string | null;
            /** Application */
            application: string | null;
            /** Title */
            title: string;
            /** Reason */
            reason: string;
            gain: components["schemas"]["RecommendationGain"] | null;
            /**
             * Environment
             * @description Line for the job's environment, such as MPICH_GNI_ROUTING_MODE=...
             */
            environment: string | null;
            /** Has Lfts */
            has_lfts: boolean;
            /** Has Matrix */
            has_matrix: boolean;
            /** Has Links */
            has_links: boolean;
            /** Simulated */
            simulated: boolean;
            /**
             * Created By
             * @description Whose task wrote it; null: not known.
             */
            created_by: string | null;
            /**
             * Authorised
             * @description Whether its author may change what the site relies on; else it is a what-if of theirs, and steers no advice.
             */
            authorised: boolean;
            /**
             * Figures
             * @description Where its figures come from: observations that its author handed in, a simulation, or the counters in the database.
             * @enum {string}
             */
            figures: "given" | "simulated" | "counted";
            /** Why */
            why: components["schemas"]["Finding"][];
            before: components["schemas"]["RouteOutcome"] | null;
            after: components["schemas"]["RouteOutcome"] | null;
            /** Alternatives */
            alternatives: components["schemas"]["Alternative"][];
            reconstruction: components["schemas"]["Reconstruction"] | null;
            routes: components["schemas"]["Tables-Output"] | null;
            /** Parameters */
            parameters: {
                [key: string]: unknown;
            };
        };
        /**
         * RecommendationGain
         * @description Expected speed-up: time before over time after.
         */
        RecommendationGain: {
            /** Factor */
            factor: number;
            /** Low */
            low: number | null;
            /** High */
            high: number | null;
            /** Level */
            level: number;
            /**
             * Runs
             * @description Simulated pairs, or comparable runs.
             */
            runs: number;
            /**
             * Basis
             * @description What was compared.
             */
            basis: string;
        };
        /**
         * RecommendationList
         * @description A page of recommendations.
         */
        RecommendationList: {
            /** Items */
            items: components["schemas"]["Recommendation"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Reconstruction
         * @description How the traffic matrix was found.
         */
        Reconstruction: {
            /** Basis */
            basis: string;
            /**
             * Relative Error
             * @description Known of simulated traffic alone.
             */
            relative_error: number | null;
            /** Estimated Error */
            estimated_error: number | null;
            /** Residual */
            residual: number | null;
            /** Iterations */
            iterations: number | null;
            /** Converged */
            converged: boolean | null;
            /** Wall S */
            wall_s: number | null;
        };
        /**
         * Relevance
         * @description One row of the heat map; arrays in the order of `counters`, null where a set does not have the counter.
         */
        Relevance: {
            estimate: components["schemas"]["Head"];
            /**
             * Relevance
             * @description Share of folds in which it is in the well-performing subset.
             */
            relevance: (number | null)[];
            /** Relevance Spread */
            relevance_spread: (number | null)[];
            /**
             * Rank
             * @description Mean elimination rank; 1 was left last.
             */
            rank: (number | null)[];
            /** Rank Spread */
            rank_spread: (number | null)[];
            /**
             * Place
             * @description From 1: features of the group that explains most first, within a group by rank; null also in estimates of older versions.
             */
            place: (number | null)[];
            /**
             * Mape
             * @description % error of mean curve + predicted deviation on held-out runs.
             */
            mape: number;
            /** Mape Spread */
            mape_spread: number;
            /**
             * Baseline Mape
             * @description % error of the mean curve alone.
             */
            baseline_mape: number;
            /**
             * Row Split Mape
             * @description With rows of one run on both sides, as in the paper: flatters.
             */
            row_split_mape: number | null;
            /** Folds */
            folds: number;
            /**
             * Groups
             * @description Features of one meaning together, those that carry first.
             */
            groups: components["schemas"]["Explained"][];
            /**
             * Answer
             * @description The same in words; an estimate of an older version says that it cannot tell.
             */
            answer: string[];
        };
        /**
         * Remedy
         * @description Something that would help, or would have helped.
         */
        Remedy: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "hold" | "delay" | "tell" | "move" | "re-route";
            /**
             * Job Id
             * @description The job that it is done to.
             */
            job_id: string;
            /** Text */
            text: string;
            /**
             * Minutes Saved
             * @description Null where it cannot be estimated; why_unknown says why.
             */
            minutes_saved: number | null;
            /** Why Unknown */
            why_unknown: string | null;
            /** In Past */
            in_past: boolean;
        };
        /**
         * Remote
         * @description Another platform and its machines.
         */
        Remote: {
            /** Name */
            name: string;
            /** Url */
            url: string;
            /**
             * Problem
             * @description Why its machines cannot be shown; null: they can.
             */
            problem: string | null;
            /** Machines */
            machines: components["schemas"]["RemoteMachine"][];
        };
        /**
         * RemoteList
         * @description All remotes, in the order of the setting.
         */
        RemoteList: {
            /** Items */
            items: components["schemas"]["Remote"][];
        };
        /**
         * RemoteMachine
         * @description A machine that a remote shows.
         */
        RemoteMachine: {
            /** Name */
            name: string;
            /**
             * Kind
             * @description dragonfly, fat_tree, torus or graph
             */
            kind: string;
            /** Technology */
            technology: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Snapshot
             * @description Its counters are one sample without a time.
             */
            snapshot: boolean;
            /** Routers */
            routers: number;
            /** Endpoints */
            endpoints: number;
            /**
             * Last Ts
             * @description End of the newest data.
             */
            last_ts: string | null;
        };
        /**
         * ReportedRun
         * @description A run of any program.
         */
        ReportedRun: {
            /**
             * Key
             * @description Drawn once for each run, so that a repeated request adds nothing.
             */
            key: string;
            /** Application */
            application: string;
            /**
             * Job Id
             * @description As the scheduler prints it.
             */
            job_id?: string | null;
            /**
             * Start
             * @description Without a zone: UTC.
             */
            start?: string | null;
            /**
             * Nodes
             * @default []
             */
            nodes: string[];
            /**
             * Steps
             * @default []
             */
            steps: components["schemas"]["ReportedStep"][];
        };
        /**
         * ReportedStep
         * @description One time step.
         */
        ReportedStep: {
            /** Step */
            step: number;
            /**
             * Time S
             * @description How long it took; kept to the nanosecond.
             */
            time_s: number;
        };
        /**
         * RootsOfCongestion
         * @description Where congestion begins in a window, or that there is none, or why nobody can tell.
         */
        RootsOfCongestion: {
            /** Fabric Id */
            fabric_id: number | null;
            /** From */
            from: string | null;
            /** To */
            to: string | null;
            /**
             * Method
             * @description What it rests on: counters of ports, or the job's packet samples.
             * @enum {string}
             */
            method: "ports" | "samples";
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "named" | "none" | "cannot tell";
            /**
             * Reasons
             * @description Why stalls are left that no root explains.
             */
            reasons: string[];
            /**
             * Roots
             * @description Those behind which most waits first.
             */
            roots: components["schemas"]["CongestionRoot"][];
            /** Links Counted */
            links_counted: number;
            /**
             * Links Stalled
             * @description Stalled links; by samples, congested ones.
             */
            links_stalled: number;
            /**
             * Links Explained
             * @description Those of them that wait behind a root.
             */
            links_explained: number;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * RouteOutcome
         * @description Before or after.
         */
        RouteOutcome: {
            /** Time S */
            time_s: number | null;
            /** Max Load Bytes */
            max_load_bytes: number | null;
            /** Congested Links */
            congested_links: number | null;
            /** Label */
            label: string;
        };
        /**
         * RouterDetail
         * @description A router, its ports in a window, and the jobs on it at the window's end.
         */
        RouterDetail: {
            /** Router */
            router: number;
            /** Name */
            name: string;
            /** Group */
            group: number | null;
            /** Row */
            row: number | null;
            /** Col */
            col: number | null;
            /** Level */
            level: number | null;
            /** Nodes */
            nodes: string[];
            /** At */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /** Tiles */
            tiles: components["schemas"]["Tile"][];
            /** Jobs */
            jobs: components["schemas"]["JobOnRouter"][];
        };
        /**
         * RouterFigures
         * @description By router, in the order of `router`.
         */
        RouterFigures: {
            /** Router */
            router: number[];
            /** Flits */
            flits: (number | null)[];
            /** Stall Cycles */
            stall_cycles: (number | null)[];
            /**
             * Ratio
             * @description Summed stalls over summed flits, which is the time stalled over the time of sending. From 0.5 on a router or port is stalled.
             */
            ratio: (number | null)[];
            /**
             * Coverage
             * @description Counted time over the window, of the tiles that the router usually counts; 1 is all.
             */
            coverage: (number | null)[];
        };
        /**
         * Routers
         * @description By router.
         */
        Routers: {
            /** Router */
            router: number[];
            /** Name */
            name: string[];
            /** Group */
            group: (number | null)[];
            /** Row */
            row: (number | null)[];
            /** Col */
            col: (number | null)[];
            /** Level */
            level: (number | null)[];
            /** Coords */
            coords: number[][] | null;
            /**
             * Nodes
             * @description Endpoints on it.
             */
            nodes: number[];
            /**
             * Sampled
             * @description Whether it has counters in the newest day of data.
             */
            sampled: boolean[];
        };
        /**
         * Rule
         * @description One rule.
         *
         *     A series of the signal (one set of labels) fires when its value has been at or above `above`, and its probability at or above
         *     `probability` where the signal has one, for `for_s`; it clears when the value is below `clear` (hysteresis), or the series has had no
         *     sample for `absent_s`.
         */
        Rule: {
            /** Name */
            name: string;
            /**
             * Signal
             * @enum {string}
             */
            signal: "incident" | "slowdown" | "stall_ratio" | "congested_routers" | "root" | "blamed_user" | "forecast_drift" | "ingest_gap" | "counter_silence";
            /**
             * Above
             * @description Fires at or above this value.
             */
            above: number;
            /**
             * Clear
             * @description Clears below this value; by default `above`.
             */
            clear?: number | null;
            /**
             * Probability
             * @description Least probability that the value is at or above `above` (signal slowdown).
             */
            probability?: number | null;
            /**
             * For
             * @description How long it must hold, seconds or `5m`.
             * @default 0
             */
            for: number;
            /**
             * Every
             * @description Step of evaluation.
             * @default 60
             */
            every: number;
            /**
             * Absent
             * @description A series without samples for so long is over.
             * @default 600
             */
            absent: number;
            /**
             * By
             * @description What a value of counters is about.
             * @default group
             * @enum {string}
             */
            by: "machine" | "group" | "class";
            /**
             * Where
             * @description Only series with these labels.
             */
            where?: {
                [key: string]: string;
            };
            /**
             * Congested At
             * @description Stalls per flit from which a router counts as congested.
             * @default 1
             */
            congested_at: number;
            /**
             * Severity
             * @default warning
             * @enum {string}
             */
            severity: "info" | "warning" | "critical";
            /**
             * Summary
             * @description May name labels in braces, and {value}; of signal incident {title} too.
             * @default
             */
            summary: string;
            /**
             * Labels
             * @description Further labels of its alerts.
             */
            labels?: {
                [key: string]: string;
            };
            /**
             * Enabled
             * @default true
             */
            enabled: boolean;
        };
        /**
         * RuleList
         * @description Every rule, by name.
         */
        RuleList: {
            /** Items */
            items: components["schemas"]["StoredRule"][];
        };
        /**
         * Run
         * @description One execution of an instrumented application.
         */
        Run: {
            /** Run Id */
            run_id: number;
            /** Run Key */
            run_key: string;
            /** Job Id */
            job_id: string | null;
            /** Exe */
            exe: string;
            /** Start */
            start: string | null;
            /**
             * Ranks
             * @description Ranks that report.
             */
            ranks: number;
            /**
             * Nodes
             * @description Nodes of its job, or the ranks that report where the job is not known.
             */
            nodes: number;
            /** Steps */
            steps: number;
            /**
             * Time S
             * @description Sum of its steps' times.
             */
            time_s: number | null;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * RunForecast
         * @description A run, its forecast, and the forecasts before it.
         */
        RunForecast: {
            /** Run Id */
            run_id: number;
            /** Job Id */
            job_id: string | null;
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Start */
            start: string | null;
            /** Running */
            running: boolean;
            /** Simulated */
            simulated: boolean;
            observed: components["schemas"]["Observed"];
            band: components["schemas"]["Band"] | null;
            newest: components["schemas"]["NextSteps"] | null;
            /** Made */
            made: components["schemas"]["NextSteps"][];
            backtest: components["schemas"]["Serving"] | null;
            /**
             * Lacks
             * @description Why no forecast is made.
             */
            lacks: string | null;
        };
        /**
         * RunList
         * @description A page of runs.
         */
        RunList: {
            /** Items */
            items: components["schemas"]["Run"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * RunReport
         * @description What a report changed.
         */
        RunReport: {
            /** Run Id */
            run_id: number;
            /**
             * Created
             * @description False where the run had been reported before.
             */
            created: boolean;
            /**
             * New Steps
             * @description Steps that were not there; one that comes again replaces itself.
             */
            new_steps: number;
        };
        /**
         * RunSteps
         * @description By step.
         */
        RunSteps: {
            run: components["schemas"]["Run"];
            /** Step */
            step: number[];
            /**
             * Time S
             * @description The slowest rank's time.
             */
            time_s: number[];
            /**
             * Time P50 S
             * @description The median rank's time.
             */
            time_p50_s: (number | null)[];
            /**
             * Others
             * @description Other runs of the same application on as many nodes, behind the next three.
             */
            others: number;
            /** Mean Time S */
            mean_time_s: (number | null)[] | null;
            /** P10 S */
            p10_s: (number | null)[] | null;
            /** P90 S */
            p90_s: (number | null)[] | null;
            /**
             * Counters
             * @description By vendor's name, summed over ranks; null where not recorded.
             */
            counters: {
                [key: string]: (number | null)[];
            } | null;
        };
        /**
         * RunTime
         * @description How long a job takes in all, by completed jobs of its like that took longer than it has lasted.
         */
        RunTime: {
            /** Elapsed S */
            elapsed_s: number;
            /**
             * Expected S
             * @description The median; null: cannot tell, and `lacks` says why.
             */
            expected_s: number | null;
            /**
             * Low S
             * @description 90 % interval of the whole run time.
             */
            low_s: number | null;
            /** High S */
            high_s: number | null;
            /**
             * Basis
             * @description What the jobs it rests on have in common with it.
             */
            basis: string | null;
            /**
             * Jobs
             * @description How many of them took longer than this one has lasted.
             */
            jobs: number;
            /**
             * Tested
             * @description How many of these were forecast from those before them.
             */
            tested: number;
            /**
             * Coverage90
             * @description Share of these that lay in their interval.
             */
            coverage90: number | null;
            /**
             * Rests On
             * @description The same in words.
             */
            rests_on: string | null;
            /** Lacks */
            lacks: string | null;
        };
        /**
         * Running
         * @description A running instrumented job in the list.
         */
        Running: {
            /** Run Id */
            run_id: number;
            /** Job Id */
            job_id: string | null;
            /** User */
            user: string | null;
            /** Exe */
            exe: string;
            /** Nodes */
            nodes: number;
            /** Start */
            start: string | null;
            /** Steps */
            steps: number;
            /** Elapsed S */
            elapsed_s: number;
            newest: components["schemas"]["NextSteps"] | null;
            /** Backtest Mape */
            backtest_mape: number | null;
            /** Lacks */
            lacks: string | null;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * RunningJob
         * @description A running job without recorded steps.
         */
        RunningJob: {
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /**
             * Start
             * Format: date-time
             */
            start: string;
            run_time: components["schemas"]["RunTime"];
            /** Simulated */
            simulated: boolean;
        };
        /**
         * RunningJobList
         * @description The largest first.
         */
        RunningJobList: {
            /** Items */
            items: components["schemas"]["RunningJob"][];
        };
        /**
         * RunningList
         * @description Those with the slowest forecast first.
         */
        RunningList: {
            /** Items */
            items: components["schemas"]["Running"][];
        };
        /**
         * SampleContext
         * @description What packets belonged to, as registered at the receiving hosts.
         */
        SampleContext: {
            /** Context Id */
            context_id: number;
            /** Job Id */
            job_id: string | null;
            /**
             * Tag
             * @description Usually an MPI tag.
             */
            tag: string | null;
            /** Phase */
            phase: string | null;
            /**
             * Variants
             * @description one-bit or standard: how packets carried the sampled link.
             */
            variants: string[];
            /** Longest Path */
            longest_path: number;
            /**
             * First
             * Format: date-time
             */
            first: string;
            /**
             * Last
             * Format: date-time
             * @description Begin of the newest slice.
             */
            last: string;
            /** Simulated */
            simulated: boolean;
        };
        /**
         * SampleContextList
         * @description The newest contexts first.
         */
        SampleContextList: {
            /** Items */
            items: components["schemas"]["SampleContext"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * SampleHosts
         * @description Columns: what became of the packets that came to sampling hosts.
         */
        SampleHosts: {
            /** From */
            from: string | null;
            /** To */
            to: string | null;
            /** Host */
            host: string[];
            /**
             * Outcome
             * @description decoded, unmarked, overrun, wrong_checksum, unknown_source, ...
             */
            outcome: string[];
            /** Packets */
            packets: number[];
        };
        /**
         * SampleLinks
         * @description Columns by link; estimates, because a packet carries one link of its way.
         */
        SampleLinks: {
            /** Link */
            link: number[];
            /**
             * Tested
             * @description Packets that might have passed the link.
             */
            tested: number[];
            /**
             * Traffic
             * @description Packets; 0 where a link without traffic could show as much (one-bit variant).
             */
            traffic: number[];
            /**
             * Traffic Error
             * @description Standard deviation of traffic.
             */
            traffic_error: number[];
            /**
             * Bytes
             * @description Traffic times the mean frame of the packets tested.
             */
            bytes: number[];
            /**
             * Congested
             * @description Packets that found the link congested.
             */
            congested: number[];
            /** Congested Error */
            congested_error: number[];
            /**
             * Congested Fraction
             * @description congested / traffic, at most 1; null without traffic.
             */
            congested_fraction: (number | null)[];
        };
        /**
         * SampleMap
         * @description What sampled packets say of the links that they might have passed; links that are absent are unknown.
         */
        SampleMap: {
            /** Fabric Id */
            fabric_id: number;
            /** From */
            from: string | null;
            /** To */
            to: string | null;
            /** Contexts */
            contexts: number;
            /** Longest Path */
            longest_path: number | null;
            /** Variants */
            variants: string[];
            /** Simulated */
            simulated: boolean;
            links: components["schemas"]["SampleLinks"];
        };
        /**
         * Sampling
         * @description Bernoulli's congestion on a tree of its own size, and that of miniGhost's simulation.
         */
        Sampling: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Topology */
            topology?: string | null;
            /**
             * Kbytes
             * @default 10000
             */
            kbytes: number;
            /**
             * Variables
             * @default 5
             */
            variables: number;
            /**
             * Compute
             * @description Computation over the time of a node's bytes on its link.
             * @default 7
             */
            compute: number;
            /**
             * Imbalance
             * @description Of the computation, from node to node.
             * @default 0.05
             */
            imbalance: number;
            /**
             * Mpackets
             * @default 4
             */
            mpackets: number;
            /**
             * Leaves
             * @default 16
             */
            leaves: number;
            /**
             * Nodes
             * @default 32
             */
            nodes: number;
            /**
             * Spines
             * @default 16
             */
            spines: number;
            /**
             * Congested
             * @default 0.42
             */
            congested: number;
        };
        /**
         * ScoreParts
         * @description Factors of a score.
         */
        ScoreParts: {
            /**
             * Timing
             * @description 0 to 1: whether it changed within the interval of the onset.
             */
            timing: number;
            /**
             * Load
             * @description 0 to 1: its share of what the jobs that changed added, weighted by footprint (else by place).
             */
            load: number;
            /**
             * Presence
             * @description 0 to 1: share of the slow stretch during which it ran.
             */
            presence: number;
            /**
             * Blame
             * @description 2 where blame found its user, else 1.
             */
            blame: number;
        };
        /**
         * Serving
         * @description The forecaster that serves, and why.
         */
        Serving: {
            /** Forecaster */
            forecaster: string;
            /** M */
            m: number;
            /** K */
            k: number;
            /** Features */
            features: string;
            /** Mape */
            mape: number;
            /** Coverage90 */
            coverage90: number | null;
            /** Why */
            why: string;
        };
        /**
         * Session
         * @description Who the caller is to this site.
         */
        Session: {
            /**
             * User
             * @description Null: nobody has logged in.
             */
            user: string | null;
            /**
             * Role
             * @description Null: this site asks for a login.
             */
            role: string | null;
            /** Scopes */
            scopes: string[];
            /**
             * Via
             * @description session, token or anonymous
             */
            via: string | null;
            /**
             * Pseudonyms
             * @description Whether other people's names are shown as pseudonyms.
             */
            pseudonyms: boolean;
            /**
             * Csrf
             * @description To be sent as X-CSRF-Token with changes in a session.
             */
            csrf: string | null;
            /**
             * Oidc
             * @description What the site's own login is called, to which /api/v1/session/oidc leads; null: there is none.
             */
            oidc: string | null;
            /**
             * Vouched
             * @description Whether that login vouches for the session's account, so that it has no password here.
             */
            vouched: boolean;
        };
        /**
         * SeveralSets
         * @description Names found in several sets of runs (table III of the paper), those of most sets first.
         */
        SeveralSets: {
            /**
             * By
             * @enum {string}
             */
            by: "user" | "application";
            /**
             * Definition
             * @enum {string}
             */
            definition: "ours" | "paper";
            /** Least Sets */
            least_sets: number;
            /**
             * Sets
             * @description Sets that have an estimate of blame.
             */
            sets: number;
            /**
             * Total
             * @description Names that are found in as many sets.
             */
            total: number;
            /** Items */
            items: components["schemas"]["SeveralSetsEntry"][];
            /** Caveat */
            caveat: string;
        };
        /**
         * SeveralSetsEntry
         * @description A name that several sets of runs find, and what all of them together say.
         */
        SeveralSetsEntry: {
            /** Name */
            name: string;
            /** Pseudonym */
            pseudonym: boolean;
            /**
             * Found In
             * @description Sets that find it by the definition asked for.
             */
            found_in: number;
            /** Tested In */
            tested_in: number;
            /**
             * P
             * @description Of all tested sets together (Cauchy combination); null: no set could test it.
             */
            p: number | null;
            /**
             * Q
             * @description Over all names, listed or not.
             */
            q: number | null;
            /**
             * Verdict
             * @description `named` needs a set that names it and none that finds it and doubts it.
             * @enum {string}
             */
            verdict: "named" | "cannot tell" | "no evidence";
            /** Reasons */
            reasons: string[];
            /**
             * Evidence
             * @description The strongest first.
             */
            evidence: components["schemas"]["BlameEvidence"][];
        };
        /**
         * Share
         * @description Network noise over a time; null: cannot tell, and why.
         */
        Share: {
            /** Share */
            share: number | null;
            /**
             * Of S
             * @description The time that it is a share of.
             */
            of_s: number | null;
            /** Cannot Tell */
            cannot_tell: string | null;
        };
        /**
         * SilenceList
         * @description Silences, the last to end first.
         */
        SilenceList: {
            /** Items */
            items: components["schemas"]["flitwatch_api__alerts__schemas__Silence"][];
        };
        /**
         * SimulatedList
         * @description The newest tasks first, each one's points in their order.
         */
        SimulatedList: {
            /** Items */
            items: components["schemas"]["SimulatedPoint"][];
        };
        /**
         * SimulatedPoint
         * @description A simulated collective beside perturbation: the mean over random mappings.
         */
        SimulatedPoint: {
            /** Task Id */
            task_id: number;
            /**
             * Study
             * @description null: a single collective.
             */
            study: string | null;
            /** Series */
            series: string;
            /** Topology */
            topology: string;
            /** Routing */
            routing: string;
            /** Pattern */
            pattern: string;
            /** Semantics */
            semantics: string;
            /** Endpoints */
            endpoints: number;
            /** Ratio */
            ratio: number;
            /** Runs */
            runs: number;
            /** Slowdown */
            slowdown: number;
            /** Ci95 */
            ci95: number[] | null;
            /** Finished At */
            finished_at: string | null;
        };
        /** Sizes */
        Sizes: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /** Runs */
            runs?: number | null;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default dragonfly:4,6,16,24
             */
            topology: string;
            /** Repeats */
            repeats?: number | null;
            /**
             * Largest Bytes
             * @default 1048576
             */
            largest_bytes: number;
        };
        /**
         * SlowJob
         * @description A job that an incident slows, or that is slow beside it.
         */
        SlowJob: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** State */
            state: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            /**
             * Reasons
             * @description Why nobody is named for it; empty otherwise.
             */
            reasons: string[];
            /**
             * Factor
             * @description Time over usual time.
             */
            factor: number;
            /**
             * Lost S
             * @description Seconds beyond the usual time.
             */
            lost_s: number;
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Until */
            until: string | null;
        };
        /**
         * Slowdown
         * @description Time over the application's mean run; the interval is 90 % of comparable runs.
         */
        Slowdown: {
            /** Mean */
            mean: number;
            /** Low */
            low: number;
            /** High */
            high: number;
        };
        /**
         * SlowedJob
         * @description A job that an incident slowed.
         */
        SlowedJob: {
            /** Job Pk */
            job_pk: number;
            /** Job Id */
            job_id: string;
            /** User */
            user: string | null;
            /** Account */
            account: string | null;
            /** Name */
            name: string | null;
            /** Nodes */
            nodes: number | null;
            /** State */
            state: string;
            /** Simulated */
            simulated: boolean;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            /**
             * Reasons
             * @description Why nobody is named for it; empty otherwise.
             */
            reasons: string[];
            /**
             * Factor
             * @description Time over usual time.
             */
            factor: number;
            /**
             * Lost S
             * @description Seconds beyond the usual time.
             */
            lost_s: number;
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Until */
            until: string | null;
            /**
             * Lost Low S
             * @description 95 % interval of lost_s.
             */
            lost_low_s: number;
            /** Lost High S */
            lost_high_s: number;
            /**
             * Named
             * @description The jobs that are named for it, the largest part first.
             */
            named: string[];
        };
        /**
         * SlowedTotal
         * @description What a job cost others.
         */
        SlowedTotal: {
            /** Jobs */
            jobs: number;
            /** Lost S */
            lost_s: number;
            /**
             * Lost Low S
             * @description 95 % interval.
             */
            lost_low_s: number;
            /** Lost High S */
            lost_high_s: number;
            /**
             * Incidents
             * @description The newest first.
             */
            incidents: number[];
        };
        /**
         * Span
         * @description Time without samples.
         */
        Span: {
            /**
             * From
             * Format: date-time
             */
            from: string;
            /**
             * To
             * Format: date-time
             */
            to: string;
            /** Devices */
            devices: number;
        };
        /**
         * StallFigures
         * @description A window of time [at - window_s, at).
         */
        StallFigures: {
            /**
             * At
             * @description End of the window that was used; null without data or time.
             */
            at: string | null;
            /** Window S */
            window_s: number | null;
            /**
             * Complete Through
             * @description Rows are complete up to here.
             */
            complete_through: string | null;
            routers: components["schemas"]["RouterFigures"];
            /** Classes */
            classes: {
                [key: string]: components["schemas"]["ClassFigures"];
            };
            groups: components["schemas"]["PairFigures"];
            /**
             * Note
             * @description Says so where figures of classes of a long window are estimates.
             */
            note?: string | null;
            /** Simulated */
            simulated: boolean;
            /** Snapshot */
            snapshot: boolean;
        };
        /**
         * Stalls
         * @description Stall ratio on the job's routers against the machine, over the same minutes.
         */
        Stalls: {
            /** Minutes */
            minutes: number;
            /** Routers */
            routers: number;
            /** Job */
            job: number | null;
            /** Machine */
            machine: number | null;
            /**
             * Percentile
             * @description Share of the machine's routers with a lower ratio than the job's.
             */
            percentile: number | null;
        };
        /**
         * StartAdvice
         * @description Choose a routing mode and a placement from NIC counters.
         */
        StartAdvice: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "routing.advice";
            args: components["schemas"]["Advice-Input"];
        };
        /**
         * StartBlame
         * @description Estimate who slows an application down.
         */
        StartBlame: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "ml.blame";
            args: components["schemas"]["BlameArguments"];
        };
        /**
         * StartCollective
         * @description Simulate a collective beside a perturbation.
         */
        StartCollective: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "sim.collective";
            args: components["schemas"]["Collective"];
        };
        /**
         * StartCount
         * @description Count: the end-to-end example.
         */
        StartCount: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "demo.count";
            /**
             * @default {
             *       "to": 10,
             *       "delay_s": 0.1
             *     }
             */
            args: components["schemas"]["Count"];
        };
        /**
         * StartDryRun
         * @description Try an alert rule over the past.
         */
        StartDryRun: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "alerting.test";
            args: components["schemas"]["DryRunArguments"];
        };
        /**
         * StartEstimate
         * @description Estimate what deviates, or what comes next.
         */
        StartEstimate: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "ml.deviation" | "ml.forecast";
            args: components["schemas"]["EstimateArguments"];
        };
        /**
         * StartLoop
         * @description Go from counters to routes, or to traffic.
         */
        StartLoop: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "routing.loop" | "routing.reconstruct";
            args: components["schemas"]["Loop"];
        };
        /**
         * StartMeasuredBlame
         * @description Judge who slows measured runs, from two uploaded files.
         */
        StartMeasuredBlame: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "ml.blame_measured";
            args: components["schemas"]["MeasuredBlameArguments"];
        };
        /**
         * StartOptimise
         * @description Optimise routes for known traffic.
         */
        StartOptimise: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "routing.optimise";
            args: components["schemas"]["Optimise"];
        };
        /**
         * StartPacket
         * @description Simulate packets.
         */
        StartPacket: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "sim.packet";
            args: components["schemas"]["Packet"];
        };
        /**
         * StartStudy
         * @description Reproduce a published study.
         */
        StartStudy: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "sim.study";
            /** Args */
            args: components["schemas"]["Tables-Input"] | components["schemas"]["HoeflerFig11"] | components["schemas"]["HoeflerFig13"] | components["schemas"]["HoeflerFig15"] | components["schemas"]["HoeflerFig16"] | components["schemas"]["HoeflerBisection"] | components["schemas"]["TaffetTable21"] | components["schemas"]["TaffetTable51"] | components["schemas"]["TaffetTable52"] | components["schemas"]["TaffetPf3d"] | components["schemas"]["TaffetMiniGhost"] | components["schemas"]["WangFig2"] | components["schemas"]["WangTable2"] | components["schemas"]["WangLoads"] | components["schemas"]["WangFig8"] | components["schemas"]["DeSensiFig3"] | components["schemas"]["DeSensiFig4"] | components["schemas"]["DeSensiFig5"] | components["schemas"]["DeSensiSizes"] | components["schemas"]["DeSensiCalibration"] | components["schemas"]["DeSensiFig7"] | components["schemas"]["DeSensiModel"] | components["schemas"]["DeSensiCollectives"] | components["schemas"]["DeSensiApplications"];
        };
        /**
         * StartWhatIf
         * @description Simulate a moment of the past otherwise.
         */
        StartWhatIf: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            name: "sim.whatif";
            args: components["schemas"]["WhatIf"];
        };
        /**
         * Status
         * @description What comes in.
         */
        Status: {
            /**
             * Now
             * Format: date-time
             */
            now: string;
            /** Topics */
            topics: components["schemas"]["Topic"][];
            /** Schemas */
            schemas: components["schemas"]["LdmsSchema"][];
            dead_letters: components["schemas"]["DeadLetters"];
            /**
             * Gaps
             * @description The newest.
             */
            gaps: components["schemas"]["Gap"][];
            /**
             * Gap Total
             * @description All that are kept.
             */
            gap_total: number;
            /**
             * Silent Devices
             * @description Devices with an open gap, each once.
             */
            silent_devices: number;
            /**
             * Silent
             * @description The largest groups of them.
             */
            silent: components["schemas"]["flitwatch_api__ingest__schemas__Silence"][];
            /**
             * Position Age S
             * @description Since the writer last moved a position.
             */
            position_age_s: number | null;
            /**
             * Read Only
             * @description Why records wait in the log and nothing new is stored; null: it is.
             */
            read_only: string | null;
        };
        /**
         * Stencil
         * @description Large and small messages; routes are optimised first.
         */
        Stencil: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default quartz1
             */
            topology: string;
            /**
             * Mbytes
             * @default 0.25
             */
            mbytes: number;
            /**
             * Optimise S
             * @default 30
             */
            optimise_s: number;
        };
        /**
         * StoredBlame
         * @description What the newest stored estimate of the application says of the job's user.
         */
        StoredBlame: {
            /** Estimate Id */
            estimate_id: number;
            /** Q */
            q: number | null;
            /** Verdict */
            verdict: string | null;
            /** Found */
            found: boolean;
        };
        /**
         * StoredRule
         * @description A rule and how far it has been evaluated.
         */
        StoredRule: {
            /**
             * Rule
             * @description Fields as in PUT /alerts/rules/{name}, durations in seconds.
             */
            rule: {
                [key: string]: unknown;
            };
            /**
             * Source
             * @enum {string}
             */
            source: "file" | "api";
            /**
             * Updated
             * Format: date-time
             */
            updated: string;
            /** Through */
            through: string | null;
        };
        /** Tables */
        "Tables-Input": {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "example" | "hoefler-example" | "hoefler-table1" | "table1";
            /** @default {} */
            parameters: components["schemas"]["NoParameters"];
        };
        /**
         * Tables
         * @description How good the forwarding tables are, and what they change.
         */
        "Tables-Output": {
            /** True Gap */
            true_gap: number | null;
            /** Ftree Gap */
            ftree_gap: number | null;
            /** Z Ar Bytes */
            z_ar_bytes: number | null;
            /** Entries Changed */
            entries_changed: number | null;
            /** Entries */
            entries: number | null;
        };
        /** TaffetMiniGhost */
        TaffetMiniGhost: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "taffet-minighost";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "kbytes": 2000,
             *       "variables": 5,
             *       "compute": 7,
             *       "imbalance": 0.05,
             *       "congested_after_ns": 0
             *     }
             */
            parameters: components["schemas"]["MiniGhost"];
        };
        /** TaffetPf3d */
        TaffetPf3d: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "taffet-pf3d";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "mbytes": 4,
             *       "congested_after_ns": 0
             *     }
             */
            parameters: components["schemas"]["Pf3d"];
        };
        /** TaffetTable21 */
        TaffetTable21: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "taffet-table2.1";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "kbytes": 10000,
             *       "variables": 5,
             *       "compute": 7,
             *       "imbalance": 0.05,
             *       "mpackets": 4,
             *       "leaves": 16,
             *       "nodes": 32,
             *       "spines": 16,
             *       "congested": 0.42
             *     }
             */
            parameters: components["schemas"]["Sampling"];
        };
        /** TaffetTable51 */
        TaffetTable51: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "taffet-table5.1";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "quartz1",
             *       "mbytes": 10,
             *       "packet_bytes": 4096
             *     }
             */
            parameters: components["schemas"]["Bisections"];
        };
        /** TaffetTable52 */
        TaffetTable52: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "taffet-table5.2";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "quartz1",
             *       "mbytes": 0.25,
             *       "optimise_s": 30
             *     }
             */
            parameters: components["schemas"]["Stencil"];
        };
        /**
         * Task
         * @description Work in the queue.
         */
        Task: {
            /** Task Id */
            task_id: number;
            /** Name */
            name: string;
            /**
             * Args
             * @description Null, as result and error are, below scope names where another account started it and it may be about people.
             */
            args: {
                [key: string]: unknown;
            } | null;
            /**
             * State
             * @description queued, running, succeeded, failed or cancelled
             */
            state: string;
            /** Done */
            done: number;
            /** Total */
            total: number;
            /** Message */
            message: string;
            /** Cancel Requested */
            cancel_requested: boolean;
            /** Result */
            result: unknown | null;
            /** Error */
            error: unknown | null;
            /** Created By */
            created_by: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /** Finished At */
            finished_at: string | null;
        };
        /**
         * TaskFile
         * @description An uploaded file that waits for its task.
         */
        TaskFile: {
            /**
             * File
             * @description Its number, as arguments of tasks name it.
             */
            file: number;
            /** Bytes */
            bytes: number;
        };
        /**
         * TaskList
         * @description A page of tasks.
         */
        TaskList: {
            /** Items */
            items: components["schemas"]["Task"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * Tile
         * @description A port of a router.
         */
        Tile: {
            /** Port */
            port: number;
            /** Name */
            name: string;
            /** Class */
            class: string | null;
            peer: components["schemas"]["Peer"] | null;
            /** Link */
            link: number | null;
            /** Flits */
            flits: number | null;
            /** Stall Cycles */
            stall_cycles: number | null;
            /** Ratio */
            ratio: number | null;
        };
        /**
         * Timeseries
         * @description Counters over time.
         */
        Timeseries: {
            /**
             * Ts
             * @description Start of each step.
             */
            ts: string[];
            /** Step S */
            step_s: number;
            /** Routers */
            routers: number[];
            /**
             * Values
             * @description By counter: [router][step].
             */
            values: {
                [key: string]: (number | null)[][];
            };
        };
        /**
         * Token
         * @description A token, without its secret.
         */
        Token: {
            /** Token Id */
            token_id: number;
            /** Account */
            account: string;
            /** Role */
            role: string;
            /** Label */
            label: string;
            /** Scopes */
            scopes: string[];
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /**
             * Expires
             * Format: date-time
             */
            expires: string;
            /** Revoked */
            revoked: string | null;
            /** Used */
            used: string | null;
        };
        /**
         * TokenList
         * @description Tokens, the newest first.
         */
        TokenList: {
            /** Items */
            items: components["schemas"]["Token"][];
        };
        /**
         * Topic
         * @description One topic of the log.
         */
        Topic: {
            /** Topic */
            topic: string;
            /**
             * Records
             * @description Written since the beginning.
             */
            records: number;
            /**
             * Values Per S
             * @description Over the last two minutes.
             */
            values_per_s: number;
            /** Bytes Per S */
            bytes_per_s: number;
            /**
             * Lag Records
             * @description In the log and not written; null where the log cannot be asked.
             */
            lag_records: number | null;
            /** Lag S */
            lag_s: number | null;
            /** Last At */
            last_at: string | null;
            /** Duplicates */
            duplicates: number;
            /** Late */
            late: number;
            /** Dead */
            dead: number;
            /**
             * Unplaced
             * @description Records of counters that no fabric has a place for: kept as they came, and in no figure.
             */
            unplaced: number;
            /**
             * Unplaced Because
             * @description Why, of the newest such port; null where none is known.
             */
            unplaced_because: string | null;
        };
        /**
         * TrafficClass
         * @description A traffic class of a packet-level run: shares of every link, and which goes first.
         */
        TrafficClass: {
            /** Name */
            name: string;
            /**
             * Minimum
             * @description Guaranteed share of a link; the minima add up to at most 1.
             */
            minimum: number;
            /**
             * Maximum
             * @description Share that it never exceeds.
             * @default 1
             */
            maximum: number;
            /**
             * Priority
             * @description The highest goes first once all have their minimum.
             * @default 0
             */
            priority: number;
        };
        /**
         * TrafficMatrix
         * @description Bytes from sender (column) to receiver (row); null where unknown or not asked for.
         */
        TrafficMatrix: {
            /**
             * By
             * @enum {string}
             */
            by: "router" | "group";
            /** Labels */
            labels: string[];
            /** True */
            true: (number | null)[][] | null;
            /** Reconstructed */
            reconstructed: (number | null)[][] | null;
            /** Difference */
            difference: (number | null)[][] | null;
        };
        /**
         * UsualRange
         * @description The usual time of runs on another number of nodes: `low_s` and `high_s` for work that the nodes divide and for work that grows with them.
         */
        UsualRange: {
            /** Low S */
            low_s: number;
            /** High S */
            high_s: number;
            /**
             * Nodes
             * @description How many nodes the comparable runs had.
             */
            nodes: number;
        };
        /**
         * VictimLink
         * @description A link whose traffic waits behind a root.
         */
        VictimLink: {
            /** Link */
            link: number;
            /** Link Class */
            link_class: string;
            /**
             * Src
             * @description Vertex that sends: a router, or the number of routers plus an endpoint.
             */
            src: number;
            /** Src Name */
            src_name: string;
            /** Dst */
            dst: number;
            /** Dst Name */
            dst_name: string;
            /**
             * Utilisation
             * @description Part of the capacity that was used; of samples by the job's own packets alone.
             */
            utilisation: number | null;
            /** Stalls Per Flit */
            stalls_per_flit: number | null;
            /**
             * Congested Fraction
             * @description Part of the job's sampled packets that found the link congested.
             */
            congested_fraction: number | null;
            /**
             * Behind
             * @description The link that it waits for.
             */
            behind: number;
            /**
             * Distance
             * @description Links from the root.
             */
            distance: number;
        };
        /** Wang */
        Wang: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default theta
             */
            topology: string;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
            /**
             * Load
             * @description Factor on the sizes of all messages.
             * @default 1
             */
            load: number;
            /** Applications */
            applications?: ("crystal-router" | "fill-boundary" | "amg")[] | null;
            /**
             * Ranks
             * @description 0: the paper's.
             * @default 0
             */
            ranks: number;
            /**
             * Runs
             * @description Draws a placement.
             * @default 5
             */
            runs: number;
        };
        /** WangBackground */
        WangBackground: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default theta
             */
            topology: string;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
            /**
             * Load
             * @description Factor on the sizes of all messages.
             * @default 1
             */
            load: number;
            /** Applications */
            applications?: ("crystal-router" | "fill-boundary" | "amg")[] | null;
            /**
             * Ranks
             * @description 0: the paper's.
             * @default 0
             */
            ranks: number;
            /**
             * Runs
             * @description Draws a placement.
             * @default 5
             */
            runs: number;
            /**
             * Load Gib Per S
             * @default 1
             */
            load_gib_per_s: number;
            /**
             * Exchanges
             * @description How often the application goes through its messages.
             * @default 1
             */
            exchanges: number;
        };
        /** WangBursts */
        WangBursts: {
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default theta
             */
            topology: string;
            /** Applications */
            applications?: ("crystal-router" | "fill-boundary" | "amg")[] | null;
        };
        /** WangFig2 */
        WangFig2: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "wang-fig2";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "theta",
             *       "packet_bytes": 2048,
             *       "load": 1,
             *       "ranks": 0
             *     }
             */
            parameters: components["schemas"]["WangPatterns"];
        };
        /** WangFig8 */
        WangFig8: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "wang-fig8-10";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "theta",
             *       "packet_bytes": 2048,
             *       "load": 1,
             *       "ranks": 0,
             *       "runs": 5,
             *       "load_gib_per_s": 1,
             *       "exchanges": 1
             *     }
             */
            parameters: components["schemas"]["WangBackground"];
        };
        /** WangLoads */
        WangLoads: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "wang-fig3" | "wang-fig7";
            /**
             * @default {
             *       "seed": 1,
             *       "threads": 1,
             *       "topology": "theta",
             *       "packet_bytes": 2048,
             *       "load": 1,
             *       "ranks": 0,
             *       "runs": 5
             *     }
             */
            parameters: components["schemas"]["Wang"];
        };
        /** WangPatterns */
        WangPatterns: {
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Threads
             * @default 1
             */
            threads: number;
            /**
             * Topology
             * @description A topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file.
             * @default theta
             */
            topology: string;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
            /**
             * Load
             * @description Factor on the sizes of all messages.
             * @default 1
             */
            load: number;
            /** Applications */
            applications?: ("crystal-router" | "fill-boundary" | "amg")[] | null;
            /**
             * Ranks
             * @description 0: the paper's.
             * @default 0
             */
            ranks: number;
        };
        /** WangTable2 */
        WangTable2: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            study: "wang-table2";
            /**
             * @default {
             *       "threads": 1,
             *       "topology": "theta"
             *     }
             */
            parameters: components["schemas"]["WangBursts"];
        };
        /**
         * WhatIf
         * @description `sim.whatif`: a moment of a stored fabric's past, one job placed or routed otherwise.
         */
        WhatIf: {
            /** Fabric */
            fabric: string;
            /** At S */
            at_s: number;
            /** Job */
            job: string;
            /**
             * Window S
             * @default 300
             */
            window_s: number;
            /**
             * Pattern
             * @default stencil3d
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "barrier" | "bisection" | "bisection-shuffle" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "fill-boundary" | "halo3d" | "incast" | "permutation" | "pingpong" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "ring-allreduce" | "tree-allreduce" | "hierarchical-allreduce" | "expert-alltoall";
            /**
             * Bytes
             * @default 100000
             */
            bytes: number;
            /**
             * Placements
             * @default [
             *       "as-it-was",
             *       "random-router"
             *     ]
             */
            placements: ("as-it-was" | "contiguous" | "random-node" | "random-router" | "random-chassis" | "random-cabinet" | "random-group" | "cyclic" | "random-rank")[];
            /**
             * Routings
             * @default [
             *       "adaptive0",
             *       "adaptive3"
             *     ]
             */
            routings: ("minimal" | "valiant" | "adaptive0" | "adaptive1" | "adaptive2" | "adaptive3" | "min-hash" | "nmin-hash" | "in-order" | "ftree" | "hw-adaptive" | "spray" | "dor")[];
            /**
             * Seeds
             * @default 5
             */
            seeds: number;
            /**
             * Seed
             * @default 1
             */
            seed: number;
            /**
             * Packet Bytes
             * @default 2048
             */
            packet_bytes: number;
        };
        /**
         * Silence
         * @description Alerts that match are not told while it holds.
         */
        flitwatch_api__alerts__schemas__Silence: {
            /** Silence Id */
            silence_id: number;
            /** Matchers */
            matchers: {
                [key: string]: string;
            };
            /**
             * Starts
             * Format: date-time
             */
            starts: string;
            /**
             * Ends
             * Format: date-time
             */
            ends: string;
            /**
             * Comment
             * @description Null below scope names: it is free text.
             */
            comment: string | null;
            /** Created By */
            created_by: string;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Active */
            active: boolean;
        };
        /**
         * Silence
         * @description Devices that are silent now, by schema and the minute since when.
         */
        flitwatch_api__ingest__schemas__Silence: {
            /** Schema */
            schema: string;
            /**
             * From
             * Format: date-time
             */
            from: string;
            /** Devices */
            devices: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    fabrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FabricList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    fabric_detail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FabricDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    routers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Routers"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    links: {
        parameters: {
            query?: {
                class?: string | null;
                /** @description Links with this group at either end. */
                group?: number | null;
                /** @description With the links between routers and nodes. */
                terminals?: boolean;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Links"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    endpoints: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoints"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    router_detail: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window. */
                window?: string;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
                router: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouterDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    congestion: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description Links of this class only. */
                class?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StallFigures"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stalls: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description Links of this class only. */
                class?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StallFigures"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    congestion_links: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description Links with this router at either end. */
                router?: number | null;
                /** @description Links with this group at either end. */
                group?: number | null;
                /** @description Links of this class only. */
                class?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkFigures"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stalls_of_links: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description Links with this router at either end. */
                router?: number | null;
                /** @description Links with this group at either end. */
                group?: number | null;
                /** @description Links of this class only. */
                class?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkFigures"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    lanes: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description With `port`: a port of this router. */
                router?: number | null;
                port?: number | null;
                /** @description The adapter of this endpoint. */
                endpoint?: number | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LaneFigures"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    timeseries: {
        parameters: {
            query: {
                /** @description `1,2`, `all` or `group:3`. */
                routers: string;
                /** @description Of rt_flits, rt_packets, rt_stall_cycles, rt_rb_2x_cycles, green_flits, green_stall_cycles, black_flits, black_stall_cycles, blue_flits, blue_stall_cycles, pt_flits, pt_packets, pt_vc0_flits, pt_vc4_flits, pt_rq_stall_cycles, pt_rs_stall_cycles, pt_cb_rq_stall_cycles, pt_cb_rs_stall_cycles, pt_rb_2x_cycles, tile_seconds, ratio, green_ratio, black_ratio, blue_ratio, coverage; several by commas. */
                counters?: string;
                from?: string | null;
                /** @description Without it, until where the data are complete. */
                to?: string | null;
                /** @description Most steps in the answer. */
                points?: number;
                /** @description One row: the sum over the routers. */
                sum?: boolean;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As Arrow or Parquet: columns ts, router (unless summed) and one a counter; null is unknown. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeseries"];
                    "application/vnd.apache.arrow.stream": string;
                    "application/vnd.apache.parquet": string;
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    matrix: {
        parameters: {
            query?: {
                from?: string | null;
                /** @description Without it, until where the data are complete. */
                to?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matrix"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: {
                from?: string | null;
                /** @description Without it, until where the data are complete. */
                to?: string | null;
                /** @description Most steps in the answer. */
                points?: number;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    frames: {
        parameters: {
            query?: {
                from?: string | null;
                /** @description Without it, until where the data are complete. */
                to?: string | null;
                /** @description Shortest step in seconds; the answer's may be longer. */
                step?: number;
                /** @description Links of this class only. */
                class?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As Arrow or Parquet: columns ts, router, flits, stall_cycles, ratio. With Accept: application/octet-stream float32, little endian: flits[step][router], then stall_cycles[step][router]; NaN is unknown. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Frames"];
                    "application/octet-stream": string;
                    "application/vnd.apache.arrow.stream": string;
                    "application/vnd.apache.parquet": string;
                };
            };
            /** @description The caller's copy (If-None-Match) is current. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    hot_links: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
                /** @description Most links in the answer. */
                limit?: number;
                /** @description Links of this class only. */
                class?: string | null;
                /** @description This link only. */
                link?: number | null;
                /** @description Links with this router at either end. */
                router?: number | null;
                /** @description Links from this group. */
                src_group?: number | null;
                /** @description Links to this group. */
                dst_group?: number | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HotLinks"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    job_paths: {
        parameters: {
            query: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1. */
                job: string;
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`. */
                window?: string;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPaths"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    roots: {
        parameters: {
            query?: {
                /** @description End of the window; without it the newest complete window. */
                at?: string | null;
                /** @description Length of the window that ends at `at`, at most an hour. */
                window?: string;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RootsOfCongestion"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    job_diagnosis: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
                /** @description End of the window; without it the job's end, or now. */
                at?: string | null;
                /** @description Length of the window that ends at `at`, at most an hour. */
                window?: string;
                /** @description Sampled messages of this tag only. */
                tag?: string | null;
                /** @description Samples of this phase only. */
                phase?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RootsOfCongestion"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    samples: {
        parameters: {
            query?: {
                /** @description Packets of this job only. */
                job?: string | null;
                /** @description Messages of this tag only. */
                tag?: string | null;
                /** @description While the job was in this phase. */
                phase?: string | null;
                /** @description Without it, since the first slice. */
                from?: string | null;
                /** @description Without it, up to the newest slice. */
                to?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SampleMap"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sample_contexts: {
        parameters: {
            query?: {
                /** @description Packets of this job only. */
                job?: string | null;
                /** @description Messages of this tag only. */
                tag?: string | null;
                /** @description While the job was in this phase. */
                phase?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SampleContextList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sample_hosts: {
        parameters: {
            query?: {
                /** @description Without it, since the first slice. */
                from?: string | null;
                /** @description Without it, up to the newest slice. */
                to?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SampleHosts"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs: {
        parameters: {
            query?: {
                /** @description Jobs with nodes on this fabric (number or name). */
                fabric?: string | null;
                /** @description Users, comma-separated. */
                user?: string | null;
                /** @description States, comma-separated. */
                state?: string | null;
                name?: string | null;
                /** @description Part of id, name, user or account. */
                q?: string | null;
                /** @description Jobs that ran at this moment. */
                at?: string | null;
                /** @description Jobs that ran at or after this. */
                from?: string | null;
                /** @description Jobs that began at or before this. */
                to?: string | null;
                /** @description Column, with a minus for falling order. */
                sort?: string;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    job: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    occupancy: {
        parameters: {
            query?: {
                /** @description Without it, until where the data are complete. */
                at?: string | null;
            };
            header?: never;
            path: {
                /** @description The fabric's number or name. */
                fabric: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Occupancy"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explanation: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
                /** @description The answer of this moment; without it, of now. */
                at?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    incident: {
        parameters: {
            query: {
                /** @description The machine, by number or name. */
                fabric: string;
                /** @description The answer of this moment; without it, of now. */
                at?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Incident"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    case: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
                /** @description The evidence of this moment; without it, of now. */
                at?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    counters: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
                /** @description Without it, the job's start. */
                from?: string | null;
                /** @description Without it, the job's end, or now. */
                to?: string | null;
                /** @description At most so many steps. */
                points?: number;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCounters"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    incidents: {
        parameters: {
            query?: {
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
                fabric?: string | null;
                /** @description Those that it caused or that slowed it. */
                job?: string | null;
                /** @description Those that a job of this user caused. */
                user?: string | null;
                state?: ("open" | "over" | "withdrawn") | null;
                /** @description Not over before this. */
                from?: string | null;
                /** @description Begun before this. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    incidents_export: {
        parameters: {
            query?: {
                fabric?: string | null;
                /** @description Those that it caused or that slowed it. */
                job?: string | null;
                /** @description Those that a job of this user caused. */
                user?: string | null;
                state?: ("open" | "over" | "withdrawn") | null;
                /** @description Not over before this. */
                from?: string | null;
                /** @description Begun before this. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    incident_detail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                incident_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_incident_note: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                incident_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewIncidentNote"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentNote"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    network_noise: {
        parameters: {
            query?: {
                /** @description Where several clusters use the same id; else the newest. */
                cluster?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobNetworkNoise"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    compare_network_noise: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NoiseQuestion"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoiseComparison"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    runs: {
        parameters: {
            query?: {
                /** @description Runs of this job. */
                job?: string | null;
                /** @description Runs of this application. */
                exe?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_run: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportedRun"];
            };
        };
        responses: {
            /** @description It had been reported; what is new was added. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunReport"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunReport"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    steps: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunSteps"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_steps: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoreSteps"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunReport"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    estimates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Applications"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    versions: {
        parameters: {
            query?: {
                kind?: ("blame" | "deviation" | "forecast") | null;
                /** @description The application; without it, of the newest estimate of recorded runs, else of files. */
                exe?: string | null;
                /** @description Its number of nodes. */
                nodes?: number | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeadList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    blame: {
        parameters: {
            query?: {
                /** @description The application; without it, of the newest estimate of recorded runs, else of files. */
                exe?: string | null;
                /** @description Its number of nodes. */
                nodes?: number | null;
                /** @description This estimate instead of the newest (/estimates/versions). */
                estimate?: number | null;
                /** @description Users, or jobs of one name. */
                by?: "user" | "application";
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Blame"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    blame_several: {
        parameters: {
            query?: {
                /** @description Users, or jobs of one name. */
                by?: "user" | "application";
                /** @description Found means named, or (the paper's) mutual information beyond chance. */
                definition?: "ours" | "paper";
                /** @description Found in at least so many sets; 0 lists every name. */
                least_sets?: number;
                /** @description Most items in the answer. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeveralSets"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    blame_detail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                estimate_id: number;
                by: "user" | "application";
                place: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlameDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deviation: {
        parameters: {
            query?: {
                /** @description Per second of the step, or as counted over it (the paper's; contains the step's duration). */
                inputs?: "rates" | "deltas";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deviation"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forecast: {
        parameters: {
            query?: {
                /** @description The application; without it, of the newest estimate of recorded runs, else of files. */
                exe?: string | null;
                /** @description Its number of nodes. */
                nodes?: number | null;
                /** @description This estimate instead of the newest (/estimates/versions). */
                estimate?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Forecast"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forecasts: {
        parameters: {
            query?: {
                /** @description Most items in the answer. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forecasts_of_jobs: {
        parameters: {
            query?: {
                /** @description The largest so many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningJobList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_forecast: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunForecast"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    outlook: {
        parameters: {
            query?: {
                cluster?: string | null;
            };
            header?: never;
            path: {
                /** @description As the scheduler prints it: 42, 3_4, 10+1, 13.server. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Outlook"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    measured_noise: {
        parameters: {
            query?: {
                network?: string | null;
                collective?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MeasuredList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    simulated_noise: {
        parameters: {
            query?: {
                /** @description The newest so many tasks that simulated collectives. */
                tasks?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimulatedList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alerts: {
        parameters: {
            query?: {
                phase?: ("pending" | "firing" | "resolved") | null;
                rule?: string | null;
                /** @description Open at or after this. */
                from?: string | null;
                /** @description Open at or before this. */
                to?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alert_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_alert_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The rule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRule"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredRule"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_alert_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The rule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    test_alert_rule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DryRun"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alert_silences: {
        parameters: {
            query?: {
                /** @description Most items in the answer. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SilenceList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_alert_silence: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSilence"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SilenceList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_alert_silence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                silence_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alert_contacts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_alert_contact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The contact point's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewContact"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_alert_contact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The contact point's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    test_alert_contact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The contact point's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alert_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    advice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdviceRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Advice-Output"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    advice_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdviceBatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdviceBatchAnswer"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    advice_state: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdviceState"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recommendations: {
        parameters: {
            query?: {
                kind?: ("routes" | "routing_mode" | "placement") | null;
                state?: ("recommended" | "refused") | null;
                fabric?: string | null;
                job?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecommendationList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recommendation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                recommendation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecommendationDetail"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recommendation_lfts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                recommendation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recommendation_matrix: {
        parameters: {
            query?: {
                by?: "router" | "group";
                of?: ("true" | "reconstructed" | "difference") | null;
            };
            header?: never;
            path: {
                recommendation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrafficMatrix"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recommendation_links: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                recommendation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BeforeAfterLinks"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tasks: {
        parameters: {
            query?: {
                name?: string | null;
                state?: ("queued" | "running" | "succeeded" | "failed" | "cancelled") | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartCount"] | components["schemas"]["StartStudy"] | components["schemas"]["StartCollective"] | components["schemas"]["StartPacket"] | components["schemas"]["StartWhatIf"] | components["schemas"]["StartLoop"] | components["schemas"]["StartOptimise"] | components["schemas"]["StartAdvice"] | components["schemas"]["StartBlame"] | components["schemas"]["StartMeasuredBlame"] | components["schemas"]["StartEstimate"] | components["schemas"]["StartDryRun"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskFile"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description So many of the caller's wait already. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It is over. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    arrivals: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Arrivals"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    dead_letters: {
        parameters: {
            query?: {
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    dead_letter_raw: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first 64 kB of the record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    search: {
        parameters: {
            query: {
                /** @description Part of a name or id. */
                q: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hits"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events: {
        parameters: {
            query?: {
                /** @description The same, for clients that cannot set the header. */
                last_event_id?: string | null;
                /** @description Only these kinds, comma-separated. */
                kinds?: string | null;
            };
            header?: {
                /** @description Events after this one are replayed first. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events: id, event (the kind), data (JSON). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remotes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemoteList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_remote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                remote: string;
                /** @description Below the remote's /api/v1, with the same parameters. */
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the remote answers at /api/v1/{path}. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    log_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    own_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPassword"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAccount"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It exists, or is the last admin. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Change"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It exists, or is the last admin. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    audit: {
        parameters: {
            query?: {
                actor?: string | null;
                /** @description Most items in the answer. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not with this role or scope */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    oidc_leave: {
        parameters: {
            query?: {
                /** @description The page's place to come back to. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    oidc_back: {
        parameters: {
            query?: {
                code?: string | null;
                state?: string | null;
                error?: string | null;
                iss?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    oidc_log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be understood */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A login or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not from here */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Over a limit, which is named */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A parameter is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests; Retry-After says when to come back */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A part of the service does not answer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description Not ready */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenMetrics, or Prometheus' text format where it is asked for alone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                    "text/plain": string;
                };
            };
        };
    };
}
