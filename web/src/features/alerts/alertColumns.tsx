/** The table of alerts: past ones, and those of a rule. */
import type { CSSProperties } from "react";
import type { Alert } from "../../api/alerts";
import type { Column } from "../../components/DataTable";
import { SeverityMark } from "../../components/Icon";
import { duration } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { levelOf, valueText } from "./standing";

/** A card of a table is as high as its rows, as far as there is room; a text in its place needs as much as four. */
export const rowsOf = (count: number) => ({ "--rows": Math.max(4, count) }) as CSSProperties;

export function alertColumns(now: number, signals: Map<string, string>): Column<Alert>[] {
  const at = (text: string | null) => {
    const ms = parseTime(text);
    return ms === null ? "–" : moment(ms, now);
  };
  const length = (a: Alert) => {
    const [from, to] = [parseTime(a.fired_at), parseTime(a.resolved_at)];
    return from === null || to === null ? null : (to - from) / 1000;
  };
  return [
    {
      key: "severity",
      header: "Level",
      value: (a) => a.severity,
      render: (a) => (
        <>
          <SeverityMark level={levelOf(a.severity)} />
          <span className="visually-hidden">{a.severity}</span>
        </>
      ),
      width: 44,
    },
    {
      key: "summary",
      header: "What",
      value: (a) => a.summary,
      render: (a) => <span title={a.summary}>{a.summary}</span>,
    },
    { key: "rule", header: "Rule", value: (a) => a.rule },
    { key: "fired", header: `Fired, ${ZONE}`, numeric: true, value: (a) => a.fired_at, render: (a) => at(a.fired_at) },
    {
      key: "lasted",
      header: "lasted",
      numeric: true,
      value: length,
      render: (a) => (a.phase === "firing" ? "still fires" : duration(length(a))),
    },
    {
      key: "peak",
      header: "peak",
      numeric: true,
      value: (a) => a.peak,
      render: (a) => valueText(a.peak, signals.get(a.rule)),
    },
    {
      key: "simulated",
      header: "Data",
      value: (a) => (a.simulated ? "simulated" : ""),
      render: (a) => (a.simulated ? <span className="tag">simulated</span> : ""),
    },
  ];
}
