/** The frame around every page: machine, pages, search, freshness; keyboard and help. */
import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useRouterState, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useLayoutEffect, useMemo, useState } from "react";
import { fabricsQuery } from "../api/queries";
import { Empty, Misaddressed } from "../components/Notice";
import { AddressError } from "../lib/address";
import { isEmbedded, PACE_S, wallStore } from "../lib/wall";
import { useKeys } from "../lib/keys";
import { currentMachine, machineStore, rememberMachine } from "../lib/machine";
import { useMachineOfExports } from "../lib/origin";
import { useStore } from "../lib/store";
import { offerTour, startTour, tourStore } from "../lib/tour";
import { parseTime } from "../lib/time";
import { toggleTheme } from "../lib/theme";
import { EmbedBar, NotSaved, OldData, WallBar } from "./StatusBars";
import { titleOf } from "./title";
import { TopBar } from "./TopBar";

const SearchDialog = lazy(() => import("./SearchDialog"));
const HelpDialog = lazy(() => import("./HelpDialog"));
const Tour = lazy(() => import("./Tour"));

export function Shell() {
  const navigate = useNavigate();
  const { fabric: inAddress, job, incident } = useParams({ strict: false }) as Record<string, string | undefined>;
  const path = useRouterState({ select: (state) => state.location.pathname });
  // A machine that the address names and that is not there is said, never exchanged for another.
  const {
    machine: named,
    fabric: filtered,
    at,
    to,
  } = useSearch({ strict: false }) as Record<string, string | undefined>;
  const asked = named ?? filtered;
  const machines = useQuery(fabricsQuery());
  const fabrics = machines.data?.items;
  const remembered = useStore(machineStore);
  const [open, setOpen] = useState<"search" | "help" | null>(null);
  const machine = useMemo(
    () =>
      fabrics &&
      (fabrics.find((f) => f.name === inAddress || String(f.id) === inAddress) ??
        currentMachine(fabrics, asked ?? remembered)),
    [fabrics, inAddress, asked, remembered],
  );
  useEffect(() => {
    if (machine && inAddress) rememberMachine(machine.name);
  }, [machine, inAddress]);

  useMachineOfExports(machine?.name ?? null, machine?.simulated ?? false);
  useEffect(() => {
    document.title = titleOf(path, { fabric: inAddress, job, incident }, parseTime(at ?? to));
  }, [path, inAddress, job, incident, at, to]);

  const wall = useStore(wallStore);
  useLayoutEffect(() => {
    document.documentElement.toggleAttribute("data-wall", wall !== null);
    // Pictures take their scale from the page's: what is drawn already is drawn anew.
    window.dispatchEvent(new Event("resize"));
  }, [wall]);

  const touring = useStore(tourStore) !== null;
  const demo = machine?.simulated === true && path === "/" && !isEmbedded() && wall === null;
  useEffect(() => {
    if (demo) offerTour();
  }, [demo]);
  const tour = () => {
    setOpen(null);
    void navigate({ to: "/" }).then(startTour);
  };

  const bindings = useMemo(
    () => [
      { keys: "?", label: "Show keyboard shortcuts", run: () => setOpen("help") },
      { keys: "/", label: "Search jobs, routers, users", run: () => setOpen("search") },
      { keys: "g h", label: "Home", run: () => void navigate({ to: "/" }) },
      {
        keys: "g f",
        label: "Fabric",
        run: () =>
          void (machine
            ? navigate({ to: "/fabric/$fabric", params: { fabric: machine.name } })
            : navigate({ to: "/fabric" })),
      },
      { keys: "g j", label: "Jobs", run: () => void navigate({ to: "/jobs" }) },
      { keys: "g c", label: "Incidents", run: () => void navigate({ to: "/incidents" }) },
      { keys: "g b", label: "Blame", run: () => void navigate({ to: "/blame" }) },
      { keys: "g d", label: "Drivers", run: () => void navigate({ to: "/drivers" }) },
      { keys: "g n", label: "Forecast", run: () => void navigate({ to: "/forecast" }) },
      { keys: "g l", label: "Lab", run: () => void navigate({ to: "/lab" }) },
      { keys: "g r", label: "Advice", run: () => void navigate({ to: "/advice" }) },
      { keys: "g a", label: "Alerts", run: () => void navigate({ to: "/alerts" }) },
      { keys: "g i", label: "Ingest health", run: () => void navigate({ to: "/health" }) },
      { keys: "g p", label: "People and tokens", run: () => void navigate({ to: "/admin" }) },
      { keys: "t", label: "Light or dark", run: toggleTheme },
      {
        keys: "w",
        label: "Turn the wall display on or off",
        run: () => wallStore.set(wallStore.get() === null ? PACE_S : null),
      },
    ],
    [machine, navigate],
  );
  useKeys("Everywhere", bindings);

  return (
    <div className="app">
      {isEmbedded() ? (
        <EmbedBar machine={machine ?? null} />
      ) : wall !== null ? (
        <WallBar machine={machine ?? null} pace={wall} />
      ) : (
        <TopBar machine={machine ?? null} machines={machines} onOpen={setOpen} onTour={tour} />
      )}
      <div className="app-banner">
        <OldData />
        <NotSaved />
      </div>
      <main id="main" className="page" tabIndex={-1}>
        {asked !== undefined && fabrics && !fabrics.some((f) => f.name === asked) ? (
          <Misaddressed error={new AddressError(`No machine is called "${asked}".`, ["machine", "fabric"])} />
        ) : (
          <Outlet />
        )}
      </main>
      <Suspense>
        {open === "search" && <SearchDialog fabric={machine ?? null} onClose={() => setOpen(null)} />}
        {open === "help" && <HelpDialog onClose={() => setOpen(null)} />}
        {touring && <Tour />}
      </Suspense>
    </div>
  );
}

export function Missing() {
  return (
    <Empty page title="Page not found">
      Use the top bar, or press <kbd>/</kbd> to search.
    </Empty>
  );
}
