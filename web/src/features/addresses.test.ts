import { createMemoryHistory, createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { describe, expect, it } from "vitest";
import { addressError, parseSearch, type Reader, stringifySearch } from "../lib/address";
import * as addresses from "./addresses";
import { fabricSearch, unfit } from "./fabric/address";

const { loginSearch } = addresses;

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

/** The readers of the addresses, each by the name of its page. */
const PAGES: Record<string, Reader<object>> = { fabric: fabricSearch };
for (const [name, reader] of Object.entries(addresses))
  if (typeof reader === "function" && "needs" in reader) PAGES[name.replace(/Search$/, "")] = reader;

/** What a page sees of an address, as the router hands it on: it lays what was understood over what was typed. */
async function seen(address: string): Promise<Record<string, unknown>> {
  const root = createRootRoute();
  const pages = Object.entries(PAGES).map(([path, validateSearch]) =>
    createRoute({
      getParentRoute: () => root,
      path,
      validateSearch: (raw: Record<string, unknown>) => validateSearch(raw),
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
  const reason = (page: string, search: string): string | undefined => {
    const raw = parseSearch(search);
    const read = PAGES[page] as Reader<object>;
    return addressError(raw, read(raw), NOW, read.needs)?.message;
  };
  /** Texts of any form: the page's data decide whether they name something. */
  const TEXTS = new Set([
    "actor",
    "beside",
    "cluster",
    "counter",
    "exe",
    "fabric",
    "job",
    "machine",
    "name",
    "packets",
    "phase",
    "q",
    "rule",
    "sort",
    "tag",
    "user",
  ]);
  it.each(Object.keys(PAGES))("whichever parameter of %s has a value that means nothing", (page) => {
    const taken = Object.keys((PAGES[page] as Reader<object>)({})).filter((key) => !reason(page, `${key}=~banana~`));
    expect(taken.filter((key) => !TEXTS.has(key))).toEqual([]);
  });
  it.each([
    ["fabric", "at=banana", /"banana" is not a time/],
    ["job", "at=2030", /"2030" is not a time/],
    ["home", "at=2026-11-29T13:00:00Z", /in the future/],
    ["fabric", "from=2026-11-29T11:00:00Z&to=2026-11-29T10:00:00Z", /ends \(to\) before it begins \(from\)/],
    ["incidents", "from=2026-11-29T11:00:00Z&to=2026-11-29T10:00:00Z", /before it begins/],
    ["fabric", "diff=on&cfrom=2026-11-29T11:00:00Z", /needs both cfrom and cto/],
    ["fabric", "span=forever", /"forever" is not a valid span/],
    ["jobs", "usr=ann", /no parameter "usr"/],
    ["home", "machine=perlis&machine=whisper", /machine has several values/],
    ["no", "at=2026-11-29T10:00:00Z", /no parameter "at"/],
    ["job", "compare=7,x", /"7,x" is not a valid compare/],
    ["lab", "replay=on&window=9999", /"9999" is not a valid window/],
    ["lab", "job=7", /job requires replay=on/],
    ["lab", "view=noise&task=7", /task cannot be combined with view=noise/],
    ["alerts", "rule=group-stalls", /rule requires view=rules/],
    ["alerts", "view=rules&alert=7", /alert cannot be combined with view=rules/],
    ["admin", "actor=ann", /actor requires view=audit/],
    ["blame", "nodes=4", /nodes requires exe/],
    ["fabric", "link=7", /link requires view=links/],
    ["fabric", "view=tiles&sort=name", /sort requires view=table or view=links/],
    ["fabric", "from=2026-11-29T10:00:00Z&at=2026-11-29T11:00:00Z", /at cannot be combined with from=2026/],
    ["fabric", "at=2026-11-29T10:00:00Z&to=2026-11-29T11:00:00Z", /to cannot be combined with at=2026/],
    [
      "fabric",
      "against=hour&cfrom=2026-11-29T10:00:00Z&cto=2026-11-29T11:00:00Z",
      /against cannot be combined with cfrom=/,
    ],
  ] as const)("%s?%s", (page, search, wanted) => expect(reason(page, search)).toMatch(wanted));
  it("and opens without the parameters that it names", () => {
    const raw = parseSearch("view=ring&from=2026-11-29T10:00:00Z&at=2026-11-29T11:00:00Z");
    const refused = addressError(raw, fabricSearch(raw), NOW, fabricSearch.needs)?.keys ?? [];
    const rest = Object.fromEntries(Object.entries(raw).filter(([key]) => !refused.includes(key)));
    expect(rest).toEqual({ view: "ring" });
    expect(addressError(rest, fabricSearch(rest), NOW, fabricSearch.needs)).toBeNull();
  });
  /** Values that mean something for one parameter or another; ends of windows in their order, with a moment between. */
  const TIMES: Record<string, string> = { from: "09", cfrom: "09", afrom: "09", at: "10" };
  const WORDS =
    "7 3-7 on /jobs x deltas rank tokens audit rules noise links application paper hour open RUNNING recommended group blue 6h table stalls pairs";
  /** A value that the page takes for a parameter, apart from what that requires. */
  function meaningful(page: string, key: string): string {
    const read = PAGES[page] as Reader<object>;
    const time = `2026-11-29T${TIMES[key] ?? "11"}:00:00Z`;
    const taken = [time, ...WORDS.split(" ")].find((value) => {
      const understood = read({ [key]: value }) as Record<string, unknown>;
      return !addressError({ [key]: value }, understood, NOW)?.message.includes("is not a");
    });
    if (taken === undefined) throw new Error(`no value for ${key} of ${page}`);
    return taken;
  }
  const subsets = (keys: string[], most: number): string[][] =>
    most === 0
      ? [[]]
      : [[], ...keys.flatMap((key, i) => subsets(keys.slice(i + 1), most - 1).map((rest) => [key, ...rest]))];
  it.each(Object.keys(PAGES))("or each parameter of %s changes what the page reads, next to any others", (page) => {
    const read = PAGES[page] as Reader<object>;
    const keys = Object.keys(read({}));
    const values = Object.fromEntries(keys.map((key) => [key, meaningful(page, key)]));
    const ignored = subsets(keys, 3).flatMap((chosen) => {
      const raw: Record<string, unknown> = Object.fromEntries(chosen.map((key) => [key, values[key]]));
      for (const key of chosen) {
        const [other = "", allowed] = (read.needs[key] ?? "").split("=");
        if (other && allowed !== "") raw[other] ??= allowed?.split("|")[0] ?? values[other];
      }
      if (addressError(raw, read(raw), NOW, read.needs)) return [];
      const seen = JSON.stringify(read(raw));
      return chosen
        .filter((key) => JSON.stringify(read({ ...raw, [key]: undefined })) === seen)
        .map((key) => `${key} of ${stringifySearch(raw)}`);
    });
    expect(ignored).toEqual([]);
  });
  it.each([
    ["fabric", "at=2026-11-29T11:00:00Z"],
    ["fabric", "from=2026-11-29T10:00:00Z&to=2026-11-29T11:00:00Z&view=ring&embed&wall=30"],
    ["incidents", "from=2026-11-29T10:00:00Z"],
    ["home", "machine=demo&at=2026-11-29T12:01:00Z"],
    ["job", "at=1795950000"],
    ["jobs", "q="],
    ["blame", "exe=amg&nodes=4"],
    ["alerts", "view=rules&rule=group-stalls&task=3"],
    ["lab", "replay=on&job=7&window=300"],
    ["fabric", "view=links&pair=3-7&sort=-ratio"],
  ] as const)("but not %s?%s", (page, search) => expect(reason(page, search)).toBeUndefined());
});

describe("what a kind of fabric does not have is refused", () => {
  const ring = { name: "m", kind: "dragonfly", snapshot: false, groups: [0, 1, 2] };
  const tree = { ...ring, kind: "fat_tree" };
  it.each([
    [ring, "slice=1", "slice requires a tree, and m is a dragonfly."],
    [ring, "view=links&pair=1-9", "m has no group 9."],
    [{ ...ring, snapshot: true }, "at=2026-11-29T10:00:00Z", "m has one sample without a time, so no windows."],
    [{ ...tree, snapshot: true }, "diff=on", "m has one sample without a time, so no windows."],
    [tree, "axis=x", "axis requires a torus, and m is a tree."],
    [tree, "class=blue", "class requires a dragonfly, and m is a tree."],
  ])("%o %s", (fabric, search, why) => expect(unfit(fabric, fabricSearch(parseSearch(search)))?.[0]).toBe(why));
  it("but not what it has", () => {
    expect(unfit(ring, fabricSearch(parseSearch("view=links&pair=1-2&class=blue")))).toBeNull();
    expect(unfit(tree, fabricSearch(parseSearch("slice=1&measure=both")))).toBeNull();
  });
});
