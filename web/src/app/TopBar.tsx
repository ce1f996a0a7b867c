/** Above every page: the machine, the pages, search, theme, help, account, and how fresh the data are. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate, useRouterState } from "@tanstack/react-router";
import type { Fabric } from "../api/shapes";
import { Icon } from "../components/Icon";
import { Menu } from "../components/Menu";
import { useStore } from "../lib/store";
import { themeStore, toggleTheme } from "../lib/theme";
import { PACE_S, wallStore } from "../lib/wall";
import { AccountMenu } from "./AccountMenu";
import { FiringBadge } from "./FiringBadge";
import { Freshness } from "./Freshness";
import { MachineMenu } from "./MachineMenu";

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
