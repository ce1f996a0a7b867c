/** Above every page: the machine, the pages, search, theme, help, account, and how fresh the data are. */
import { useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate, useRouterState } from "@tanstack/react-router";
import { alertsQuery } from "../api/alerts";
import { ApiError } from "../api/client";
import { sessionQuery } from "../api/people";
import type { Fabric } from "../api/shapes";
import { Icon } from "../components/Icon";
import { Menu, type MenuEntry } from "../components/choices";
import { useStore } from "../lib/store";
import { themeStore, toggleTheme } from "../lib/theme";
import { PACE_S, wallStore } from "../lib/wall";
import { devices } from "../machine/scene";
import { Freshness } from "./StatusBars";

/** How many alerts fire, or "?" with the reason where that cannot be known; nothing while none does. The same question as home's and the alerts' page. */
function FiringBadge() {
  const { data, error } = useInfiniteQuery(alertsQuery("firing"));
  const first = data?.pages[0];
  if (!first && error) {
    const reason = (error instanceof ApiError && error.problem.detail) || error.message;
    return (
      <span className="nav-badge" data-unknown title={reason}>
        ?<span className="visually-hidden"> firing alerts are not known: {reason}</span>
      </span>
    );
  }
  const firing = first?.items.length ?? 0;
  if (!firing) return null;
  const shown = `${firing}${first?.next_cursor ? "+" : ""}`;
  return (
    <span className="nav-badge">
      {shown}
      <span className="visually-hidden"> firing</span>
    </span>
  );
}

// Who looks: a way in for who has not signed in, else their name and role, their tokens (for admins: people), and the way out.

function AccountMenu() {
  const navigate = useNavigate();
  const here = useRouterState({ select: (state) => state.location.href });
  const session = useQuery(sessionQuery()).data;
  if (!session?.user)
    return (
      <Link to="/login" search={here.startsWith("/login") ? {} : { to: here }} className="button plain">
        Sign in
      </Link>
    );
  const manages = session.scopes.includes("admin");
  return (
    <Menu
      heading={`Signed in as ${session.role ?? "nobody"}`}
      empty=""
      trigger={
        <>
          <span className="visually-hidden">Account </span>
          <span className="ellipsis account-name">{session.user}</span>
          <Icon name="down" />
        </>
      }
      entries={[
        {
          id: "admin",
          label: manages ? "People, tokens, audit log" : "My tokens",
          onSelect: () => void navigate({ to: "/admin" }),
        },
        { id: "leave", label: "Sign out…", onSelect: () => void navigate({ to: "/login" }) },
      ]}
    />
  );
}

// The machine that is shown, and the platform's others.

interface MachineMenuProps {
  machine: Fabric | null;
  machines: UseQueryResult<{ items: Fabric[] }>;
}

const detailOf = (machine: Fabric): string =>
  `${devices(machine)}${machine.simulated ? " · simulated" : ""}${machine.snapshot ? " · one sample" : ""}`;

function MachineMenu({ machine, machines }: MachineMenuProps) {
  const navigate = useNavigate();
  const fabrics = machines.data?.items;
  const shown: MenuEntry[] = (fabrics ?? []).map((fabric) => ({
    id: String(fabric.id),
    label: fabric.name,
    detail: detailOf(fabric),
    onSelect: () => void navigate({ to: "/fabric/$fabric", params: { fabric: fabric.name } }),
  }));
  return (
    <Menu
      heading="Machines"
      empty={fabrics ? "No machines yet" : machines.error ? machines.error.message : "Loading the machines…"}
      trigger={
        <>
          <span className="visually-hidden">Machine </span>
          <span className="ellipsis">
            {machine?.name ?? (fabrics ? "no machine" : machines.error ? "machines unknown" : "…")}
          </span>
          {machine?.simulated && <span className="tag machine-kind">simulated</span>}
          <Icon name="down" />
        </>
      }
      entries={shown}
    />
  );
}

/** Every page; where they do not fit side by side, those that are opened less often fold into a menu. */
const PAGES: [to: string, label: string, often: boolean][] = [
  ["/", "Home", true],
  ["/fabric", "Fabric", true],
  ["/jobs", "Jobs", true],
  ["/incidents", "Incidents", true],
  ["/blame", "Blame", false],
  ["/drivers", "Drivers", false],
  ["/forecast", "Forecast", false],
  ["/lab", "Lab", false],
  ["/advice", "Advice", false],
  ["/alerts", "Alerts", true],
  ["/health", "Health", false],
];
const rest = PAGES.filter(([, , often]) => !often);

interface Props {
  machine: Fabric | null;
  machines: UseQueryResult<{ items: Fabric[] }>;
  onOpen: (dialog: "search" | "help") => void;
  onTour: () => void;
}

export function TopBar({ machine, machines, onOpen, onTour }: Props) {
  const navigate = useNavigate();
  const theme = useStore(themeStore);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const here = rest.find(([to]) => path.startsWith(to));
  return (
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
      <MachineMenu machine={machine} machines={machines} />
      <nav aria-label="Pages">
        {PAGES.map(([to, label, often]) => (
          <Link
            key={to}
            to={to === "/fabric" && machine ? `/fabric/${encodeURIComponent(machine.name)}` : to}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            data-rest={!often || undefined}
          >
            {label}
            {to === "/alerts" && <FiringBadge />}
          </Link>
        ))}
        <div className="nav-more" data-here={here ? "page" : undefined}>
          <Menu
            trigger={
              <>
                {here?.[1] ?? "More"}
                <Icon name="down" />
              </>
            }
            entries={rest.map(([to, label]) => ({ id: to, label, onSelect: () => void navigate({ to }) }))}
          />
        </div>
      </nav>
      <div className="spacer" />
      <button className="search-button" onClick={() => onOpen("search")} title="Search jobs, routers, users">
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
          { id: "tour", label: "Take the tour", onSelect: onTour },
          { id: "keys", label: "Keys", onSelect: () => onOpen("help") },
          { id: "wall", label: "Wall display", onSelect: () => wallStore.set(PACE_S) },
          { id: "docs", label: "Documentation", onSelect: () => location.assign("/docs/") },
        ]}
      />
      <AccountMenu />
      <Freshness fabric={machine} />
    </header>
  );
}
