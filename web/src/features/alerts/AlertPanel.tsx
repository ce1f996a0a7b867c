/** One alert: what was seen before it fired, where its evidence stands, who was notified, and a silence. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type AlertDetail, alertQuery } from "../../api/alerts";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { thresholdLayout } from "../../charts/intervals";
import { AccessButton, PageLink } from "../../components/buttons";
import type { Column } from "../../components/DataTable";
import { SeverityMark } from "../../components/Icon";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count, duration, plural, si } from "../../lib/format";
import { clock, moment, parseTime, ZONE } from "../../lib/time";
import { SilenceDialog } from "./SilencesView";
import { lasted, lastValue, levelOf, ownPath, unitOf, valueText } from "./standing";
import { address } from "../../api/client";

export function AlertPanel({ id, signals, now }: { id: number; signals: Map<string, string>; now: number }) {
  const answer = useQuery(alertQuery(id));
  const [silencing, setSilencing] = useState(false);
  const alert = answer.data;
  if (answer.error && !alert)
    return (
      <section className="card" aria-label="Alert">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!alert)
    return (
      <section className="card" aria-label="Alert">
        <Waiting what="the alert" />
      </section>
    );
  const page = ownPath(alert.page);
  const signal = typeof alert.evidence.signal === "string" ? alert.evidence.signal : signals.get(alert.rule);
  return (
    <>
      <section className="card alert-panel" aria-label="Alert">
        <div className="alert-verdict">
          <SeverityMark level={levelOf(alert.severity)} />
          <div>
            <h2>{alert.summary}</h2>
            <p className="muted">
              {alert.phase === "resolved" && "fired "}
              {lasted(alert, now)} · {lastValue(alert, signal, now)}, peak {valueText(alert.peak, signal)}{" "}
              {unitOf(signal)}
              {alert.probability !== null && ` · probability ${Math.round(alert.probability * 100)} %`}
            </p>
          </div>
        </div>
        <div className="alert-actions">
          {page && (
            <PageLink className="button primary" href={page}>
              Open the evidence
            </PageLink>
          )}
          <Link className="button" to="/alerts" search={{ view: "rules", rule: alert.rule }}>
            Rule {alert.rule}
          </Link>
          {alert.phase !== "resolved" && (
            <AccessButton need="operate" compact className="button" onClick={() => setSilencing(true)}>
              Silence…
            </AccessButton>
          )}
        </div>
      </section>
      <Samples alert={alert} signal={signal} />
      <Notifications alert={alert} now={now} />
      <Facts alert={alert} />
      {silencing && (
        <SilenceDialog labels={{ rule: alert.rule, ...alert.labels }} onClose={() => setSilencing(false)} />
      )}
    </>
  );
}

interface Sample {
  at: number;
  value: number;
}

function Samples({ alert, signal }: { alert: AlertDetail; signal: string | undefined }) {
  const { at_s, value, above, clear } = alert.evidence;
  const rows = useMemo(() => at_s.map((s, i): Sample => ({ at: s * 1000, value: value[i] ?? NaN })), [at_s, value]);
  const columns: Column<Sample>[] = [
    {
      key: "at",
      header: `Time, ${ZONE}`,
      value: (r) => new Date(r.at).toISOString(),
      render: (r) => clock(r.at, true),
    },
    {
      key: "value",
      header: unitOf(signal) || "value",
      numeric: true,
      value: (r) => r.value,
      render: (r) => valueText(r.value, signal),
    },
  ];
  const fired = parseTime(alert.fired_at);
  return (
    <PictureCard
      title="Before it fired"
      name={`alert-${alert.alert_id}`}
      source={address(`/alerts/${alert.alert_id}`)}
      rows={rows}
      columns={columns}
      id={(r) => String(r.at)}
      className="alert-samples"
      note={`${plural(rows.length, "sample")}${above === null ? "" : ` · fires at ${above}${clear === null || clear === above ? "" : `, clears below ${clear}`}`}`}
    >
      <Picture
        rows={rows}
        above={above}
        clear={clear}
        fired={fired}
        label={`${rows.length} samples of ${signal ?? alert.rule} before the alert fired`}
      />
    </PictureCard>
  );
}

interface PictureProps {
  rows: Sample[];
  above: number | null;
  clear: number | null;
  fired: number | null;
  label: string;
}

function Picture({ rows, above, clear, fired, label }: PictureProps) {
  const [box, size] = useSize();
  const layout =
    size && size.width > 120 && size.height > 60 && rows.length ? thresholdLayout(rows, [above, clear], size) : null;
  // Ticks within one minute differ by their seconds.
  const seconds = layout?.xTicks.some((tick) => tick % 60_000 !== 0) ?? false;
  return (
    <div ref={box} className="chart-box">
      {size && layout && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          <ValueAxis ticks={layout.yTicks} y={layout.y} left={layout.left} right={layout.right} gap={6} />
          <BaseAxis ticks={layout.xTicks} x={layout.x} y={size.height - 4} text={(tick) => clock(tick, seconds)} />
          {above !== null && (
            <line className="expected" x1={layout.left} x2={layout.right} y1={layout.y(above)} y2={layout.y(above)} />
          )}
          {clear !== null && clear !== above && (
            <line
              className="grid strong"
              x1={layout.left}
              x2={layout.right}
              y1={layout.y(clear)}
              y2={layout.y(clear)}
            />
          )}
          <path className="high" d={layout.path} />
          {fired !== null && fired >= layout.from && fired <= layout.to && (
            <line className="own fired" x1={layout.x(fired)} x2={layout.x(fired)} y1={layout.top} y2={layout.bottom} />
          )}
        </svg>
      )}
      {!rows.length && <p className="muted alerts-note">No sample was kept with this alert.</p>}
    </div>
  );
}

function Notifications({ alert, now }: { alert: AlertDetail; now: number }) {
  return (
    <section className="card" aria-label="Notifications">
      <div className="card-head">
        <h2>Notifications</h2>
      </div>
      {alert.notices.length ? (
        // A box that scrolls must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className="notice-box" tabIndex={0}>
          <table className="tight">
            <thead>
              <tr>
                <th scope="col">Receiver</th>
                <th scope="col">What</th>
                <th scope="col" className="numeric">
                  Delivered, {ZONE}
                </th>
                <th scope="col">Note</th>
              </tr>
            </thead>
            <tbody>
              {alert.notices.slice(0, 8).map((notice, i) => {
                const at = parseTime(notice.delivered),
                  tried = parseTime(notice.tried);
                const failed =
                  notice.error === null
                    ? null
                    : `${notice.error}${tried === null ? "" : `, ${moment(tried, now, true)}`}`;
                return (
                  <tr key={i}>
                    <td>{notice.receiver}</td>
                    <td>
                      {notice.status}
                      {notice.turn > 0 && `, again (${notice.turn})`}
                    </td>
                    <td className="numeric">
                      {at === null ? <span className="alarm">not yet</span> : moment(at, now, true)}
                    </td>
                    <td className="ellipsis" title={failed ?? undefined}>
                      {failed ?? (notice.attempts > 1 ? `${notice.attempts} tries` : "")}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : (
        <p className="muted alerts-note">No one was notified: no receiver matches this alert, or it is silenced.</p>
      )}
    </section>
  );
}

const KNOWN = new Set(["at_s", "value", "rule", "page", "above", "clear", "signal", "simulated", "probability"]);

function words(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number")
    return Math.abs(value) >= 1e6
      ? si(value)
      : Number.isInteger(value)
        ? count(value)
        : String(Number(value.toPrecision(4)));
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map(words).join(", ") || "none";
  // A job's explanation is read as its sentences.
  if (typeof value === "object" && "chain" in value && Array.isArray(value.chain))
    return (value.chain as { text: string }[]).map(({ text }) => text).join(" ");
  return JSON.stringify(value);
}

function Facts({ alert }: { alert: AlertDetail }) {
  const rest = Object.entries(alert.evidence).filter(([name]) => !KNOWN.has(name));
  const every =
    typeof alert.evidence.rule === "object" && alert.evidence.rule !== null && "every_s" in alert.evidence.rule
      ? Number(alert.evidence.rule.every_s)
      : null;
  return (
    <section className="card" aria-label="Facts">
      <div className="card-head">
        <div className="card-title">
          <h2>Details when it fired</h2>
          <span className="subtitle">{every === null ? "" : `evaluated every ${duration(every)}`}</span>
        </div>
      </div>
      <dl className="facts alert-facts">
        {[...Object.entries(alert.labels), ...rest].map(([name, value]) => (
          <Fact key={name} name={name} value={words(value)} />
        ))}
      </dl>
    </section>
  );
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <>
    <dt>{name.replaceAll("_", " ")}</dt>
    <dd title={value}>{value}</dd>
  </>
);
