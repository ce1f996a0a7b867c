/** The frame around every page: machine, pages, search, freshness; keyboard and help. */
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { fabricsQuery } from "../api/queries";
import { Icon } from "../components/Icon";
import { Menu } from "../components/Menu";
import { Empty } from "../components/Notice";
import { isEmbedded } from "../lib/embed";
import { useKeys } from "../lib/keys";
import { currentMachine, machineStore, rememberMachine } from "../lib/machine";
import { useMachineOfExports } from "../lib/origin";
import { useStore } from "../lib/store";
import { offerTour, startTour, tourStore } from "../lib/tour";
import { themeStore, toggleTheme } from "../lib/theme";
import { devices } from "../machine/scene";
import { AccountMenu } from "./AccountMenu";
import { EmbedBar } from "./EmbedBar";
import { FiringBadge } from "./FiringBadge";
import { Freshness } from "./Freshness";
import { OldData } from "./OldData";
import { titleOf } from "./title";

const SearchDialog = lazy(() => import("./SearchDialog"));
const HelpDialog = lazy(() => import("./HelpDialog"));
const Tour = lazy(() => import("./Tour"));

export function Shell() {
  const navigate = useNavigate();
  const { fabric: inAddress, job } = useParams({ strict: false }) as { fabric?: string; job?: string };
  const path = useRouterState({ select: (state) => state.location.pathname });
  const machines = useQuery(fabricsQuery());
  const fabrics = machines.data?.items;
  const remembered = useStore(machineStore);
  const theme = useStore(themeStore);
  const [open, setOpen] = useState<"search" | "help" | null>(null);
  const machine = useMemo(
    () =>
      fabrics &&
      (fabrics.find((f) => f.name === inAddress || String(f.id) === inAddress) ?? currentMachine(fabrics, remembered)),
    [fabrics, inAddress, remembered],
  );
  useEffect(() => {
    if (machine && inAddress) rememberMachine(machine.name);
  }, [machine, inAddress]);

  useMachineOfExports(machine?.name ?? null, machine?.simulated ?? false);
  useEffect(() => {
    document.title = titleOf(path, { fabric: inAddress, job });
  }, [path, inAddress, job]);

  const touring = useStore(tourStore) !== null;
  const demo = machine?.simulated === true && path === "/" && !isEmbedded();
  useEffect(() => {
    if (demo) offerTour();
  }, [demo]);
  const tour = () => {
    setOpen(null);
    void navigate({ to: "/" }).then(startTour);
  };

  // Where the pages' row scrolls, the page that is open stands in sight.
  useEffect(() => {
    const show = () =>
      document.querySelector('.top nav [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
    show();
    window.addEventListener("resize", show); // a phone is turned
    return () => window.removeEventListener("resize", show);
  }, [path, machine?.name]);

  const bindings = useMemo(
    () => [
      { keys: "?", label: "Show the keys", run: () => setOpen("help") },
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
      { keys: "g b", label: "Blame", run: () => void navigate({ to: "/blame" }) },
      { keys: "g d", label: "Drivers", run: () => void navigate({ to: "/drivers" }) },
      { keys: "g n", label: "Forecast", run: () => void navigate({ to: "/forecast" }) },
      { keys: "g l", label: "Lab", run: () => void navigate({ to: "/lab" }) },
      { keys: "g r", label: "Recommendations", run: () => void navigate({ to: "/recommendations" }) },
      { keys: "g a", label: "Alerts", run: () => void navigate({ to: "/alerts" }) },
      { keys: "g i", label: "Ingest health", run: () => void navigate({ to: "/health" }) },
      { keys: "g p", label: "People and tokens", run: () => void navigate({ to: "/admin" }) },
      { keys: "t", label: "Light or dark", run: toggleTheme },
    ],
    [machine, navigate],
  );
  useKeys("Everywhere", bindings);

  return (
    <div className="app">
      {isEmbedded() ? (
        <EmbedBar machine={machine ?? null} />
      ) : (
        <header className="top">
          <a className="skip" href="#main">
            Skip to the page
          </a>
          <Link to="/" className="brand">
            <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
              <path
                d="M3 6h5M12 6h5M3 10h9M16 10h1M3 14h3M10 14h7"
                fill="none"
                stroke="currentColor"
                strokeWidth="2"
                strokeLinecap="round"
              />
            </svg>
            <span>Flitwatch</span>
          </Link>
          <Menu
            heading="Machines"
            empty={
              fabrics ? "No machine is known yet" : machines.error ? machines.error.message : "Loading the machines…"
            }
            trigger={
              <>
                <span className="visually-hidden">Machine </span>
                <span className="ellipsis">
                  {machine?.name ?? (fabrics ? "no machine" : machines.error ? "machines unknown" : "…")}
                </span>
                {machine?.simulated && <span className="tag">simulated</span>}
                <Icon name="down" />
              </>
            }
            entries={(fabrics ?? []).map((fabric) => ({
              id: String(fabric.id),
              label: fabric.name,
              detail: `${devices(fabric)}${fabric.simulated ? " · simulated" : ""}${fabric.snapshot ? " · one sample" : ""}`,
              onSelect: () => void navigate({ to: "/fabric/$fabric", params: { fabric: fabric.name } }),
            }))}
          />
          <nav aria-label="Pages">
            <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
              Home
            </Link>
            {machine ? (
              <Link to="/fabric/$fabric" params={{ fabric: machine.name }} activeOptions={{ includeSearch: false }}>
                Fabric
              </Link>
            ) : (
              <Link to="/fabric">Fabric</Link>
            )}
            <Link to="/jobs" activeOptions={{ includeSearch: false }}>
              Jobs
            </Link>
            <Link to="/blame" activeOptions={{ includeSearch: false }}>
              Blame
            </Link>
            <Link to="/drivers" activeOptions={{ includeSearch: false }}>
              Drivers
            </Link>
            <Link to="/forecast" activeOptions={{ includeSearch: false }}>
              Forecast
            </Link>
            <Link to="/lab" activeOptions={{ includeSearch: false }}>
              Lab
            </Link>
            <Link to="/recommendations" activeOptions={{ includeSearch: false }}>
              Advice
            </Link>
            <Link to="/alerts" activeOptions={{ includeSearch: false }}>
              Alerts
              <FiringBadge />
            </Link>
            <Link to="/health">Health</Link>
          </nav>
          <div className="spacer" />
          <button className="search-button" onClick={() => setOpen("search")} title="Search jobs, routers, users">
            <kbd aria-hidden="true">/</kbd>
            <span className="visually-hidden">Search </span>
            <span>Job, router, user</span>
          </button>
          <button
            className="button plain"
            onClick={toggleTheme}
            aria-label={theme === "dark" ? "Use the light theme" : "Use the dark theme"}
          >
            <Icon name={theme === "dark" ? "sun" : "moon"} />
          </button>
          <Menu
            trigger={
              <>
                <span aria-hidden="true">?</span>
                <span className="visually-hidden">Help</span>
              </>
            }
            entries={[
              { id: "connect", label: "Connect your own data", onSelect: () => void navigate({ to: "/connect" }) },
              { id: "tour", label: "Take the tour", onSelect: tour },
              { id: "keys", label: "Keys", onSelect: () => setOpen("help") },
              { id: "docs", label: "Documentation", onSelect: () => location.assign("/docs/") },
            ]}
          />
          <AccountMenu />
          <Freshness fabric={machine ?? null} />
        </header>
      )}
      <OldData />
      <main id="main" className="page" tabIndex={-1}>
        <Outlet />
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
      Pages are reached from the top bar, or press <kbd>/</kbd> to search.
    </Empty>
  );
}
