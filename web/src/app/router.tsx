/** Stable paths and what their addresses hold. Pages load when they are first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Failure, Waiting } from "../components/Notice";
import { fabricSearch } from "../features/fabric/address";
import { jobSearch } from "../features/job/address";
import { jobsSearch } from "../features/jobs/address";
import { parseSearch, stringifySearch } from "../lib/search";
import { Missing, Shell } from "./Shell";

const root = createRootRoute({ component: Shell, notFoundComponent: Missing });

const home = createRoute({
  getParentRoute: () => root, path: "/",
  component: lazyRouteComponent(() => import("../features/home/HomePage"), "HomePage"),
});
const fabrics = createRoute({
  getParentRoute: () => root, path: "/fabric",
  component: lazyRouteComponent(() => import("../features/fabric/FabricIndex"), "FabricIndex"),
});
const fabric = createRoute({
  getParentRoute: () => root, path: "/fabric/$fabric", validateSearch: fabricSearch,
  component: lazyRouteComponent(() => import("../features/fabric/FabricPage"), "FabricPage"),
});
const jobs = createRoute({
  getParentRoute: () => root, path: "/jobs", validateSearch: jobsSearch,
  component: lazyRouteComponent(() => import("../features/jobs/JobsPage"), "JobsPage"),
});
const job = createRoute({
  getParentRoute: () => root, path: "/jobs/$job", validateSearch: jobSearch,
  component: lazyRouteComponent(() => import("../features/job/JobPage"), "JobPage"),
});
const health = createRoute({
  getParentRoute: () => root, path: "/health",
  component: lazyRouteComponent(() => import("../features/health/HealthPage"), "HealthPage"),
});
const index = createRoute({
  getParentRoute: () => root, path: "/index.html",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});

export function makeRouter() {
  return createRouter({
    routeTree: root.addChildren([home, fabrics, fabric, jobs, job, health, index]),
    parseSearch, stringifySearch,
    defaultPreload: "intent",
    defaultPendingComponent: () => <Waiting what="the page" />,
    defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
    defaultPendingMs: 200,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
