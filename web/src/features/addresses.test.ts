import { createMemoryHistory, createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { describe, expect, it } from "vitest";
import { addressError, parseSearch, stringifySearch } from "../lib/address";
import {
  adminSearch,
  alertsSearch,
  blameSearch,
  driversSearch,
  forecastSearch,
  homeSearch,
  incidentsSearch,
  jobSearch,
  jobsSearch,
  labSearch,
  loginSearch,
  recommendationsSearch,
} from "./addresses";
import { fabricSearch } from "./fabric/address";

describe("loginSearch", () => {
  it("keeps a place of the page", () =>
    expect(loginSearch({ to: "/jobs?user=ann" })).toEqual({ to: "/jobs?user=ann" }));
  it.each([
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\tx",
    "/login",
    "",
    7,
    null,
  ])("drops %j", (to) => expect(loginSearch({ to })).toEqual({}));
});

const PAGES = {
  admin: adminSearch,
  alerts: alertsSearch,
  blame: blameSearch,
  drivers: driversSearch,
  fabric: fabricSearch,
  forecast: forecastSearch,
  home: homeSearch,
  incidents: incidentsSearch,
  job: jobSearch,
  jobs: jobsSearch,
  lab: labSearch,
  login: loginSearch,
  advice: recommendationsSearch,
};

/** What a page sees of an address, as the router hands it on: it lays what was understood over what was typed. */
async function seen(address: string): Promise<Record<string, unknown>> {
  const root = createRootRoute();
  const pages = Object.entries(PAGES).map(([path, validateSearch]) =>
    createRoute({
      getParentRoute: () => root,
      path,
      validateSearch: validateSearch as (raw: Record<string, unknown>) => object,
    }),
  );
  const router = createRouter({
    routeTree: root.addChildren(pages),
    parseSearch,
    stringifySearch,
    history: createMemoryHistory({ initialEntries: [address] }),
  });
  await router.load();
  return { ...router.state.matches.at(-1)?.search };
}

describe("what was typed into an address", () => {
  it.each([
    ["/login?to=https://evil.example/", "to"],
    ["/login?to=//evil.example", "to"],
    ["/fabric?view=banana", "view"],
    ["/fabric?span=forever", "span"],
    ["/fabric?router=-1", "router"],
    ["/fabric?from=later&to=earlier", "from"],
    ["/fabric?from=0&to=99999999999999", "to"],
    ["/alerts?alert=nope", "alert"],
    ["/lab?task=x", "task"],
    ["/advice?id=x", "id"],
    ["/job?run=x", "run"],
    ["/blame?nodes=x", "nodes"],
    ["/forecast?run=x", "run"],
    ["/drivers?set=x", "set"],
    ["/admin?view=x", "view"],
    ["/jobs?state=banana", "state"],
    ["/incidents?state=closed", "state"],
    ["/incidents?from=yesterday", "from"],
  ])("%s does not reach the page", async (address, key) => expect((await seen(address))[key]).toBeUndefined());
  it.each([
    ["/fabric?view=ring&router=7", { view: "ring", router: 7 }],
    ["/login?to=/jobs", { to: "/jobs" }],
    ["/jobs?state=NODE_FAIL", { state: "NODE_FAIL" }],
    ["/job?cluster=perlmutter&run=3", { cluster: "perlmutter", run: 3 }],
    [
      "/incidents?state=withdrawn&job=12&user=u1&fabric=perlis&from=2023-11-14T22:13:20Z",
      { state: "withdrawn", job: "12", user: "u1", fabric: "perlis", from: "2023-11-14T22:13:20Z" },
    ],
    ["/jobs?q=amg&sort=-nodes", { q: "amg", sort: "-nodes" }],
  ])("%s reaches it", async (address, all) => expect(await seen(address)).toMatchObject(all));
});

describe("an address that cannot be shown is refused, with the reason", () => {
  const NOW = Date.parse("2026-11-29T12:00:00Z");
  const reason = (page: keyof typeof PAGES, search: string): string | undefined => {
    const raw = parseSearch(search);
    return addressError(raw, PAGES[page](raw), NOW)?.message;
  };
  it.each([
    ["fabric", "at=banana", /"banana" is not a time/],
    ["job", "at=2030", /"2030" is not a time/],
    ["home", "at=2026-11-29T13:00:00Z", /in the future/],
    ["fabric", "from=2026-11-29T11:00:00Z&to=2026-11-29T10:00:00Z", /ends \(to\) before it begins \(from\)/],
    ["incidents", "from=2026-11-29T11:00:00Z&to=2026-11-29T10:00:00Z", /before it begins/],
    ["fabric", "diff=on&cfrom=2026-11-29T11:00:00Z", /needs both cfrom and cto/],
    ["fabric", "span=forever", /"forever" is not a valid span/],
    ["jobs", "usr=ann", /no parameter "usr"/],
  ] as const)("%s?%s", (page, search, wanted) => expect(reason(page, search)).toMatch(wanted));
  it.each([
    ["fabric", "at=2026-11-29T11:00:00Z"],
    ["fabric", "from=2026-11-29T10:00:00Z&to=2026-11-29T11:00:00Z&view=ring&embed&wall=30"],
    ["incidents", "from=2026-11-29T10:00:00Z"],
    ["home", "machine=demo&at=2026-11-29T12:01:00Z"],
    ["job", "at=1795950000"],
    ["jobs", "q="],
  ] as const)("but not %s?%s", (page, search) => expect(reason(page, search)).toBeUndefined());
});
