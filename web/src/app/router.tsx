/** Stable paths and what their addresses hold. Pages load when they are first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Failure, Misaddressed, Waiting } from "../components/Notice";
import * as addresses from "../features/addresses";
import { fabricSearch } from "../features/fabric/address";
import { checked, parseSearch, refusalOf, stringifySearch } from "../lib/address";
import { Missing, Shell } from "./Shell";

const root = createRootRoute({ component: Shell, notFoundComponent: Missing });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: checked(addresses.homeSearch),
  component: lazyRouteComponent(() => import("../features/home/HomePage"), "HomePage"),
});
const fabrics = createRoute({
  getParentRoute: () => root,
  path: "/fabric",
  validateSearch: checked(addresses.noSearch),
  component: lazyRouteComponent(() => import("../features/fabric/FabricPage"), "FabricIndex"),
});
const fabric = createRoute({
  getParentRoute: () => root,
  path: "/fabric/$fabric",
  validateSearch: checked(fabricSearch),
  component: lazyRouteComponent(() => import("../features/fabric/FabricPage"), "FabricPage"),
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: checked(addresses.jobsSearch),
  component: lazyRouteComponent(() => import("../features/jobs/JobsPage"), "JobsPage"),
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$job",
  validateSearch: checked(addresses.jobSearch),
  component: lazyRouteComponent(() => import("../features/job/JobPage"), "JobPage"),
});
const incidents = createRoute({
  getParentRoute: () => root,
  path: "/incidents",
  validateSearch: checked(addresses.incidentsSearch),
  component: lazyRouteComponent(() => import("../features/incidents/IncidentsPage"), "IncidentsPage"),
});
const incident = createRoute({
  getParentRoute: () => root,
  path: "/incidents/$incident",
  validateSearch: checked(addresses.noSearch),
  component: lazyRouteComponent(() => import("../features/incidents/IncidentPage"), "IncidentPage"),
});
const blame = createRoute({
  getParentRoute: () => root,
  path: "/blame",
  validateSearch: checked(addresses.blameSearch),
  component: lazyRouteComponent(() => import("../features/blame/BlamePage"), "BlamePage"),
});
const drivers = createRoute({
  getParentRoute: () => root,
  path: "/drivers",
  validateSearch: checked(addresses.driversSearch),
  component: lazyRouteComponent(() => import("../features/drivers/DriversPage"), "DriversPage"),
});
const forecast = createRoute({
  getParentRoute: () => root,
  path: "/forecast",
  validateSearch: checked(addresses.forecastSearch),
  component: lazyRouteComponent(() => import("../features/forecast/ForecastPage"), "ForecastPage"),
});
const lab = createRoute({
  getParentRoute: () => root,
  path: "/lab",
  validateSearch: checked(addresses.labSearch),
  component: lazyRouteComponent(() => import("../features/lab/LabPage"), "LabPage"),
});
const advice = createRoute({
  getParentRoute: () => root,
  path: "/advice",
  validateSearch: checked(addresses.adviceSearch),
  component: lazyRouteComponent(() => import("../features/recommendations/RecommendationsPage"), "RecommendationsPage"),
});
const alerts = createRoute({
  getParentRoute: () => root,
  path: "/alerts",
  validateSearch: checked(addresses.alertsSearch),
  component: lazyRouteComponent(() => import("../features/alerts/AlertsPage"), "AlertsPage"),
});
const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  validateSearch: checked(addresses.noSearch),
  component: lazyRouteComponent(() => import("../features/health/HealthPage"), "HealthPage"),
});
const connect = createRoute({
  getParentRoute: () => root,
  path: "/connect",
  validateSearch: checked(addresses.noSearch),
  component: lazyRouteComponent(() => import("../features/connect/ConnectPage"), "ConnectPage"),
});
const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: checked(addresses.adminSearch),
  component: lazyRouteComponent(() => import("../features/admin/AdminPage"), "AdminPage"),
});
const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  // A login is never in the way of a wrong place to return to: the place is left out.
  validateSearch: addresses.loginSearch,
  component: lazyRouteComponent(() => import("../features/login/LoginPage"), "LoginPage"),
});
/** Addresses by earlier or other names, which lead on with all that they hold. */
const OTHER_NAMES = {
  "/index.html": "/",
  "/recommendations": "/advice",
  "/deviation": "/drivers",
  "/sources": "/connect",
} as const;
const aliases = Object.entries(OTHER_NAMES).map(([path, to]) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: ({ location }) => {
      throw redirect({ to, search: location.search as never, hash: location.hash });
    },
  }),
);

export function makeRouter() {
  return createRouter({
    routeTree: root.addChildren([
      home,
      fabrics,
      fabric,
      jobs,
      job,
      incidents,
      incident,
      blame,
      drivers,
      forecast,
      lab,
      advice,
      alerts,
      health,
      connect,
      admin,
      login,
      ...aliases,
    ]),
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPendingComponent: () => <Waiting what="the page" />,
    defaultErrorComponent: ({ error, reset }) => {
      const refusal = refusalOf(error);
      return refusal ? <Misaddressed error={refusal} /> : <Failure page error={error} retry={reset} />;
    },
    defaultPendingMs: 200,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
