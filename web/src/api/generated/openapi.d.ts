// Generated from docs/contracts/openapi.json by `npm run generate`.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        WhatIf: {
            fabric: string;
            at_s: number;
            job: string;
            /** @default 300 */
            window_s: number;
            /**
             * @default stencil3d
             * @enum {string}
             */
            pattern: "allreduce" | "alltoall" | "amg" | "barrier" | "bisection" | "bisection-shuffle" | "broadcast" | "bully" | "crystal-router" | "cyclic-stencil" | "fill-boundary" | "halo3d" | "incast" | "permutation" | "pingpong" | "stencil27-bspma" | "stencil27-svaf" | "stencil27-svafp" | "stencil3d" | "sweep3d" | "ring-allreduce" | "tree-allreduce" | "hierarchical-allreduce" | "expert-alltoall";
            /** @default 100000 */
            bytes: number;
            /**
             * @default [
             *       "as-it-was",
             *       "random-router"
             *     ]
             */
            placements: ("as-it-was" | "contiguous" | "random-node" | "random-router" | "random-chassis" | "random-cabinet" | "random-group" | "cyclic" | "random-rank")[];
            /**
             * @default [
             *       "adaptive0",
             *       "adaptive3"
             *     ]
             */
            routings: ("minimal" | "valiant" | "adaptive0" | "adaptive1" | "adaptive2" | "adaptive3" | "min-hash" | "nmin-hash" | "in-order" | "ftree" | "hw-adaptive" | "spray" | "dor")[];
            /** @default 5 */
            seeds: number;
            /** @default 1 */
            seed: number;
            /** @default 2048 */
            packet_bytes: number;
        };
        SilenceList: {
            items: components["schemas"]["flitwatch_api__alerts__schemas__Silence"][];
        };
        flitwatch_api__alerts__schemas__Silence: {
            silence_id: number;
            matchers: {
                [key: string]: string;
            };
            /** Format: date-time */
            starts: string;
            /** Format: date-time */
            ends: string;
            comment: string | null;
            created_by: string;
            /** Format: date-time */
            created: string;
            active: boolean;
        };
        RuleList: {
            items: components["schemas"]["StoredRule"][];
        };
        StoredRule: {
            rule: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            source: "file" | "api";
            /** Format: date-time */
            updated: string;
            through: string | null;
        };
        AlertDetail: {
            alert_id: number;
            rule: string;
            labels: {
                [key: string]: string;
            };
            /** @enum {string} */
            phase: "pending" | "firing" | "resolved";
            severity: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            seen: string;
            fired_at: string | null;
            resolved_at: string | null;
            value: number;
            peak: number;
            probability: number | null;
            summary: string;
            simulated: boolean;
            page: string | null;
            evidence: {
                [key: string]: unknown;
            };
            notices: components["schemas"]["Notice"][];
        };
        Notice: {
            receiver: string;
            /** @enum {string} */
            status: "firing" | "resolved";
            turn: number;
            /** Format: date-time */
            created: string;
            delivered: string | null;
            attempts: number;
            tried: string | null;
            error: string | null;
        };
        AlertList: {
            items: components["schemas"]["Alert"][];
            next_cursor: string | null;
        };
        Alert: {
            alert_id: number;
            rule: string;
            labels: {
                [key: string]: string;
            };
            /** @enum {string} */
            phase: "pending" | "firing" | "resolved";
            severity: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            seen: string;
            fired_at: string | null;
            resolved_at: string | null;
            value: number;
            peak: number;
            probability: number | null;
            summary: string;
            simulated: boolean;
            page: string | null;
        };
        SimulatedList: {
            items: components["schemas"]["SimulatedPoint"][];
        };
        SimulatedPoint: {
            task_id: number;
            study: string | null;
            series: string;
            topology: string;
            routing: string;
            pattern: string;
            semantics: string;
            endpoints: number;
            ratio: number;
            runs: number;
            slowdown: number;
            ci95: number[] | null;
            finished_at: string | null;
        };
        MeasuredList: {
            items: components["schemas"]["Measured"][];
            fits: components["schemas"]["Fit"][];
        };
        Fit: {
            network: string;
            collective: string;
            collective_bytes: number;
            perturbation_bytes: number;
            world: number;
            splits: number;
            slope: number;
            slope_ci95: [
                number,
                number
            ];
            intercept: number;
            band: components["schemas"]["BandPoint"][];
        };
        BandPoint: {
            ratio: number;
            low: number;
            fitted: number;
            high: number;
        };
        Measured: {
            network: string;
            collective: string;
            collective_bytes: number;
            perturbation_bytes: number;
            world: number;
            ratio: number;
            splits: number;
            late: number;
            perturbed_s: number | null;
            quiet_s: number | null;
            slowdown: number | null;
            slowdown_min: number | null;
            slowdown_max: number | null;
            slowdown_quartiles: number[] | null;
            /** Format: date-time */
            imported_at: string;
            perturbed_box: components["schemas"]["NotchedBox"] | null;
            quiet_box: components["schemas"]["NotchedBox"] | null;
        };
        NotchedBox: {
            least: number;
            q1: number;
            median: number;
            q3: number;
            most: number;
            notch: [
                number,
                number
            ];
            measurements: number;
        };
        BeforeAfterLinks: {
            link: number[];
            src: number[];
            dst: number[];
            class: string[];
            router: number[];
            name: string[];
            level: (number | null)[];
            group: (number | null)[];
            nodes: number[];
            before: components["schemas"]["Carried"];
            after: components["schemas"]["Carried"];
        };
        Carried: {
            traffic_bytes: (number | null)[];
            congested: (number | null)[];
        };
        TrafficMatrix: {
            /** @enum {string} */
            by: "router" | "group";
            labels: string[];
            true: (number | null)[][] | null;
            reconstructed: (number | null)[][] | null;
            difference: (number | null)[][] | null;
        };
        RecommendationDetail: {
            recommendation_id: number;
            /** @enum {string} */
            kind: "routes" | "routing_mode" | "placement";
            /** @enum {string} */
            state: "recommended" | "refused";
            /** Format: date-time */
            created: string;
            task_id: number | null;
            fabric_id: number | null;
            fabric: string | null;
            job_id: string | null;
            user: string | null;
            application: string | null;
            title: string;
            reason: string;
            gain: components["schemas"]["RecommendationGain"] | null;
            environment: string | null;
            has_lfts: boolean;
            has_matrix: boolean;
            has_links: boolean;
            simulated: boolean;
            created_by: string | null;
            authorised: boolean;
            /** @enum {string} */
            figures: "given" | "simulated" | "counted";
            why: components["schemas"]["RecommendationReason"][];
            before: components["schemas"]["RouteOutcome"] | null;
            after: components["schemas"]["RouteOutcome"] | null;
            alternatives: components["schemas"]["Alternative"][];
            reconstruction: components["schemas"]["Reconstruction"] | null;
            routes: components["schemas"]["Tables-Output"] | null;
            parameters: {
                [key: string]: unknown;
            };
        };
        "Tables-Output": {
            true_gap: number | null;
            ftree_gap: number | null;
            z_ar_bytes: number | null;
            entries_changed: number | null;
            entries: number | null;
        };
        Reconstruction: {
            basis: string;
            relative_error: number | null;
            estimated_error: number | null;
            residual: number | null;
            iterations: number | null;
            converged: boolean | null;
            wall_s: number | null;
        };
        Alternative: {
            label: string;
            time_s: number | null;
        };
        RouteOutcome: {
            time_s: number | null;
            max_load_bytes: number | null;
            congested_links: number | null;
            label: string;
        };
        RecommendationReason: {
            text: string;
            value: number | null;
            unit: string | null;
        };
        RecommendationGain: {
            factor: number;
            low: number | null;
            high: number | null;
            level: number;
            runs: number;
            basis: string;
        };
        RecommendationList: {
            items: components["schemas"]["Recommendation"][];
            next_cursor: string | null;
        };
        Recommendation: {
            recommendation_id: number;
            /** @enum {string} */
            kind: "routes" | "routing_mode" | "placement";
            /** @enum {string} */
            state: "recommended" | "refused";
            /** Format: date-time */
            created: string;
            task_id: number | null;
            fabric_id: number | null;
            fabric: string | null;
            job_id: string | null;
            user: string | null;
            application: string | null;
            title: string;
            reason: string;
            gain: components["schemas"]["RecommendationGain"] | null;
            environment: string | null;
            has_lfts: boolean;
            has_matrix: boolean;
            has_links: boolean;
            simulated: boolean;
            created_by: string | null;
            authorised: boolean;
            /** @enum {string} */
            figures: "given" | "simulated" | "counted";
        };
        Outlook: {
            job_id: string;
            elapsed_s: number | null;
            has_steps: boolean;
            past: components["schemas"]["PastJobs"][];
            run_time: components["schemas"]["RunTime"] | null;
            stalls: components["schemas"]["Stalls"] | null;
            neighbours: components["schemas"]["NeighbourWithBlame"][];
            simulated: boolean;
        };
        NeighbourWithBlame: {
            job_id: string;
            user: string | null;
            nodes: number | null;
            shared_routers: number;
            shared_groups: number;
            overlap_s: number;
            blamed: string[];
        };
        Stalls: {
            minutes: number;
            routers: number;
            job: number | null;
            machine: number | null;
            percentile: number | null;
        };
        RunTime: {
            elapsed_s: number;
            expected_s: number | null;
            low_s: number | null;
            high_s: number | null;
            ends: string | null;
            ends_low: string | null;
            ends_high: string | null;
            basis: string | null;
            jobs: number;
            tested: number;
            coverage90: number | null;
            rests_on: string | null;
            lacks: string | null;
        };
        PastJobs: {
            basis: string;
            jobs: number;
            p10_s: number | null;
            p50_s: number | null;
            p90_s: number | null;
            longer: number | null;
        };
        RunForecast: {
            run_id: number;
            job_id: string | null;
            exe: string;
            nodes: number;
            start: string | null;
            running: boolean;
            simulated: boolean;
            observed: components["schemas"]["Observed"];
            band: components["schemas"]["Band"] | null;
            newest: components["schemas"]["NextSteps"] | null;
            made: components["schemas"]["NextSteps"][];
            backtest: components["schemas"]["Serving"] | null;
            lacks: string | null;
        };
        Serving: {
            forecaster: string;
            m: number;
            k: number;
            features: string;
            mape: number;
            coverage90: number | null;
            why: string;
        };
        NextSteps: {
            after_steps: number;
            ahead: number;
            /** Format: date-time */
            made: string;
            estimate_id: number | null;
            forecaster: string;
            expected_s: number;
            low_s: number;
            high_s: number;
            usual_s: number;
            slowdown: number;
            observed_s: number | null;
        };
        Band: {
            step: number[];
            expected_s: number[];
            low_s: number[];
            high_s: number[];
        };
        Observed: {
            step: number[];
            time_s: number[];
            usual_s: (number | null)[];
        };
        IngestCoverage: {
            ts: string[];
            step_s: number;
            sources: components["schemas"]["SourceCoverage"][];
        };
        SourceCoverage: {
            source: string;
            topics: string[];
            records: number[];
            dead: number[];
        };
        SlowestRuns: {
            recent_s: number;
            running: number;
            items: components["schemas"]["SlowRun"][];
        };
        SlowRun: {
            run_id: number;
            job_id: string | null;
            user: string | null;
            name: string | null;
            exe: string;
            nodes: number;
            simulated: boolean;
            recent: components["schemas"]["Observed"];
            earlier_runs: number;
            slowdown: number | null;
            run_time: components["schemas"]["RunTime"] | null;
        };
        RunningList: {
            items: components["schemas"]["Running"][];
        };
        Running: {
            run_id: number;
            job_id: string | null;
            user: string | null;
            exe: string;
            nodes: number;
            start: string | null;
            steps: number;
            elapsed_s: number;
            newest: components["schemas"]["NextSteps"] | null;
            backtest_mape: number | null;
            lacks: string | null;
            simulated: boolean;
        };
        Forecast: {
            estimate: components["schemas"]["Head"];
            serves: components["schemas"]["Serving"];
            backtests: components["schemas"]["BacktestRow"][];
            step: number[];
            curve_s: number[];
            drift: components["schemas"]["ForecastDrift"] | null;
            rests_on: components["schemas"]["ForecastBasis"][];
            rests_on_lacks: string | null;
            notes: string[];
        };
        ForecastBasis: {
            forecaster: string;
            mape: number;
            learned: number;
            runs: number;
            inputs: components["schemas"]["ForecastInput"][];
            weights: components["schemas"]["AttentionWeights"][];
        };
        AttentionWeights: {
            forecaster: string;
            mean: number[];
            low: number[];
            high: number[];
        };
        ForecastInput: {
            name: string;
            meaning: string;
            features: string[];
            increase: number;
            low: number;
            high: number;
            /** @enum {string} */
            verdict: "carries" | "cannot tell" | "not used";
        };
        ForecastDrift: {
            /** Format: date-time */
            checked: string;
            forecasts: number;
            coverage90: number | null;
            mape: number | null;
            psi: {
                [key: string]: number;
            };
            drifting: boolean;
            why: string | null;
        };
        BacktestRow: {
            m: number;
            k: number;
            features: string;
            mape: {
                [key: string]: number;
            };
            gain: components["schemas"]["AttentionGain"] | null;
            coverage90: number | null;
            best: string;
            runs: number;
            windows: number;
        };
        AttentionGain: {
            mean: number;
            low: number;
            high: number;
        };
        Head: {
            estimate_id: number;
            /** @enum {string} */
            kind: "blame" | "deviation" | "forecast";
            exe: string;
            nodes: number;
            /** Format: date-time */
            created: string;
            code_version: string;
            runs: number;
            steps: number;
            /** Format: date-time */
            first: string;
            /** Format: date-time */
            last: string;
            parameters: {
                [key: string]: unknown;
            };
            score: {
                [key: string]: unknown;
            };
            simulated: boolean;
            /** @enum {string} */
            source: "runs" | "files";
        };
        RunningJobList: {
            items: components["schemas"]["RunningJob"][];
        };
        RunningJob: {
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
            /** Format: date-time */
            start: string;
            run_time: components["schemas"]["RunTime"];
            simulated: boolean;
        };
        Deviation: {
            /** @enum {string} */
            inputs: "rates" | "deltas";
            counters: components["schemas"]["Counter"][];
            sets: components["schemas"]["Relevance"][];
            lacking: components["schemas"]["MissingEstimate"][];
            caveat: string;
        };
        MissingEstimate: {
            exe: string;
            nodes: number;
            runs: number;
            lacks: string | null;
        };
        Relevance: {
            estimate: components["schemas"]["Head"];
            relevance: (number | null)[];
            relevance_spread: (number | null)[];
            rank: (number | null)[];
            rank_spread: (number | null)[];
            place: (number | null)[];
            mape: number;
            mape_spread: number;
            baseline_mape: number;
            row_split_mape: number | null;
            folds: number;
            groups: components["schemas"]["ExplainedGroup"][];
            answer: string[];
        };
        ExplainedGroup: {
            name: string;
            features: string[];
            explained: number;
            low: number;
            high: number;
            kept: number;
            folds: number;
            /** @enum {string} */
            verdict: "carries" | "cannot tell" | "not used";
        };
        Counter: {
            abbreviation: string;
            vendor: string;
            column: string;
            description: string;
            meaning: string;
        };
        BlameDetail: {
            estimate: components["schemas"]["Head"];
            /** @enum {string} */
            by: "user" | "application";
            entry: components["schemas"]["BlameEntry"];
            run_id: (number | null)[];
            run_name: (string | null)[];
            job_id: (string | null)[];
            start: string[];
            time_s: number[];
            slow: boolean[];
            overlap: (number | null)[];
            exposure: number[];
        };
        BlameEntry: {
            place: number;
            name: string;
            pseudonym: boolean;
            own: boolean;
            /** @enum {string} */
            verdict: "named" | "cannot tell" | "no evidence";
            reasons: string[];
            effect_s: number | null;
            effect_low_s: number | null;
            effect_high_s: number | null;
            lost_node_hours: number | null;
            lost_low_node_hours: number | null;
            lost_high_node_hours: number | null;
            score: number;
            sign: number;
            p: number | null;
            q: number | null;
            testable: boolean;
            reason: string | null;
            exposed_runs: number;
            selected: number | null;
            mi_bits: number;
            mi_sign: number;
            mi_p: number | null;
            mi_q: number | null;
        };
        Blame: {
            estimate: components["schemas"]["Head"];
            /** @enum {string} */
            by: "user" | "application";
            method: components["schemas"]["BlameMethod"];
            caveat: string;
            found: number;
            cannot_tell: number;
            testable: number;
            total: number;
            runs: components["schemas"]["BlameRuns"];
            calibration: components["schemas"]["BlameCalibration"] | null;
            drivers: components["schemas"]["RunTimeDriver"][];
            notes: string[];
            entries: components["schemas"]["BlameEntry"][];
            next_cursor: string | null;
        };
        RunTimeDriver: {
            name: string;
            correlation: number;
            p: number;
            q: number;
        };
        BlameCalibration: {
            shuffles: number;
            q: number;
            sets_with_a_name: number;
            share: number | null;
        };
        BlameRuns: {
            run_id: (number | null)[];
            run_name: (string | null)[];
            job_id: (string | null)[];
            start: string[];
            time_s: number[];
            slow: boolean[];
        };
        BlameMethod: {
            name: string;
            strata: string;
            response: string;
            alpha: number;
            least_nodes: number;
            min_exposed: number;
            beside: string;
            calendar?: string;
            regimes_s?: number[];
        };
        Applications: {
            items: components["schemas"]["Application"][];
        };
        Application: {
            exe: string;
            nodes: number;
            runs: number;
            running: number;
            simulated: boolean;
            /** @enum {string} */
            source: "runs" | "files";
            blame: components["schemas"]["EstimateStatus"];
            deviation: components["schemas"]["EstimateStatus"];
            forecast: components["schemas"]["EstimateStatus"];
        };
        EstimateStatus: {
            estimate_id: number | null;
            created: string | null;
            checked: string | null;
            lacks: string | null;
            score: {
                [key: string]: unknown;
            } | null;
        };
        TaskList: {
            items: components["schemas"]["Task"][];
            next_cursor: string | null;
        };
        Task: {
            task_id: number;
            name: string;
            args: {
                [key: string]: unknown;
            } | null;
            state: string;
            done: number;
            total: number;
            message: string;
            cancel_requested: boolean;
            result: unknown | null;
            error: unknown | null;
            created_by: string | null;
            /** Format: date-time */
            created_at: string;
            started_at: string | null;
            finished_at: string | null;
        };
        AuditList: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor: string | null;
        };
        AuditEntry: {
            audit_id: number;
            /** Format: date-time */
            at: string;
            actor: string;
            role: string | null;
            via: string;
            action: string;
            target: string | null;
            status: number | null;
            address: string | null;
            request_id: string | null;
            details: {
                [key: string]: unknown;
            };
        };
        CreatedToken: {
            token_id: number;
            secret: string;
            /** Format: date-time */
            expires: string;
        };
        TokenList: {
            items: components["schemas"]["Token"][];
        };
        Token: {
            token_id: number;
            account: string;
            role: string;
            label: string;
            scopes: string[];
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires: string;
            revoked: string | null;
            used: string | null;
        };
        AccountList: {
            items: components["schemas"]["Account"][];
        };
        Account: {
            name: string;
            role: string;
            disabled: boolean;
            password: boolean;
            issuer: string | null;
            /** Format: date-time */
            created: string;
            seen: string | null;
            tokens: number;
        };
        Session: {
            user: string | null;
            role: string | null;
            scopes: string[];
            via: string | null;
            pseudonyms: boolean;
            csrf: string | null;
            oidc: string | null;
            vouched: boolean;
        };
        Hits: {
            items: components["schemas"]["Hit"][];
        };
        Hit: {
            kind: string;
            id: string;
            title: string;
            detail: string | null;
            href: string;
        };
        Status: {
            /** Format: date-time */
            now: string;
            topics: components["schemas"]["Topic"][];
            schemas: components["schemas"]["LdmsSchema"][];
            dead_letters: components["schemas"]["DeadLetters"];
            gaps: components["schemas"]["Gap"][];
            gap_total: number;
            silent_devices: number;
            silent: components["schemas"]["flitwatch_api__ingest__schemas__Silence"][];
            position_age_s: number | null;
            read_only: string | null;
        };
        flitwatch_api__ingest__schemas__Silence: {
            schema: string;
            /** Format: date-time */
            from: string;
            devices: number;
        };
        Gap: {
            id: number;
            fabric_id: number | null;
            device: string;
            schema: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            reason: string;
            open: boolean;
        };
        DeadLetters: {
            total: number;
            last_hour: number;
            recent: components["schemas"]["DeadLetter"][];
        };
        DeadLetter: {
            id: number;
            /** Format: date-time */
            at: string;
            topic: string;
            partition: number;
            offset: number;
            source: string;
            where: string;
            reason: string;
            raw_bytes: number;
        };
        LdmsSchema: {
            schema_id: number;
            name: string;
            digest: string;
            kind: string;
            columns: number;
            unknown: string[];
            /** Format: date-time */
            first_seen: string;
            /** Format: date-time */
            last_seen: string;
            records: number;
        };
        Topic: {
            topic: string;
            records: number;
            values_per_s: number;
            bytes_per_s: number;
            lag_records: number | null;
            lag_s: number | null;
            last_at: string | null;
            duplicates: number;
            late: number;
            dead: number;
            unplaced: number;
            unplaced_because: string | null;
        };
        Arrivals: {
            /** Format: date-time */
            now: string;
            recent_s: number;
            sources: components["schemas"]["SourceArrivals"][];
            simulated: number;
            unknown: number;
            machines: components["schemas"]["MachineReport"][];
        };
        MachineReport: {
            fabric: string;
            simulated: boolean;
            devices: number;
            reporting: number;
        };
        SourceArrivals: {
            key: string;
            title: string;
            about: string;
            commands: string[];
            needs: string[];
            scope: string | null;
            records: number;
            recent: number;
            last_at: string | null;
            refused: components["schemas"]["SourceRefusal"][];
        };
        SourceRefusal: {
            records: number;
            /** Format: date-time */
            at: string;
            where: string;
            reason: string;
        };
        RunSteps: {
            run: components["schemas"]["Run"];
            step: number[];
            time_s: number[];
            time_p50_s: (number | null)[];
            others: number;
            mean_time_s: (number | null)[] | null;
            p10_s: (number | null)[] | null;
            p90_s: (number | null)[] | null;
            counters: {
                [key: string]: (number | null)[];
            } | null;
        };
        Run: {
            run_id: number;
            run_key: string;
            job_id: string | null;
            exe: string;
            start: string | null;
            ranks: number;
            nodes: number;
            steps: number;
            time_s: number | null;
            simulated: boolean;
        };
        RunList: {
            items: components["schemas"]["Run"][];
            next_cursor: string | null;
        };
        IncidentNote: {
            note_id: number;
            /** Format: date-time */
            at: string;
            author: string;
            text: string;
        };
        IncidentDetail: {
            incident_id: number;
            fabric: string;
            simulated: boolean;
            /** @enum {string} */
            state: "open" | "over" | "withdrawn";
            /** Format: date-time */
            began: string;
            ended: string | null;
            title: string;
            causes: components["schemas"]["IncidentCause"][];
            worst: string | null;
            slowed: number;
            slow_now: number;
            lost_s: number;
            node_hours: number | null;
            node_hours_low: number | null;
            node_hours_high: number | null;
            detail: string;
            quiet: number | null;
            links: components["schemas"]["CarryingLink"][];
            victims: components["schemas"]["SlowedJob"][];
            remedies: components["schemas"]["Remedy"][];
            minutes: components["schemas"]["IncidentMinute"][];
            alerts: components["schemas"]["IncidentAlert"][];
            notes: components["schemas"]["IncidentNote"][];
        };
        IncidentAlert: {
            alert_id: number;
            rule: string;
            /** @enum {string} */
            phase: "pending" | "firing" | "resolved";
            fired_at: string | null;
            resolved_at: string | null;
            delivered: number;
        };
        IncidentMinute: {
            /** Format: date-time */
            at: string;
            waiting: number;
            part: number | null;
        };
        Remedy: {
            /** @enum {string} */
            kind: "hold" | "delay" | "tell" | "move" | "re-route";
            job_id: string;
            text: string;
            minutes_saved: number | null;
            minutes_saved_low?: number | null;
            minutes_saved_high?: number | null;
            why_unknown: string | null;
            in_past: boolean;
        };
        SlowedJob: {
            job_pk: number;
            job_id: string;
            user: string | null;
            account: string | null;
            name: string | null;
            nodes: number | null;
            state: string;
            simulated: boolean;
            /** @enum {string} */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            reasons: string[];
            factor: number;
            lost_s: number;
            /** Format: date-time */
            since: string;
            until: string | null;
            lost_low_s: number;
            lost_high_s: number;
            named: string[];
        };
        CarryingLink: {
            stall_ratio_before: number | null;
            stall_ratio_after: number | null;
            rose: boolean | null;
            link: number;
            link_class: string;
            from_router: number;
            from_name: string;
            from_group: number;
            to_router: number;
            to_name: string;
            to_group: number;
        };
        IncidentCause: {
            job_pk: number;
            job_id: string;
            user: string | null;
            account: string | null;
            name: string | null;
            nodes: number | null;
            simulated: boolean;
            start: string | null;
            end: string | null;
            part: number | null;
        };
        IncidentList: {
            items: components["schemas"]["IncidentHead"][];
            next_cursor: string | null;
            unexamined: number | null;
        };
        IncidentHead: {
            incident_id: number;
            fabric: string;
            simulated: boolean;
            /** @enum {string} */
            state: "open" | "over" | "withdrawn";
            /** Format: date-time */
            began: string;
            ended: string | null;
            title: string;
            causes: components["schemas"]["IncidentCause"][];
            worst: string | null;
            slowed: number;
            slow_now: number;
            lost_s: number;
            node_hours: number | null;
            node_hours_low: number | null;
            node_hours_high: number | null;
        };
        Incident: {
            incident_id: number | null;
            title: string;
            detail: string;
            since: string | null;
            until: string | null;
            aggressor: components["schemas"]["CandidateJob"] | null;
            links: components["schemas"]["CarryingLink"][];
            victims: components["schemas"]["SlowJob"][];
            others: components["schemas"]["SlowJob"][];
            remedies: components["schemas"]["Remedy"][];
            fabric: string;
            /** Format: date-time */
            as_of: string;
            /** @enum {string} */
            verdict: "incident" | "none" | "cannot tell";
            reasons: string[];
            judged: components["schemas"]["ExaminedJobs"];
            last: components["schemas"]["IncidentSummary"] | null;
        };
        IncidentSummary: {
            incident_id: number | null;
            title: string;
            detail: string;
            since: string | null;
            until: string | null;
            aggressor: components["schemas"]["CandidateJob"] | null;
            links: components["schemas"]["CarryingLink"][];
            victims: components["schemas"]["SlowJob"][];
            others: components["schemas"]["SlowJob"][];
            remedies: components["schemas"]["Remedy"][];
        };
        SlowJob: {
            job_pk: number;
            job_id: string;
            user: string | null;
            account: string | null;
            name: string | null;
            nodes: number | null;
            state: string;
            simulated: boolean;
            /** @enum {string} */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            reasons: string[];
            factor: number;
            lost_s: number;
            /** Format: date-time */
            since: string;
            until: string | null;
        };
        CandidateJob: {
            job_pk: number;
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
            simulated: boolean;
            /** Format: date-time */
            start: string;
            end: string | null;
            named: boolean;
            shared_routers: number;
            shared_groups: number;
            shared_links: number;
            exposure: number;
            footprint: number | null;
            /** @enum {string} */
            change: "started" | "sends more" | "none";
            changed: string | null;
            sent_before_bytes_per_s: number | null;
            sent_after_bytes_per_s: number | null;
            blame: components["schemas"]["StoredBlame"] | null;
            score: number;
            part: number | null;
            part_within?: number | null;
            parts: components["schemas"]["ScoreParts"];
            why_not: string | null;
        };
        ScoreParts: {
            timing: number;
            load: number;
            presence: number;
            blame: number;
        };
        StoredBlame: {
            estimate_id: number;
            q: number | null;
            verdict: string | null;
            found: boolean;
        };
        ExaminedJobs: {
            running: number;
            slow: number;
            not_slow: number;
            unknown: number;
        };
        JobCounters: {
            ts: string[];
            step_s: number;
            parts: components["schemas"]["JobPart"][];
        };
        JobPart: {
            key: string;
            label: string;
            unit: string;
            values: (number | null)[];
        };
        NoiseComparison: {
            /** @enum {string} */
            verdict: "higher" | "lower" | "cannot tell";
            why: string;
            guidelines: components["schemas"]["ComparedGuideline"][];
            figures: components["schemas"]["ComparedFigure"][];
            first: components["schemas"]["ComparedSet"];
            second: components["schemas"]["ComparedSet"];
            message_bytes: number;
            simulated: boolean;
        };
        ComparedSet: {
            observations: number;
            shared: number;
            dispersion: components["schemas"]["NoiseDispersion"];
            left_out: components["schemas"]["LeftOut"][];
        };
        LeftOut: {
            number: string;
            why: string;
        };
        NoiseDispersion: {
            measured: number | null;
            network: number | null;
            latency: number | null;
        };
        ComparedFigure: {
            /** @enum {string} */
            key: "latency_cycles" | "stalls_per_flit" | "flits_per_s" | "message_s";
            unit: string;
            first: number | null;
            second: number | null;
            ratio: number | null;
            low: number | null;
            high: number | null;
            /** @enum {string} */
            verdict: "higher" | "lower" | "cannot tell";
        };
        ComparedGuideline: {
            /** @enum {integer} */
            number: 1 | 2 | 3;
            holds: boolean | null;
            text: string;
        };
        JobNetworkNoise: {
            job_pk: number;
            job_id: string;
            /** @enum {string} */
            verdict: "estimated" | "cannot tell" | "not computed";
            computed_at: string | null;
            fabric_id: number | null;
            window_s: number | null;
            windows: number;
            cards: number;
            cards_counted: number;
            figures: components["schemas"]["NoiseFigure"][];
            message_dispersion: number | null;
            noise_s: number | null;
            worst_noise_s: number | null;
            of_runtime: components["schemas"]["Share"];
            of_slowdown: components["schemas"]["Share"];
            counters: string[];
            unknown: {
                [key: string]: string;
            };
            method: string;
            simulated: boolean;
        };
        Share: {
            share: number | null;
            of_s: number | null;
            cannot_tell: string | null;
        };
        NoiseFigure: {
            /** @enum {string} */
            key: "latency_us" | "waits";
            label: string;
            unit: string;
            mean: number;
            quiet: number;
            dispersion: number;
        };
        RootsOfCongestion: {
            fabric_id: number | null;
            from: string | null;
            to: string | null;
            /** @enum {string} */
            method: "ports" | "samples";
            /** @enum {string} */
            verdict: "named" | "none" | "cannot tell";
            reasons: string[];
            roots: components["schemas"]["CongestionRoot"][];
            worst_path: components["schemas"]["DiagnosedLink"][];
            rulings: components["schemas"]["Ruling"][];
            links_counted: number;
            links_stalled: number;
            links_explained: number;
            simulated: boolean;
        };
        Ruling: {
            cause: string;
            /** @enum {string} */
            ruling: "in" | "out" | "cannot tell";
            roots: number;
            text: string;
        };
        DiagnosedLink: {
            link: number;
            link_class: string;
            src: number;
            src_name: string;
            dst: number;
            dst_name: string;
            utilisation: number | null;
            stalls_per_flit: number | null;
            congested_fraction: number | null;
        };
        CongestionRoot: {
            link: number;
            link_class: string;
            src: number;
            src_name: string;
            dst: number;
            dst_name: string;
            utilisation: number | null;
            stalls_per_flit: number | null;
            congested_fraction: number | null;
            /** @enum {string} */
            cause: "full-link" | "full-endpoint" | "slow-endpoint" | "communication-pattern" | "mapping-or-bandwidth" | "static-routes" | "background-traffic";
            confidence: number | null;
            advice: string;
            victims: components["schemas"]["VictimLink"][];
            victims_total: number;
            jobs: components["schemas"]["Feeder"][];
            jobs_unknown_because: string | null;
        };
        Feeder: {
            job_pk: number;
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
            share: number | null;
        };
        VictimLink: {
            link: number;
            link_class: string;
            src: number;
            src_name: string;
            dst: number;
            dst_name: string;
            utilisation: number | null;
            stalls_per_flit: number | null;
            congested_fraction: number | null;
            behind: number;
            distance: number;
        };
        Explanation: {
            job_pk: number;
            job_id: string;
            cluster: string;
            user: string | null;
            account: string | null;
            name: string | null;
            state: string;
            nodes: number | null;
            start: string | null;
            end: string | null;
            simulated: boolean;
            /** Format: date-time */
            as_of: string;
            /** @enum {string} */
            verdict: "named" | "slows itself" | "cannot tell" | "not slow";
            reasons: string[];
            title: string;
            detail: string;
            slowdown: components["schemas"]["JobSlowdown"] | null;
            routers: components["schemas"]["OwnRouters"] | null;
            links: components["schemas"]["CarryingLink"][];
            root: components["schemas"]["CongestionRoot"] | null;
            root_from: string | null;
            root_to: string | null;
            groups: components["schemas"]["CarryingGroup"][];
            candidates: components["schemas"]["CandidateJob"][];
            candidates_total: number;
            named: string | null;
            flow: components["schemas"]["FlowWaiting"] | null;
            remedies: components["schemas"]["Remedy"][];
            incident_id: number | null;
            slowed: components["schemas"]["SlowedTotal"] | null;
            chain: components["schemas"]["ChainSentence"][];
        };
        ChainSentence: {
            /** @enum {string} */
            part: "slowed" | "steps" | "links" | "jobs" | "since" | "certainty" | "help";
            text: string;
        };
        SlowedTotal: {
            jobs: number;
            lost_s: number;
            lost_low_s: number;
            lost_high_s: number;
            incidents: number[];
        };
        FlowWaiting: {
            waiting: number | null;
            quiet: number | null;
            own_part: number | null;
            counted: number | null;
            quiet_from: string | null;
            minutes: string[];
            resolution_s: number;
            routes: ("assumed" | "tables") | null;
            to_file_system: boolean;
            unknown_because: string | null;
        };
        CarryingGroup: {
            stall_ratio_before: number | null;
            stall_ratio_after: number | null;
            rose: boolean | null;
            group: number;
            nodes: number;
        };
        OwnRouters: {
            stall_ratio_before: number | null;
            stall_ratio_after: number | null;
            rose: boolean | null;
            routers: number;
        };
        JobSlowdown: {
            /** @enum {string} */
            basis: "earlier runs" | "own steps" | "counters";
            earlier_runs: number;
            factor: number;
            lost_s: number;
            lost_low_s: number;
            lost_high_s: number;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            since_low: string;
            /** Format: date-time */
            since_high: string;
            until: string | null;
            from_start: boolean;
            /** @enum {string} */
            since_by: "counters" | "steps";
            first_step: number | null;
            last_step: number | null;
        };
        JobDetail: {
            job_pk: number;
            cluster: string;
            job_id: string;
            user: string | null;
            account: string | null;
            name: string | null;
            partition: string | null;
            state: string;
            submit: string | null;
            start: string | null;
            end: string | null;
            elapsed_s: number | null;
            nodes: number | null;
            groups: number[];
            fabric_id: number | null;
            simulated: boolean;
            restart: number;
            exit_code: string | null;
            node_list: string | null;
            routers: number[];
            endpoints: number[];
            planes: components["schemas"]["Plane"][];
            steps: components["schemas"]["JobStep"][];
            neighbours: components["schemas"]["Neighbour"][];
            runs: components["schemas"]["Run"][];
            links: components["schemas"]["Link"][];
        };
        Link: {
            name: string;
            url: string;
        };
        Neighbour: {
            job_pk: number;
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
            /** Format: date-time */
            start: string;
            shared_routers: number;
            shared_groups: number;
            overlap_s: number;
        };
        JobStep: {
            step: string;
            name: string | null;
            state: string | null;
            start: string | null;
            end: string | null;
            nodes: number | null;
            node_list: string | null;
        };
        Plane: {
            fabric_id: number;
            fabric: string;
            nodes: number;
            endpoints: number[];
            routers: number[];
            groups: number[];
        };
        JobList: {
            items: components["schemas"]["Job"][];
            next_cursor: string | null;
        };
        Job: {
            job_pk: number;
            cluster: string;
            job_id: string;
            user: string | null;
            account: string | null;
            name: string | null;
            partition: string | null;
            state: string;
            submit: string | null;
            start: string | null;
            end: string | null;
            elapsed_s: number | null;
            nodes: number | null;
            groups: number[];
            fabric_id: number | null;
            simulated: boolean;
            routers: number | null;
            runs: number;
        };
        RouterDetail: {
            router: number;
            name: string;
            group: number | null;
            row: number | null;
            col: number | null;
            level: number | null;
            nodes: string[];
            at: string | null;
            window_s: number | null;
            tiles: components["schemas"]["Tile"][];
            jobs: components["schemas"]["JobOnRouter"][];
        };
        JobOnRouter: {
            job_pk: number;
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
        };
        Tile: {
            port: number;
            name: string;
            class: string | null;
            peer: components["schemas"]["Peer"] | null;
            link: number | null;
            flits: number | null;
            stall_cycles: number | null;
            ratio: number | null;
        };
        Peer: {
            router?: number | null;
            node?: string | null;
            name?: string | null;
        };
        Occupancy: {
            at: string | null;
            nodes_held: number;
            jobs: components["schemas"]["JobOnFabric"][];
        };
        JobOnFabric: {
            job_pk: number;
            job_id: string;
            user: string | null;
            name: string | null;
            nodes: number | null;
            start: string | null;
            routers: number[];
        };
        Timeseries: {
            ts: string[];
            step_s: number;
            routers: number[];
            values: {
                [key: string]: (number | null)[][];
            };
        };
        Overview: {
            ts: string[];
            step_s: number;
            flits: (number | null)[];
            stall_cycles: (number | null)[];
            ratio: (number | null)[];
            p50: (number | null)[];
            p95: (number | null)[];
            coverage: (number | null)[];
            counted_share: number;
            cards_counted: boolean;
            gaps: components["schemas"]["Span"][];
            marks: components["schemas"]["Mark"][];
        };
        Mark: {
            /** Format: date-time */
            ts: string;
            kind: string;
            text: string;
        };
        Span: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            devices: number;
        };
        LinkFigures: {
            at: string | null;
            window_s: number | null;
            link: number[];
            src: number[];
            dst: number[];
            src_port: (number | null)[];
            dst_port: (number | null)[];
            class: string[];
            flits: (number | null)[];
            stall_cycles: (number | null)[];
            ratio: (number | null)[];
            note?: string | null;
        };
        StallFigures: {
            at: string | null;
            window_s: number | null;
            complete_through: string | null;
            routers: components["schemas"]["RouterFigures"];
            classes: {
                [key: string]: components["schemas"]["ClassFigures"];
            };
            groups: components["schemas"]["PairFigures"];
            note?: string | null;
            simulated: boolean;
            snapshot: boolean;
        };
        PairFigures: {
            src: number[];
            dst: number[];
            flits: (number | null)[];
            stall_cycles: (number | null)[];
            ratio: (number | null)[];
            note?: string | null;
            complete_through?: string | null;
        };
        ClassFigures: {
            flits: number | null;
            stall_cycles: number | null;
            ratio: number | null;
            p50: number | null;
            p95: number | null;
            max: number | null;
            per: string;
            counted: number;
        };
        RouterFigures: {
            router: number[];
            flits: (number | null)[];
            stall_cycles: (number | null)[];
            ratio: (number | null)[];
            coverage: (number | null)[];
        };
        Links: {
            link: number[];
            src: number[];
            dst: number[];
            src_port: (number | null)[];
            dst_port: (number | null)[];
            class: string[];
            bandwidth_bps: (number | null)[];
            multiplicity: number[];
            src_endpoint?: (number | null)[] | null;
            dst_endpoint?: (number | null)[] | null;
        };
        Routers: {
            router: number[];
            name: string[];
            group: (number | null)[];
            row: (number | null)[];
            col: (number | null)[];
            level: (number | null)[];
            coords: number[][] | null;
            nodes: number[];
            sampled: boolean[];
        };
        FabricList: {
            items: components["schemas"]["Fabric"][];
            next_cursor: string | null;
        };
        Fabric: {
            id: number;
            name: string;
            kind: string;
            technology: string;
            simulated: boolean;
            snapshot: boolean;
            recorded: boolean;
            counted_at: string;
            routers: number;
            endpoints: number;
            links: number;
            groups: number[];
            first_ts: string | null;
            last_ts: string | null;
            cards_last_ts: string | null;
            complete_through: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
