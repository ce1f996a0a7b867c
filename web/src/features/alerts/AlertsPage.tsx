/** What fires, what fired, what is silenced, and the rules that say so. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { type Alert, alertsQuery, type Rule, rulesQuery, type Silence, silencesQuery } from "../../api/alerts";
import { saveCsv, TableExport } from "../../components/TableExport";
import { DataTable } from "../../components/DataTable";
import { SeverityMark } from "../../components/Icon";
import { Empty, refused, Unanswered } from "../../components/Notice";
import { PageLink } from "../../components/buttons";
import { Segmented } from "../../components/choices";
import { count, plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { ZONE } from "../../lib/time";
import "../estimates/estimates.css";
import type { AlertsView } from "../addresses";
import { alertColumns, rowsOf } from "./alertColumns";
import { AlertPanel } from "./AlertPanel";
import "./alerts.css";
import { ContactsView } from "./ContactsView";
import { RulesView } from "./RulesView";
import { SilencesView } from "./SilencesView";
import { lasted, levelOf, ownPath, silencing, valueText } from "./standing";
import { address } from "../../api/client";

const VIEWS: { value: AlertsView; label: string }[] = [
  { value: "alerts", label: "Alerts" },
  { value: "rules", label: "Rules" },
  { value: "silences", label: "Silences" },
  { value: "contacts", label: "Contacts" },
];

/** The clock of this page: times of alerts are shown to the minute. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function AlertsPage() {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const now = useNow();
  const firing = useInfiniteQuery(alertsQuery("firing"));
  const rules = useQuery(rulesQuery());
  const silences = useQuery(silencesQuery());
  const view: AlertsView = search.view ?? "alerts";
  const open = useMemo(() => firing.data?.pages.flatMap((page) => page.items) ?? null, [firing.data]);
  return (
    <div className="estimate-page alerts-page">
      <div className="context">
        <h1>Alerts</h1>
        <span className="subtitle">
          {open &&
            `${firing.hasNextPage ? "more than " : ""}${open.length ? plural(open.length, "alert") : "nothing"} firing · times are ${ZONE}`}
        </span>
        <span className="spacer" />
        <Segmented
          label="Show"
          value={view}
          options={VIEWS}
          onChange={(next) => void navigate({ search: { view: next === "alerts" ? undefined : next } })}
        />
      </div>
      {view === "contacts" ? (
        <ContactsView now={now} />
      ) : !open || !rules.data || !silences.data ? (
        <Unanswered what="the alerts" asked={[firing, rules, silences]} />
      ) : view === "rules" ? (
        <RulesView rules={rules.data.items} fetching={rules.isFetching} now={now} />
      ) : view === "silences" ? (
        <SilencesView silences={silences.data.items} now={now} />
      ) : (
        <Alerts
          firing={open}
          rules={rules.data.items.map((stored) => stored.rule)}
          silences={silences.data.items}
          now={now}
        />
      )}
    </div>
  );
}

interface Props {
  firing: Alert[];
  rules: Rule[];
  silences: Silence[];
  now: number;
}

function Alerts({ firing, rules, silences, now }: Props) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const waiting = useInfiniteQuery(alertsQuery("pending", 50));
  const pending = waiting.data?.pages.flatMap((page) => page.items) ?? [];
  const past = useInfiniteQuery(alertsQuery("resolved"));
  const over = useMemo(
    () => past.data?.pages.flatMap((page) => page.items).filter((alert) => alert.fired_at !== null) ?? [],
    [past.data],
  );
  const signals = useMemo(() => new Map(rules.map((rule) => [rule.name, rule.signal])), [rules]);
  const columns = useMemo(() => alertColumns(now, signals), [now, signals]);
  const shown = search.alert ?? firing[0]?.alert_id ?? over[0]?.alert_id;
  const bindings = useMemo(() => {
    const all = [...firing, ...over].map((alert) => alert.alert_id);
    const show = (by: number) => () => {
      const next = all[(shown === undefined ? -1 : all.indexOf(shown)) + by];
      if (next !== undefined) void navigate({ search: { alert: next }, replace: true });
    };
    return [
      { keys: "j", label: "Next alert", run: show(1) },
      { keys: "k", label: "Alert before", run: show(-1) },
      { keys: "e", label: "Export past alerts as CSV", run: () => saveCsv("alerts", over, columns) },
    ];
  }, [firing, over, shown, columns, navigate]);
  useKeys("Alerts", bindings);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = past;
  const item = (alert: Alert) => (
    <Row
      key={alert.alert_id}
      alert={alert}
      signal={signals.get(alert.rule)}
      current={alert.alert_id === shown}
      silence={silencing(
        alert,
        rules.find((rule) => rule.name === alert.rule),
        silences,
        now,
      )}
      now={now}
    />
  );
  // With the firing ones or not at all: what is pending would push the past alerts down.
  if (!waiting.data && !refused([waiting])) return <Unanswered what="the alerts" asked={[waiting]} />;
  return (
    <div className="estimate-main alerts-main">
      <div className="estimate-left">
        <section className="card alerts-firing" aria-label="Firing">
          <div className="card-head">
            <div className="card-title">
              <h2>Firing now</h2>
              <span className="subtitle">
                {count(firing.length)}
                {pending.length > 0 && ` · ${pending.length} above the threshold, not yet for long enough`}
              </span>
            </div>
          </div>
          {refused([waiting]) && <Unanswered line what="pending alerts" asked={[waiting]} />}
          {firing.length + pending.length > 0 ? (
            <ul className="alert-list">
              {firing.map(item)}
              {pending.map(item)}
            </ul>
          ) : (
            <p className="muted alerts-note">
              {rules.length
                ? `No alerts are firing. ${plural(rules.filter((rule) => rule.enabled).length, "rule watches", "rules watch")}.`
                : "No rules yet. The alert engine loads them when it starts (flitwatch alerting)."}
            </p>
          )}
        </section>
        <section className="card alerts-past" aria-label="Past alerts" style={rowsOf(over.length)}>
          <div className="card-head">
            <div className="card-title">
              <h2>Past</h2>
              <span className="subtitle">
                {count(over.length)}
                {hasNextPage ? " shown, more below" : ""} · newest first
              </span>
            </div>
            <TableExport
              name="alerts"
              source={address("/alerts", { phase: "resolved" })}
              rows={over}
              columns={columns}
            />
          </div>
          {!past.data ? (
            <Unanswered what="past alerts" asked={[past]} />
          ) : over.length ? (
            <DataTable
              label="Past alerts"
              rows={over}
              columns={columns}
              id={(a) => String(a.alert_id)}
              current={shown === undefined ? null : String(shown)}
              onPick={(a) => void navigate({ search: { alert: a.alert_id }, replace: true })}
              onReachEnd={() => {
                if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
              }}
            />
          ) : (
            <Empty title="No past alerts yet">
              To see what would have fired, test a rule on the past week under Rules.
            </Empty>
          )}
        </section>
      </div>
      <div className="estimate-side">
        {shown === undefined ? (
          <section className="card" aria-label="Alert">
            {!past.data ? (
              <Unanswered what="past alerts" asked={[past]} />
            ) : (
              <Empty title="No alert yet">Each alert is shown with the evidence at the time it fired.</Empty>
            )}
          </section>
        ) : (
          <AlertPanel key={shown} id={shown} signals={signals} now={now} />
        )}
      </div>
    </div>
  );
}

interface RowProps {
  alert: Alert;
  signal: string | undefined;
  current: boolean;
  silence: Silence | null;
  now: number;
}

function Row({ alert, signal, current, silence, now }: RowProps) {
  const navigate = useNavigate({ from: "/alerts" });
  const page = ownPath(alert.page);
  return (
    <li className="alert-item" data-current={current || undefined}>
      <SeverityMark level={levelOf(alert.severity)} />
      <button
        className="link ellipsis"
        aria-current={current || undefined}
        onClick={() => void navigate({ search: { alert: alert.alert_id }, replace: true })}
      >
        <span className="home-title ellipsis">{alert.summary}</span>
        <span className="subtitle ellipsis">
          {alert.severity} · {alert.rule} · {lasted(alert, now)} · peak {valueText(alert.peak, signal)}
        </span>
      </button>
      <span className="alert-tags">
        {silence && <span className="tag">silenced</span>}
        {alert.phase === "pending" && <span className="tag">pending</span>}
        {alert.simulated && <span className="tag">simulated</span>}
      </span>
      {page && (
        <PageLink href={page} aria-label={`Evidence: ${alert.summary}`}>
          Evidence →
        </PageLink>
      )}
    </li>
  );
}
