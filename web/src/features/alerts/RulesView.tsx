/** Rules as data: read, changed, and tried over the past before they notify anyone. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { alertsOfRuleQuery, type Rule, saveRule, type StoredRule, testRule } from "../../api/alerts";
import { address } from "../../api/client";
import { AccessButton } from "../../components/buttons";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Unanswered } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { TableExport } from "../../components/TableExport";
import { save } from "../../lib/tables";
import { refuseUnless } from "../../lib/address";
import { count, duration } from "../../lib/format";
import { isoTime, moment, parseTime, ZONE } from "../../lib/time";
import { DryRunResult, type SpanName, SPANS } from "./DryRun";
import { alertColumns, rowsOf } from "./alertColumns";
import { ruleText, unitOf } from "./standing";

// One rule: its thresholds may be changed and tried on the past; saving is a second step.

type Field = "above" | "clear" | "for_s" | "probability";
const FIELDS: { key: Field; label: string; unit: (rule: Rule) => string; only?: string }[] = [
  { key: "above", label: "Fires at or above", unit: (rule) => unitOf(rule.signal) },
  { key: "clear", label: "Clears below", unit: (rule) => unitOf(rule.signal) },
  { key: "for_s", label: "Held for", unit: () => "s" },
  { key: "probability", label: "Probability at least", unit: () => "0 to 1", only: "slowdown" },
];

const asText = (value: number | null) => (value === null ? "" : String(value));

function RulePanel({ stored }: { stored: StoredRule }) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Rule>(stored.rule);
  const [span, setSpan] = useState<SpanName>("7d");
  const changed = JSON.stringify(draft) !== JSON.stringify(stored.rule);
  const test = useMutation({
    mutationFn: () => {
      const to = Math.floor(Date.now() / 60_000) * 60_000;
      return testRule(draft, isoTime(to - SPANS[span].ms), isoTime(to));
    },
    onSuccess: (task) =>
      void navigate({ search: { view: "rules", rule: stored.rule.name, task: task.task_id }, replace: true }),
  });
  const keep = useMutation({
    mutationFn: () => saveRule(draft),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["alerts"] }),
  });
  const set = (key: Field, text: string) =>
    setDraft((old) => {
      const value = text.trim() === "" ? null : Number(text);
      if (value === null && (key === "above" || key === "for_s")) return old;
      return value !== null && !Number.isFinite(value) ? old : { ...old, [key]: value };
    });
  return (
    <>
      <section className="card rule-panel" aria-label="Rule">
        <div className="card-head">
          <div className="card-title">
            <h2>{stored.rule.name}</h2>
            <span className="subtitle">{ruleText(draft)}</span>
          </div>
        </div>
        <p className="alerts-note">{stored.rule.summary || "No description."}</p>
        <div className="rule-fields">
          {FIELDS.filter((field) => !field.only || field.only === draft.signal).map(({ key, label, unit }) => (
            <label key={key}>
              {label}
              <input
                className="field"
                type="number"
                step="any"
                defaultValue={asText(draft[key])}
                placeholder={key === "clear" ? asText(draft.above) : undefined}
                onChange={(event) => set(key, event.target.value)}
              />
              <span className="muted">{unit(draft)}</span>
            </label>
          ))}
          <label>
            Enabled
            <input
              type="checkbox"
              checked={draft.enabled}
              onChange={(event) => setDraft({ ...draft, enabled: event.target.checked })}
            />
          </label>
        </div>
        <div className="alert-actions">
          <Segmented
            label="Over"
            value={span}
            options={(Object.keys(SPANS) as SpanName[]).map((name) => ({ value: name, label: SPANS[name].label }))}
            onChange={setSpan}
          />
          <AccessButton need="tasks" className="button primary" onClick={() => test.mutate()} disabled={test.isPending}>
            Try it
          </AccessButton>
        </div>
        <div className="alert-actions rule-keep">
          <button
            className="button"
            onClick={() => save(`${stored.rule.name}.json`, JSON.stringify(draft, null, 2), "application/json")}
          >
            JSON
          </button>
          <AccessButton
            need="operate"
            className="button"
            onClick={() => keep.mutate()}
            disabled={!changed || keep.isPending}
          >
            Save the rule
          </AccessButton>
        </div>
        {(test.error ?? keep.error) && (
          <p className="alarm alerts-note" role="alert">
            {(test.error ?? keep.error)?.message}
          </p>
        )}
      </section>
      {search.task !== undefined && <DryRunResult key={search.task} task={search.task} signal={draft.signal} />}
    </>
  );
}

const columnsAt = (now: number): Column<StoredRule>[] => [
  {
    key: "name",
    header: "Rule",
    value: (s) => s.rule.name,
    render: (s) => (
      <>
        {s.rule.name}
        {!s.rule.enabled && (
          <>
            {" "}
            <span className="tag">off</span>
          </>
        )}
      </>
    ),
  },
  { key: "signal", header: "Signal", value: (s) => s.rule.signal },
  { key: "by", header: "by", value: (s) => (/^(stall_ratio|congested_routers)$/.test(s.rule.signal) ? s.rule.by : "") },
  { key: "above", header: "fires at", numeric: true, value: (s) => s.rule.above },
  { key: "clear", header: "clears below", numeric: true, value: (s) => s.rule.clear ?? s.rule.above },
  { key: "for", header: "for", numeric: true, value: (s) => s.rule.for_s, render: (s) => duration(s.rule.for_s) },
  {
    key: "every",
    header: "every",
    numeric: true,
    value: (s) => s.rule.every_s,
    render: (s) => duration(s.rule.every_s),
  },
  { key: "severity", header: "Severity", value: (s) => s.rule.severity },
  {
    key: "source",
    header: "From",
    value: (s) => s.source,
    render: (s) => (s.source === "api" ? "this page or the API" : "file"),
  },
  {
    key: "through",
    header: `Evaluated up to, ${ZONE}`,
    numeric: true,
    value: (s) => s.through,
    render: (s) => {
      const ms = parseTime(s.through);
      return ms === null ? "not yet" : moment(ms, now, true);
    },
  },
];

/** `fetching`: whether newer rules are on their way. */
export function RulesView({ rules, fetching, now }: { rules: StoredRule[]; fetching: boolean; now: number }) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const columns = useMemo(() => columnsAt(now), [now]);
  const chosen = search.rule === undefined ? rules[0] : rules.find((stored) => stored.rule.name === search.rule);
  refuseUnless(
    search.rule === undefined || fetching || chosen !== undefined,
    `No rule is called "${search.rule}".`,
    "rule",
    "task",
  );
  return (
    <div className="estimate-main alerts-main">
      <div className="estimate-left">
        <section className="card rules-card" aria-label="Rules" style={rowsOf(rules.length)}>
          <div className="card-head">
            <div className="card-title">
              <h2>Rules</h2>
              <span className="subtitle">{count(rules.length)} · edits here override the file</span>
            </div>
            <TableExport name="alert-rules" source={address("/alerts/rules")} rows={rules} columns={columns} />
          </div>
          {rules.length ? (
            <DataTable
              label="Rules"
              rows={rules}
              columns={columns}
              id={(s) => s.rule.name}
              current={chosen?.rule.name ?? null}
              onPick={(s) => void navigate({ search: { view: "rules", rule: s.rule.name }, replace: true })}
            />
          ) : (
            <Empty title="No rules yet">
              The engine reads them when it starts: <code>flitwatch alerting</code>.
            </Empty>
          )}
        </section>
        {chosen && <OfRule rule={chosen.rule} now={now} />}
      </div>
      <div className="estimate-side">
        {chosen && <RulePanel key={`${chosen.rule.name} ${chosen.updated}`} stored={chosen} />}
      </div>
    </div>
  );
}

/** When a rule has fired so far, to judge its threshold by. */
function OfRule({ rule, now }: { rule: StoredRule["rule"]; now: number }) {
  const navigate = useNavigate({ from: "/alerts" });
  const asked = useQuery(alertsOfRuleQuery(rule.name));
  const columns = useMemo(
    () => alertColumns(now, new Map([[rule.name, rule.signal]])).filter((column) => column.key !== "rule"),
    [now, rule.name, rule.signal],
  );
  const fired = (asked.data?.items ?? []).filter((alert) => alert.fired_at !== null);
  return (
    <section className="card alerts-past" aria-label={`Alerts of ${rule.name}`} style={rowsOf(fired.length)}>
      <div className="card-head">
        <div className="card-title">
          <h2>Alerts of {rule.name}</h2>
          {asked.data && (
            <span className="subtitle">
              {count(fired.length)}
              {asked.data.next_cursor !== null && " or more"} · newest first
            </span>
          )}
        </div>
      </div>
      {!asked.data ? (
        <Unanswered what="the alerts of this rule" asked={[asked]} />
      ) : fired.length ? (
        <DataTable
          label={`Alerts of ${rule.name}`}
          rows={fired}
          columns={columns}
          id={(alert) => String(alert.alert_id)}
          onPick={(alert) => void navigate({ search: { alert: alert.alert_id } })}
        />
      ) : (
        <Empty title="This rule has not fired yet">Test it over the past week to see when it would have fired.</Empty>
      )}
    </section>
  );
}
