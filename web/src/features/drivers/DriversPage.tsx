/** What: which counters predict the deviation of step times, by application. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { deviationQuery } from "../../api/estimates";
import type { Deviation } from "../../api/estimateShapes";
import { type Column, DataTable } from "../../components/DataTable";
import { Failure, HowToRead, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { Segmented } from "../../components/choices";
import { refuseUnless } from "../../lib/address";
import { change, count, plural } from "../../lib/format";
import { day, parseTime } from "../../lib/time";
import { applicationText, Lacking, useScope } from "../estimates/applications";
import "../estimates/estimates.css";
import type { DriversSearch } from "../addresses";
import { HeatMap } from "./HeatMap";
import { ranked } from "./cells";
import { address } from "../../api/client";

export const error = (value: number | null): string => (value === null ? "–" : `${value.toFixed(1)} %`);

export function DriversPage() {
  const search = useSearch({ from: "/drivers" });
  const navigate = useNavigate({ from: "/drivers" });
  const answer = useQuery(deviationQuery(search.inputs ?? "rates"));
  const deviation = answer.data;
  const scope = useScope();
  if (deviation && !answer.isFetching) refuseUnknown(deviation, search);
  return (
    <div className="estimate-page">
      <div className="context">
        <h1>Drivers</h1>
        {deviation?.sets.some((one) => one.estimate.simulated) && <span className="tag">simulated</span>}
        <span className="subtitle">counters that predict slow steps{scope}</span>
        <span className="spacer" />
        <Segmented
          label="Inputs"
          value={search.inputs ?? "rates"}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, inputs: next === "deltas" ? next : undefined, set: undefined }),
            })
          }
          options={[
            { value: "rates", label: "Rates", title: "Counts per second of the step" },
            {
              value: "deltas",
              label: "Deltas",
              title: "Counts over the whole step, as published. They depend on its duration",
            },
          ]}
        />
        <Segmented
          label="Show"
          value={search.show ?? "relevance"}
          options={[
            { value: "relevance", label: "Relevance" },
            { value: "rank", label: "Rank" },
          ]}
          onChange={(next) =>
            void navigate({ search: (old) => ({ ...old, show: next === "rank" ? next : undefined }) })
          }
        />
      </div>
      {answer.error && !deviation ? (
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      ) : !deviation ? (
        <Waiting what="the counters" />
      ) : deviation.sets.length ? (
        <Drivers deviation={deviation} />
      ) : (
        <section className="card estimate-empty">
          <Lacking what="drivers" all={deviation.lacking} />
        </section>
      )}
    </div>
  );
}

function refuseUnknown({ sets, counters }: Deviation, { set, counter }: DriversSearch): void {
  refuseUnless(
    set === undefined || sets.some((one) => one.estimate.estimate_id === set),
    `No estimate ${set} is among the newest of the drivers.`,
    "set",
  );
  refuseUnless(
    counter === undefined || counters.some((one) => one.abbreviation === counter),
    `No counter is called "${counter}".`,
    "counter",
  );
}

interface Row {
  set: string;
  counter: string;
  vendor: string;
  meaning: string;
  relevance: number | null;
  relevanceSpread: number | null;
  rank: number | null;
  rankSpread: number | null;
}

const rowsOf = ({ sets, counters }: Deviation): Row[] =>
  sets.flatMap((one) =>
    counters.map((counter, c) => ({
      set: applicationText(one.estimate),
      counter: counter.abbreviation,
      vendor: counter.vendor,
      meaning: counter.meaning,
      relevance: one.relevance[c] ?? null,
      relevanceSpread: one.relevance_spread[c] ?? null,
      rank: one.rank[c] ?? null,
      rankSpread: one.rank_spread[c] ?? null,
    })),
  );

const two = (value: number | null) => (value === null ? "–" : value.toFixed(2));
const columns: Column<Row>[] = [
  { key: "set", header: "Application", value: (r) => r.set },
  { key: "counter", header: "Counter", value: (r) => r.counter },
  { key: "vendor", header: "Vendor's name", value: (r) => r.vendor },
  { key: "meaning", header: "Means", value: (r) => r.meaning },
  { key: "relevance", header: "relevance", numeric: true, value: (r) => r.relevance, render: (r) => two(r.relevance) },
  {
    key: "rs",
    header: "standard error of relevance",
    numeric: true,
    value: (r) => r.relevanceSpread,
    render: (r) => two(r.relevanceSpread),
  },
  { key: "rank", header: "rank", numeric: true, value: (r) => r.rank, render: (r) => two(r.rank) },
  {
    key: "ks",
    header: "standard deviation of rank",
    numeric: true,
    value: (r) => r.rankSpread,
    render: (r) => two(r.rankSpread),
  },
];

const spread = (value: number | null | undefined, by: number | null | undefined) =>
  `${two(value ?? null)} ± ${two(by ?? null)}`;

function counterColumns(deviation: Deviation, set: number): Column<number>[] {
  const one = deviation.sets[set];
  return [
    { key: "counter", header: "Counter", value: (c) => deviation.counters[c]?.abbreviation },
    {
      key: "relevance",
      header: "relevance ± standard error",
      numeric: true,
      value: (c) => one?.relevance[c],
      render: (c) => spread(one?.relevance[c], one?.relevance_spread[c]),
    },
    {
      key: "rank",
      header: "rank ± standard deviation",
      numeric: true,
      value: (c) => one?.rank[c],
      render: (c) => spread(one?.rank[c], one?.rank_spread[c]),
    },
    { key: "meaning", header: "Means", value: (c) => deviation.counters[c]?.meaning },
    { key: "what", header: "Counts", value: (c) => deviation.counters[c]?.description },
  ];
}

function Drivers({ deviation }: { deviation: Deviation }) {
  const search = useSearch({ from: "/drivers" });
  const navigate = useNavigate({ from: "/drivers" });
  const set = Math.max(
    0,
    deviation.sets.findIndex((one) => one.estimate.estimate_id === search.set),
  );
  const one = deviation.sets[set] as Deviation["sets"][number];
  const order = useMemo(() => ranked(deviation, set), [deviation, set]);
  const named = deviation.counters.findIndex((counter) => counter.abbreviation === search.counter);
  const chosen = named >= 0 ? named : (order[0] ?? 0);
  const counter = deviation.counters[chosen];
  return (
    <>
      <section className="card verdict-line" aria-label="Result">
        <h2>
          {applicationText(one.estimate)}: {one.answer[0] ?? "cannot tell what predicts slow steps"}
        </h2>
        {one.answer.slice(1).map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        <p className="muted">
          error {error(one.mape)} ± {one.mape_spread.toFixed(1)} on held-out runs, {error(one.baseline_mape)} from the
          mean curve alone ({change(one.mape / one.baseline_mape)}) · {plural(one.estimate.runs, "run")},{" "}
          {plural(one.folds, "fold")} · estimated {day(parseTime(one.estimate.created) ?? 0, true)}
        </p>
      </section>
      <div className="estimate-main">
        <div className="estimate-left">
          <PictureCard
            title="Counters by application"
            name={`drivers-${deviation.inputs}`}
            source={address("/estimates/drivers", { inputs: deviation.inputs })}
            className="heat-card"
            rows={rowsOf(deviation)}
            columns={columns}
            id={(r) => `${r.set} ${r.counter}`}
            note={
              search.show === "rank"
                ? "mean rank of elimination; the last one left has rank 1"
                : "share of folds that keep the counter"
            }
          >
            <HeatMap
              deviation={deviation}
              show={search.show ?? "relevance"}
              chosen={{ set, counter: chosen }}
              onChoose={(next) =>
                void navigate({
                  search: (old) => ({
                    ...old,
                    set: deviation.sets[next.set]?.estimate.estimate_id,
                    counter: deviation.counters[next.counter]?.abbreviation,
                  }),
                  replace: true,
                })
              }
            />
          </PictureCard>
          <section className="card counter-table" aria-label="Counters, ranked">
            <div className="card-head">
              <div className="card-title">
                <h2>{applicationText(one.estimate)}</h2>
                <span className="subtitle">its counters, most relevant first</span>
              </div>
            </div>
            <DataTable
              label="Counters, ranked"
              rows={order}
              columns={counterColumns(deviation, set)}
              id={String}
              current={String(chosen)}
              onPick={(c) =>
                void navigate({
                  search: (old) => ({ ...old, counter: deviation.counters[c]?.abbreviation }),
                  replace: true,
                })
              }
            />
          </section>
          {deviation.lacking.length > 0 && (
            <section className="card how" aria-label="Not yet estimated">
              <h2 className="block-title">Not yet estimated</h2>
              {deviation.lacking.slice(0, 8).map((lack) => (
                <p key={`${lack.exe} ${lack.nodes}`}>
                  {applicationText(lack)}: {lack.lacks ?? "a worker will compute it soon"}
                </p>
              ))}
            </section>
          )}
        </div>
        <div className="estimate-side">
          {counter && (
            <section className="card" aria-label="Selected counter">
              <div className="card-head">
                <div className="card-title">
                  <h2>{counter.abbreviation}</h2>
                  <span className="subtitle">{applicationText(one.estimate)}</span>
                </div>
              </div>
              <dl className="facts">
                <dt>Counts</dt>
                <dd>{counter.description}</dd>
                <dt>Vendor's name</dt>
                <dd>{counter.vendor || "–"}</dd>
                <dt>Means</dt>
                <dd>{counter.meaning}</dd>
                <dt>Relevance</dt>
                <dd>
                  {two(one.relevance[chosen] ?? null)} ± {two(one.relevance_spread[chosen] ?? null)}
                </dd>
                <dt>Rank</dt>
                <dd>
                  {two(one.rank[chosen] ?? null)} ± {two(one.rank_spread[chosen] ?? null)} of {count(order.length)}
                </dd>
                <dt>Error, held-out runs</dt>
                <dd>
                  {error(one.mape)}, mean curve alone {error(one.baseline_mape)}
                </dd>
                {one.row_split_mape !== null && (
                  <>
                    <dt>Error, rows mixed</dt>
                    <dd>{error(one.row_split_mape)}: rows of one run on both sides, as published; it flatters</dd>
                  </>
                )}
              </dl>
            </section>
          )}
          <HowToRead
            lines={[
              <>
                Each column is a counter or a feature of the placement. Each row is an application and size. A high
                value means that models that predict a step's deviation from its mean keep this input.
              </>,
              <>
                Relevance is the share of folds that keep it; folds are whole runs, so that no run is on both sides.
                After ± is the standard error of that share; for ranks and errors, the standard deviation over folds.
                Counters of one meaning stand in for one another, so the sentences above are of all of them together: a
                model of these alone, on runs that were held out.
              </>,
              <>
                “Deltas” contain the step's own duration and therefore look better than they are; rates are the honest
                inputs.
              </>,
            ]}
            not={deviation.caveat}
          />
        </div>
      </div>
    </>
  );
}
