/** The ablation table: every forecaster's error by history, horizon and inputs. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { forecastQuery } from "../../api/estimates";
import type { Application, Backtest } from "../../api/estimateShapes";
import { TableExport } from "../../components/TableExport";
import { type Column, DataTable } from "../../components/DataTable";
import { refused, Unanswered } from "../../components/Notice";
import { count } from "../../lib/format";
import { applicationText } from "../estimates/applications";
import { address } from "../../api/client";

const signed = (share: number) => `${share < 0 ? "\u2212" : "+"}${Math.abs(share * 100).toFixed(1)} %`;

export function backtestColumns(tests: Backtest[]): Column<Backtest>[] {
  const names = [...new Set(tests.flatMap((test) => Object.keys(test.mape)))];
  return [
    { key: "m", header: "m", numeric: true, value: (t) => t.m },
    { key: "k", header: "k", numeric: true, value: (t) => t.k },
    { key: "features", header: "Inputs", value: (t) => t.features.replaceAll("+", " + ") },
    ...names.map((name): Column<Backtest> => ({
      key: `e ${name}`,
      header: name,
      numeric: true,
      value: (t) => t.mape[name],
      render: (t) => {
        const value = t.mape[name];
        return value === undefined ? (
          "–"
        ) : (
          <span className={t.best === name ? "strong" : "muted"}>{value.toFixed(1)}</span>
        );
      },
    })),
    {
      key: "gain",
      header: "gain of attention, 90 %",
      numeric: true,
      value: (t) => t.gain?.mean,
      render: (t) => (t.gain ? `${signed(t.gain.low)} to ${signed(t.gain.high)}` : "–"),
    },
    {
      key: "coverage",
      header: "band coverage",
      numeric: true,
      value: (t) => t.coverage90,
      render: (t) => (t.coverage90 === null ? "–" : `${Math.round(t.coverage90 * 100)} %`),
    },
    { key: "windows", header: "windows", numeric: true, value: (t) => t.windows, render: (t) => count(t.windows) },
  ];
}

export function Backtests({ application: { exe, nodes } }: { application: Application }) {
  const answer = useQuery(forecastQuery({ exe, nodes }));
  const { data } = answer;
  const tests = useMemo(() => data?.backtests ?? [], [data]);
  const columns = useMemo(() => backtestColumns(tests), [tests]);
  if (refused([answer]))
    return (
      <section className="card backtests" aria-label="Backtests">
        <Unanswered line what="the backtests" asked={[answer]} />
      </section>
    );
  if (!tests.length) return null;
  return (
    <section className="card backtests" aria-label="Backtests" style={{ height: 92 + 28 * Math.min(7, tests.length) }}>
      <div className="card-head">
        <div className="card-title">
          <h2>Error on held-out runs, %</h2>
          <span className="subtitle">
            {applicationText({ exe, nodes })} · from the last m steps over the next k · bold: best
          </span>
        </div>
        <TableExport
          name="backtests"
          source={address("/estimates/forecast", { exe, nodes })}
          rows={tests}
          columns={columns}
        />
      </div>
      <DataTable label="Backtests" rows={tests} columns={columns} id={(t) => `${t.m} ${t.k} ${t.features}`} />
    </section>
  );
}
