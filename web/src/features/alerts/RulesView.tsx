/** Rules as data: read, changed, and tried over the past before they notify anyone. */
import { useSearch, useNavigate } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { alertsOfRuleQuery } from "../../api/alerts";
import type { StoredRule } from "../../api/alertShapes";
import { TableExport } from "../../components/TableExport";
import { DataTable, type Column } from "../../components/DataTable";
import { Empty, Unanswered } from "../../components/Notice";
import { count, duration } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { alertColumns, rowsOf } from "./alertColumns";
import { RulePanel } from "./RulePanel";
import { address } from "../../api/client";

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

export function RulesView({ rules, now }: { rules: StoredRule[]; now: number }) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const columns = useMemo(() => columnsAt(now), [now]);
  const chosen = search.rule === undefined ? rules[0] : rules.find((stored) => stored.rule.name === search.rule);
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
        {chosen ? (
          <RulePanel key={`${chosen.rule.name} ${chosen.updated}`} stored={chosen} />
        ) : (
          search.rule !== undefined && (
            <section className="card" aria-label="Rule">
              <Empty title={`Rule ${search.rule} not found`}>
                Choose one in the table; this one was renamed or deleted, or the address is wrong.
              </Empty>
            </section>
          )
        )}
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
