/** What to change: routes, routing modes and placements, each with why, what it is worth, and the way back to its evidence. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Recommendation, recommendationsQuery } from "../../api/recommendations";
import { type IntervalScale, ratioScale } from "../../charts/intervals";
import { saveCsv, TableExport } from "../../components/TableExport";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { IntervalBar } from "../../components/Figure";
import { Segmented } from "../../components/choices";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { moment, parseTime, ZONE } from "../../lib/time";
import "../estimates/estimates.css";
import { Detail } from "./Detail";
import { Loop } from "./Loop";
import "./recommendations.css";
import { about, gainInterval, gainText, kindText } from "./words";
import { address } from "../../api/client";

const STATES = [
  { value: "all", label: "All" },
  { value: "recommended", label: "Recommended" },
  { value: "refused", label: "Refused" },
] as const;

const columnsOf = (x: IntervalScale): Column<Recommendation>[] => [
  {
    key: "state",
    header: "State",
    value: (r) => r.state,
    render: (r) => (r.state === "recommended" ? <strong>recommended</strong> : <span className="muted">refused</span>),
  },
  { key: "title", header: "What", value: (r) => r.title, render: (r) => <span title={r.title}>{r.title}</span> },
  { key: "kind", header: "Kind", value: (r) => r.kind, render: (r) => kindText(r.kind) },
  {
    key: "gain",
    header: "time before ÷ after",
    numeric: true,
    value: (r) => r.gain?.factor,
    render: (r) => (
      <span className="gain-cell">
        {gainText(r.gain)}
        {r.gain && <IntervalBar of={gainInterval(r.gain)} x={x} />}
      </span>
    ),
  },
  {
    key: "about",
    header: "Of",
    value: about,
    render: (r) => (
      <span title={about(r)}>
        {about(r)}
        {r.simulated && (
          <>
            {" "}
            <span className="tag">simulated</span>
          </>
        )}
      </span>
    ),
  },
  {
    key: "created",
    header: `Made, ${ZONE}`,
    numeric: true,
    value: (r) => r.created,
    render: (r) => {
      const ms = parseTime(r.created);
      return ms === null ? "–" : moment(ms, Date.now());
    },
  },
];

export function RecommendationsPage() {
  const search = useSearch({ from: "/advice" });
  const navigate = useNavigate({ from: "/advice" });
  const pages = useInfiniteQuery(recommendationsQuery(search.state));
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data]);
  const columns = useMemo(
    () => columnsOf(ratioScale(rows.flatMap(({ gain }) => (gain ? gainInterval(gain) : [])))),
    [rows],
  );
  const shown = search.id ?? rows[0]?.recommendation_id;
  const bindings = useMemo(() => {
    const at = rows.findIndex((row) => row.recommendation_id === shown);
    const show = (i: number) => () => {
      const next = rows[i];
      if (next) void navigate({ search: (old) => ({ state: old.state, id: next.recommendation_id }), replace: true });
    };
    return [
      { keys: "j", label: "Next recommendation", run: show(at + 1) },
      { keys: "k", label: "Recommendation before", run: show(at - 1) },
      { keys: "e", label: "Export as CSV", run: () => saveCsv("recommendations", rows, columns) },
    ];
  }, [rows, columns, shown, navigate]);
  useKeys("Recommendations", bindings);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  return (
    <div className="estimate-page recommendations-page">
      <div className="context">
        <h1>Advice</h1>
        <span className="subtitle">routes, routing modes and placements; nothing is applied automatically</span>
        <span className="spacer" />
        <Segmented
          label="State"
          value={search.state ?? "all"}
          options={[...STATES]}
          onChange={(state) => void navigate({ search: { state: state === "all" ? undefined : state } })}
        />
        <TableExport
          name="recommendations"
          source={address("/advice", { state: search.state })}
          rows={rows}
          columns={columns}
        />
      </div>
      <div className="recommendations-main">
        <div className="recommendations-lists">
          <section className="card recommendations-list" aria-label="Recommendations">
            <div className="card-head">
              <div className="card-title">
                <h2>All advice</h2>
                <span className="subtitle">
                  {pages.data && `${count(rows.length)}${pages.hasNextPage ? " shown, more below" : ""} · `}newest first
                </span>
              </div>
            </div>
            {pages.error && !pages.data ? (
              <Failure error={pages.error} retry={() => void pages.refetch()} />
            ) : !pages.data ? (
              <Waiting what="the recommendations" />
            ) : rows.length ? (
              <DataTable
                label="Recommendations"
                rows={rows}
                columns={columns}
                id={(r) => String(r.recommendation_id)}
                current={shown === undefined ? null : String(shown)}
                onPick={(r) =>
                  void navigate({ search: (old) => ({ state: old.state, id: r.recommendation_id }), replace: true })
                }
                onReachEnd={() => {
                  if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
                }}
              />
            ) : search.state ? (
              <Empty title={`No advice is ${search.state}`} />
            ) : (
              <Empty title="No advice yet">
                Run the loop on the right, or <code>flitwatch loop run --pattern bisection-shuffle</code>.
              </Empty>
            )}
          </section>
          <Loop />
        </div>
        {shown !== undefined && <Detail key={shown} id={shown} />}
      </div>
    </div>
  );
}
