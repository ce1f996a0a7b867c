/** Stored incidents, newest first: filtered by the server, ordered by the address, driven by the keyboard as well. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { incidentsQuery, STATES, type IncidentHead } from "../../api/incident";
import { fabricsQuery } from "../../api/queries";
import { type Column, OrderedTable, useAddressOrder } from "../../components/DataTable";
import { DownloadButton } from "../../components/buttons";
import { SeverityMark } from "../../components/Icon";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { count, lostTime } from "../../lib/format";
import { useKeys, useTyped } from "../../lib/keys";
import { stringifySearch } from "../../lib/address";
import { intervalText, isoTime, moment, parseTime, ZONE } from "../../lib/time";
import { WindowDialog } from "../fabric/ContextMenus";
import type { incidentsSearch } from "../addresses";
import "./incidents.css";
import { hoursText, lastedSeconds } from "./words";

const DAY_MS = 86_400_000;

function columnsOf(now: number): Column<IncidentHead>[] {
  return [
    {
      key: "state",
      header: "State",
      value: (i) => i.state,
      render: (i) => (
        <span className="incident-state">
          <SeverityMark level={i.state === "open" ? "high" : "info"} />
          {i.state}
        </span>
      ),
    },
    {
      key: "title",
      header: "Incident",
      value: (i) => i.title,
      render: (i) => (
        <Link to="/incidents/$incident" params={{ incident: String(i.incident_id) }} title={i.title}>
          {i.title}
        </Link>
      ),
    },
    {
      key: "began",
      header: `Began, ${ZONE}`,
      numeric: true,
      value: (i) => i.began,
      render: (i) => moment(parseTime(i.began) ?? NaN, now, true),
    },
    {
      key: "lasted",
      header: "Lasted",
      numeric: true,
      value: (i) => lastedSeconds(i, now),
      render: (i) => `${lostTime(lastedSeconds(i, now))}${i.ended === null ? " so far" : ""}`,
    },
    {
      key: "causes",
      header: "Causes",
      value: (i) => i.causes.map((one) => one.job_id).join(" ") || null,
      render: (i) =>
        i.causes.length ? (
          <span
            className="incident-causes"
            title={i.causes.map((one) => [one.job_id, one.name, one.user].filter(Boolean).join(" ")).join("\n")}
          >
            {i.causes.map((one) => (
              <span key={one.job_pk}>
                <Link to="/jobs/$job" params={{ job: one.job_id }}>
                  {one.job_id}
                </Link>
                {one.user && <span className="muted"> {one.user}</span>}
              </span>
            ))}
          </span>
        ) : (
          "–"
        ),
    },
    { key: "slowed", header: "Jobs slowed", numeric: true, value: (i) => i.slowed, render: (i) => count(i.slowed) },
    {
      key: "hours",
      header: "Node-hours lost (95 %)",
      numeric: true,
      value: (i) => (i.state === "withdrawn" ? null : i.node_hours),
      render: (i) => (i.state === "withdrawn" ? "–" : hoursText(i)),
    },
    {
      key: "machine",
      header: "Machine",
      value: (i) => i.fabric,
      render: (i) => (
        <>
          {i.fabric} {i.simulated && <span className="tag">simulated</span>}
        </>
      ),
    },
  ];
}

export function IncidentsPage() {
  const search = useSearch({ from: "/incidents" });
  const navigate = useNavigate({ from: "/incidents" });
  const { fabric, state, job, user, from, to } = search;
  const filter = { fabric, state, job, user, from, to };
  const incidents = useInfiniteQuery(incidentsQuery(filter));
  const columns = useMemo(() => columnsOf(incidents.dataUpdatedAt), [incidents.dataUpdatedAt]);
  const all = useMemo(() => incidents.data?.pages.flatMap((page) => page.items) ?? [], [incidents.data]);
  const order = useAddressOrder(all, columns);
  const { rows, sort } = order;
  // By its number: incidents that begin meanwhile push the rows down.
  const [chosen, choose] = useState<number | null>(null);
  const at = Math.max(
    0,
    rows.findIndex((one) => one.incident_id === chosen),
  );
  const current = rows[at];
  const bindings = useMemo(
    () => [
      { keys: "j", label: "Next incident", run: () => choose((rows[at + 1] ?? current)?.incident_id ?? null) },
      { keys: "k", label: "Incident before", run: () => choose((rows[at - 1] ?? current)?.incident_id ?? null) },
      {
        keys: "Enter",
        label: "Open the incident",
        run: () =>
          current && void navigate({ to: "/incidents/$incident", params: { incident: String(current.incident_id) } }),
      },
    ],
    [rows, at, current, navigate],
  );
  useKeys("Incidents", bindings);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = incidents;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const filtered = Object.values(filter).some(Boolean);

  return (
    <div className="incidents-page">
      <div className="context">
        <h1>Incidents</h1>
        <span className="subtitle">
          {incidents.data
            ? `${count(rows.length)}${hasNextPage ? " shown, more below" : ""}${sort ? "" : " · newest first"}`
            : ""}
        </span>
        <span className="spacer" />
        <Filters search={search} />
        <DownloadButton path={`/incidents/export${stringifySearch(filter)}`} name="incidents.csv">
          Export as CSV
        </DownloadButton>
      </div>
      <section className="card incidents-card" aria-label="Incidents">
        {incidents.error && !incidents.data ? (
          <Failure error={incidents.error} retry={() => void incidents.refetch()} />
        ) : !incidents.data ? (
          <Waiting what="the incidents" />
        ) : !rows.length ? (
          <Empty title={filtered ? "No incident is stored for this window and these filters" : "No incident is stored"}>
            An incident is stored if a job is measurably slower than its earlier runs and the traffic of another job
            explains this. Jobs without steps, and times without counters, cannot be examined.
          </Empty>
        ) : (
          <OrderedTable
            label="Incidents"
            order={order}
            columns={columns}
            id={(i) => String(i.incident_id)}
            current={current ? String(current.incident_id) : null}
            onReachEnd={more}
            onPick={(i) => choose(i.incident_id)}
          />
        )}
      </section>
    </div>
  );
}

/** An end that the address leaves out is open. */
function windowText(from: number | null, to: number | null, now: number): string {
  if (from !== null && to !== null) return intervalText({ from, to }, now);
  return from !== null ? `since ${moment(from, now)}` : to !== null ? `before ${moment(to, now)}` : "any time";
}

type IncidentsSearch = ReturnType<typeof incidentsSearch>;

function Filters({ search }: { search: IncidentsSearch }) {
  const navigate = useNavigate({ from: "/incidents" });
  const machines = useQuery(fabricsQuery()).data?.items ?? [];
  const [choosing, setChoosing] = useState(false);
  const set = useCallback(
    (part: Partial<IncidentsSearch>, replace = false) =>
      void navigate({ search: (old) => ({ ...old, ...part }), replace }),
    [navigate],
  );
  const [job, setJob] = useTyped(
    search.job ?? "",
    useCallback((text) => set({ job: text || undefined }, true), [set]),
  );
  const [user, setUser] = useTyped(
    search.user ?? "",
    useCallback((text) => set({ user: text || undefined }, true), [set]),
  );
  const now = Date.now();
  const [from, to] = [parseTime(search.from), parseTime(search.to)];
  return (
    <>
      <select
        className="field"
        aria-label="Machine"
        value={search.fabric ?? ""}
        onChange={({ target }) => set({ fabric: target.value || undefined })}
      >
        <option value="">All machines</option>
        {[...new Set([...machines.map((one) => one.name), ...(search.fabric ? [search.fabric] : [])])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <Segmented
        label="State"
        value={search.state ?? "all"}
        options={(["all", ...STATES] as const).map((value) => ({
          value,
          label: value.replace(/^./, (first) => first.toUpperCase()),
        }))}
        onChange={(state) => set({ state: state === "all" ? undefined : state })}
      />
      <input
        className="field"
        type="search"
        aria-label="Job: caused or slowed"
        title="Job that caused it or was slowed"
        placeholder="Job"
        value={job}
        onChange={({ target }) => setJob(target.value)}
      />
      <input
        className="field"
        type="search"
        aria-label="User whose jobs are the cause"
        title="User whose jobs are the cause"
        placeholder="User"
        value={user}
        onChange={({ target }) => setUser(target.value)}
      />
      {(from !== null || to !== null) && (
        <span className="chip">
          <span className="ellipsis">{windowText(from, to, now)}</span>
          <button aria-label="Any time" onClick={() => set({ from: undefined, to: undefined })}>
            ×
          </button>
        </span>
      )}
      <button className="button" onClick={() => setChoosing(true)}>
        Window…
      </button>
      {choosing && (
        <WindowDialog
          title="Incidents of a period"
          initial={{ from: from ?? (to ?? now) - DAY_MS, to: to ?? now }}
          first={null}
          edge={now}
          onChoose={(window) => set({ from: isoTime(window.from), to: isoTime(window.to) })}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}
