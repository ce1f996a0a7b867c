/** Who: names ranked by how much exposure to their jobs coincides with slow runs; never called a cause. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useEffect, useMemo, type ReactNode } from "react";
import { blameQuery, type By } from "../../api/estimates";
import type { Application, Blame, BlameEntry } from "../../api/estimateShapes";
import { type Column, OrderedTable, useAddressOrder } from "../../components/DataTable";
import { Empty, Failure, HowToRead, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { refuseUnless } from "../../lib/address";
import { count, minus, plural, ratio } from "../../lib/format";
import { useKeys, useTyped } from "../../lib/keys";
import { day, parseTime } from "../../lib/time";
import { ApplicationMenu, applicationText, Lacking, useApplication, useScope } from "../estimates/applications";
import "../estimates/estimates.css";
import { byChance, chance, chanceText, effectText, signed } from "./evidence";
import { OwnRuns } from "./OwnRuns";
import { RunsBehind } from "./RunsBehind";
import { SeveralSets } from "./SeveralSets";
import { address } from "../../api/client";
import { saveCsv, TableExport } from "../../components/TableExport";

const bits = (value: number): string => minus(value.toFixed(3));
export const direction = (entry: Pick<BlameEntry, "testable" | "sign">): string =>
  !entry.testable ? "–" : entry.sign > 0 ? "slower with" : entry.sign < 0 ? "faster with" : "no difference";

/** With its place in the list, which is by chance and then by effect. */
type Entry = BlameEntry & { rank: number };

/** `site`: whether names of users are this site's, so that they have jobs here. */
function columnsOf(by: By, site: boolean): Column<Entry>[] {
  return [
    { key: "place", header: "#", numeric: true, value: (e) => e.rank, width: 44 },
    {
      key: "name",
      header: by === "user" ? "User" : "Application",
      value: (e) => e.name,
      render: (e) => (
        <>
          {by === "user" && site && !e.pseudonym ? (
            <Link to="/jobs" search={{ user: e.name }}>
              {e.name}
            </Link>
          ) : (
            e.name
          )}
          {e.own && <span className="muted"> owner of the runs</span>}
        </>
      ),
    },
    {
      key: "verdict",
      header: "Verdict",
      value: (e) => e.verdict,
      render: (e) => (
        <span className={e.verdict === "named" ? "alarm strong" : "muted"} title={e.reasons.join("; ")}>
          {e.verdict}
        </span>
      ),
    },
    {
      key: "effect",
      header: "extra s per run",
      numeric: true,
      value: (e) => e.effect_s,
      render: (e) => <span title={effectText(e)}>{e.effect_s === null ? "–" : signed(e.effect_s)}</span>,
    },
    {
      key: "lost",
      header: "node-hours lost",
      numeric: true,
      value: (e) => e.lost_node_hours,
      render: (e) => <span title={effectText(e)}>{e.lost_node_hours === null ? "–" : signed(e.lost_node_hours)}</span>,
    },
    {
      key: "q",
      header: "q-value",
      numeric: true,
      value: (e) => e.q,
      render: (e) =>
        e.testable ? (
          chance(e.q)
        ) : (
          <span className="muted" title={e.reason ?? ""}>
            cannot be tested
          </span>
        ),
    },
    {
      key: "score",
      header: "score",
      numeric: true,
      value: (e) => (e.testable ? e.score : null),
      render: (e) => (e.testable ? minus(e.score.toFixed(1)) : "–"),
    },
    {
      key: "exposed",
      header: "exposed runs",
      numeric: true,
      value: (e) => e.exposed_runs,
      render: (e) => count(e.exposed_runs),
    },
    {
      key: "bits",
      header: "MI, bits",
      numeric: true,
      value: (e) => e.mi_bits * e.mi_sign,
      render: (e) => bits(e.mi_bits * e.mi_sign),
    },
    { key: "mi_q", header: "q of MI", numeric: true, value: (e) => e.mi_q, render: (e) => chance(e.mi_q) },
  ];
}

/** In the file also what the page says otherwise: whose runs, by the sign of the extra time, and, next to its runs, why. */
const withReasons = (columns: Column<Entry>[]): Column<Entry>[] => [
  ...columns,
  { key: "own", header: "Note", value: (e) => (e.own ? "owner of the runs" : "") },
  { key: "sign", header: "Runs are", value: direction },
  { key: "reasons", header: "why", value: (e) => e.reasons.join("; ") },
];

export function BlamePage() {
  const search = useSearch({ from: "/blame" });
  const navigate = useNavigate({ from: "/blame" });
  const { list, applications, chosen } = useApplication("blame", search);
  const scope = useScope();
  if (list.error && !list.data) return <Failure page error={list.error} retry={() => void list.refetch()} />;
  // What the head says decides its height on a phone.
  if (!list.data) return <Waiting what="the estimates" />;
  const by: By = search.by ?? "user";
  const several = applications.filter((one) => one.blame.estimate_id !== null).length > 1;
  refuseUnless(
    list.isFetching || several || (search.name ?? search.found) === undefined,
    "Names are compared once two applications have an estimate.",
    "name",
    "found",
  );
  const below = (
    <>
      {several && <SeveralSets by={by} />}
      <OwnRuns />
    </>
  );
  return (
    <div className="estimate-page">
      <div className="context">
        <h1>Blame</h1>
        {chosen?.simulated && <span className="tag">simulated</span>}
        {chosen?.source === "files" && <span className="tag">from files</span>}
        <span className="subtitle">
          {chosen
            ? `users alongside slow runs of ${applicationText(chosen)} · ${plural(chosen.runs, "run")}`
            : "users alongside slow runs"}
          {scope}
        </span>
        <span className="spacer" />
        <Segmented
          label="By"
          value={by}
          options={[
            { value: "user", label: "Users" },
            { value: "application", label: "Applications" },
          ]}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, by: next === "user" ? undefined : next, who: undefined, name: undefined }),
            })
          }
        />
        <ApplicationMenu
          applications={applications}
          kind="blame"
          chosen={chosen}
          onChoose={(one) => void navigate({ search: (old) => ({ by: old.by, exe: one.exe, nodes: one.nodes }) })}
        />
      </div>
      {chosen?.blame.estimate_id != null ? (
        <Ranking key={`${chosen.exe} ${chosen.nodes} ${by}`} application={chosen} by={by}>
          {below}
        </Ranking>
      ) : (
        <>
          <section className="card estimate-empty">
            <Lacking
              what="blame"
              all={(chosen ? [chosen] : applications).map((one) => ({ ...one, lacks: one.blame.lacks }))}
            />
          </section>
          {below}
        </>
      )}
    </div>
  );
}

/** `children` stand below it, and come with it: before, they would be pushed down by it. */
function Ranking({ application, by, children }: { application: Application; by: By; children: ReactNode }) {
  const search = useSearch({ from: "/blame" });
  const navigate = useNavigate({ from: "/blame" });
  const pages = useInfiniteQuery(blameQuery({ exe: application.exe, nodes: application.nodes }, by));
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const blame = pages.data?.pages[0] ?? null;
  const ask = useCallback(
    (q: string) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true }),
    [navigate],
  );
  const [text, setText] = useTyped(search.q ?? "", ask);
  const asked = useDeferredValue(text.trim().toLowerCase());
  const all = useMemo(
    () => byChance(pages.data?.pages.flatMap((page) => page.entries) ?? []).map((one, i) => ({ ...one, rank: i + 1 })),
    [pages.data],
  );
  const columns = useMemo(() => columnsOf(by, application.source === "runs"), [by, application.source]);
  const named = useMemo(
    () => (asked ? all.filter((entry) => entry.name.toLowerCase().includes(asked)) : all),
    [all, asked],
  );
  const order = useAddressOrder(named, columns);
  const entries = order.rows;
  const who =
    entries.find((entry) => entry.place === search.who) ??
    all.find((entry) => entry.place === search.who) ??
    entries[0];
  const bindings = useMemo(() => {
    const at = who ? entries.indexOf(who) : -1;
    const show = (i: number) => {
      const next = entries[i];
      if (next) void navigate({ search: (old) => ({ ...old, who: next.place }), replace: true });
    };
    return [
      { keys: "j", label: "Next name", run: () => show(at + 1) },
      { keys: "k", label: "Name before", run: () => show(at - 1) },
      { keys: "e", label: "Export as CSV", run: () => saveCsv("blame", entries, withReasons(columns)) },
    ];
  }, [who, entries, columns, navigate]);
  useKeys("Blame", bindings);
  if (pages.error && !blame)
    return (
      <>
        <section className="card estimate-empty">
          <Failure error={pages.error} retry={() => void pages.refetch()} />
        </section>
        {children}
      </>
    );
  if (!blame) return <Waiting what="the ranking" />;
  refuseUnless(
    search.who === undefined || who?.place === search.who || pages.isFetching || pages.hasNextPage,
    `The ranking has ${plural(all.length, "name")}, and none has place ${search.who}.`,
    "who",
  );
  return (
    <>
      <section className="card verdict-line" aria-label="Result">
        <h2>{said(blame, by, all)}</h2>
        <p className="muted">{span(blame)}</p>
        {blame.calibration && <p className="muted">{calibrated(blame.calibration)}</p>}
        {blame.drivers.length > 0 && (
          <p className="muted">
            Run times also vary with{" "}
            {blame.drivers
              .slice(0, 5)
              .map((one) => `${one.name} (correlation ${ratio(one.correlation)}, q ${chance(one.q)})`)
              .join(", ")}
            .
          </p>
        )}
        {blame.notes.map((note) => (
          <p className="muted" key={note}>
            {note}
          </p>
        ))}
      </section>
      <div className="estimate-main">
        <section className="card ranking" aria-label="Ranking">
          <div className="card-head">
            <div className="card-title">
              <h2>Ranked</h2>
              <span className="subtitle">
                {count(entries.length)} of {count(blame.total)} · {count(blame.testable)} testable
              </span>
            </div>
            <input
              className="field"
              type="search"
              aria-label="Filter names"
              placeholder="Name"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <TableExport
              name="blame"
              rows={entries}
              columns={withReasons(columns)}
              source={address("/estimates/blame", { exe: application.exe, nodes: application.nodes, by, limit: 1000 })}
            />
          </div>
          {entries.length ? (
            <OrderedTable
              label="Ranking"
              order={order}
              columns={columns}
              id={(e) => String(e.place)}
              current={who ? String(who.place) : null}
              onPick={(e) => void navigate({ search: (old) => ({ ...old, who: e.place }), replace: true })}
            />
          ) : (
            <Empty title="No matching names">Use fewer letters.</Empty>
          )}
        </section>
        <div className="estimate-side">
          {who && <RunsBehind estimate={blame.estimate.estimate_id} by={by} place={who.place} />}
          <HowToRead
            lines={[
              <>
                Only “named” blames a user: runs alongside that user's jobs were slow beyond chance, and neither the
                calendar, one week nor another user explains it. A share of {blame.method.alpha} of these names may be
                false. “Cannot tell” gives the reason. “No evidence” does not rule out that a user slows runs.
              </>,
              <>
                Score compares {within(blame.method.strata)}; each name is judged given the others selected, so that one
                does not hide behind another.
              </>,
              <>
                “MI” is the published method ({blame.method.beside}), shown next to ours; where the two disagree, look
                at the runs.
              </>,
            ]}
            not={blame.caveat}
          />
        </div>
      </div>
      {children}
    </>
  );
}

/** Whether the method names anyone where nobody can be to blame. */
const calibrated = ({ shuffles, q, sets_with_a_name }: NonNullable<Blame["calibration"]>): string =>
  shuffles
    ? `With shuffled run times, ${count(sets_with_a_name)} of ${plural(shuffles, "set")} had a name at q ≤ ${q}; the limit is a tenth.`
    : "The rate of false names was not tested on these runs.";

/** Among which runs a score compares; too few of them are not divided. */
const within = (strata: string): string =>
  strata.startsWith("none")
    ? `all runs with one another (${strata.replace(/^none:? */, "") || "not divided"})`
    : `runs within ${strata}`;

function said(blame: Blame, by: By, entries: BlameEntry[]): string {
  const noun = by === "user" ? "user" : "application";
  if (by === "application" && blame.estimate.source === "files") return "The files contain only users";
  if (!blame.testable) return `No ${noun} can be tested`;
  if (!blame.found) return `No ${noun} of ${count(blame.testable)} tested is named${chanceText(entries)}`;
  return `${plural(blame.found, noun)} of ${count(blame.testable)} tested ${blame.found === 1 ? "is" : "are"} named (q ≤ ${blame.method.alpha})`;
}

function span(blame: Blame): string {
  const [first, last, made] = [blame.estimate.first, blame.estimate.last, blame.estimate.created].map(
    (text) => parseTime(text) ?? 0,
  ) as [number, number, number];
  const slow = blame.runs.slow.filter(Boolean).length;
  return `${plural(blame.estimate.runs, "run")} ${day(first, true) === day(last, true) ? `of ${day(first, true)}` : `from ${day(first, true)} to ${day(last, true)}`}, ${count(slow)} of them slower than the mean · estimated ${day(made, true)} by version ${blame.estimate.code_version}`;
}
