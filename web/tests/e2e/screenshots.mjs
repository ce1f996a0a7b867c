// Every page to docs/screenshots; with THEMES="light dark" the dark theme, too, to .cache/screenshots. `npm run screenshots` looks at FLITWATCH_URL, or at the fixture server.
// `node tests/e2e/screenshots.mjs alerts-light` writes those whose name and theme fit a regular expression.
// SCREENSHOTS=folder writes them elsewhere. SIZE="390x844 3840x2160" are sizes of the window, each to .cache/screenshots/WIDTH, with a job's page at a past moment.
// A picture is only written once the page is at rest; names come from the page and the theme, so that a change shows in review.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, platform } from "./browser.mjs";
import { atRest, follow } from "./harness.mjs";
import { firstVisit } from "./visit.mjs";

const themes = (process.env.THEMES || "light").split(" ");
const folderOf = (theme, width) => {
  if (process.env.SCREENSHOTS) return `${process.env.SCREENSHOTS}${width === undefined ? "" : `/${width}`}`;
  const place = width === undefined && theme === "light" ? "docs/screenshots" : `.cache/screenshots/${width ?? ""}`;
  return fileURLToPath(new URL(`../../../${place}`, import.meta.url));
};
const wanted = new RegExp(process.argv[2] ?? "");
const sizes = (process.env.SIZE || "1440x900").split(" ").map((size) => {
  const [width, height] = size.split("x").map(Number);
  if (!(width > 0 && height > 0))
    throw new Error(`SIZE=${size} is no size of a window: give its width and height, as in SIZE=1920x1080`);
  return { width, height };
});
const PHONE = { width: 390, height: 844 };
const WALL = { width: 3840, height: 2160 };

const { url, fixture, stop } = await platform({ groups: 34 });
const browser = await launch();
const api = async (path, body) => {
  const response = await fetch(
    `${url}/api/v1${path}`,
    body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
  );
  return response.ok ? response.json() : null;
};
const at = (fabric, search = "") => `/fabric/${encodeURIComponent(fabric.name)}${search}`;
const jobAt = (job, search = "") => `/jobs/${encodeURIComponent(job.job_id)}${search}`;

const { items: fabrics } = await api("/fabrics");
const dragonfly = fabrics.find((f) => f.kind === "dragonfly" && f.last_ts !== null);
const running = (await api("/jobs?state=RUNNING&limit=200")).items.filter(
  (j) => j.fabric_id === dragonfly?.id || j.cluster === dragonfly?.name,
);

/** Pages of a machine that is watched: [name, path]. */
async function watched() {
  const withRun =
    running.find((j) => (j.runs ?? 0) > 0) ?? (await api("/jobs?limit=200")).items.find((j) => (j.runs ?? 0) > 0);
  const job = withRun ?? running[0] ?? (await api("/jobs?limit=1")).items[0];
  const pages = [
    ["home", "/"],
    ["jobs", "/jobs"],
    ["incidents", "/incidents"],
    ["blame", "/blame"],
    ["drivers", "/drivers"],
    ["forecast", "/forecast"],
    ["lab", "/lab"],
    ["lab-noise", "/lab?view=noise"],
    ["lab-replay", "/lab?replay=on"],
    ["recommendations", "/advice"],
    ["alerts", "/alerts"],
    ["alerts-rules", "/alerts?view=rules&rule=group-stalls"],
    ["alerts-silences", "/alerts?view=silences"],
    ["alerts-contacts", "/alerts?view=contacts"],
    ["connect", "/connect"],
    ["health", "/health"],
  ];
  const overlay = running[0]
    ? `&job=${encodeURIComponent((running.find((j) => j.job_id === job?.job_id) ?? running[0]).job_id)}`
    : "";
  for (const view of ["tiles", "ring", "group", "table", "links"])
    pages.push([`fabric-${view}`, at(dragonfly, `?view=${view}${overlay}`)]);
  pages.push(["fabric-difference", at(dragonfly, `?view=tiles&diff=on${overlay}`)]);
  const tree = fabrics.find((f) => f.kind === "fat_tree" && f.snapshot) ?? fabrics.find((f) => f.kind === "fat_tree");
  if (tree)
    pages.push(
      ["tree", at(tree, "?measure=stalls")],
      ["tree-slice", at(tree, `?measure=stalls&slice=${tree.groups[1] ?? 0}`)],
    );
  const sampled =
    tree && (await api(`/fabrics/${tree.id}/samples/contexts`))?.items.findLast((one) => one.phase !== null);
  if (sampled)
    pages.push([
      "tree-packets",
      at(tree, `?measure=packets&phase=${encodeURIComponent(sampled.phase)}&slice=${tree.groups[1] ?? 0}`),
    ]);
  if (sampled) pages.push(["tree-both", at(tree, "?measure=both")]);
  const torus = fabrics.find((f) => f.kind === "torus");
  if (torus) pages.push(["torus", at(torus, "?axis=x")]);
  const incident = (await api("/incidents?state=over&limit=1")).items[0] ?? (await api("/incidents?limit=1")).items[0];
  if (incident) pages.push(["incident", `/incidents/${incident.incident_id}`]);
  if (job) pages.push(["job", jobAt(job)]);
  if (job && process.env.SIZE)
    pages.push(["job-past", jobAt(job, `?at=${new Date(Date.parse(job.start) + 600_000).toISOString()}`)]);
  const [own] = (job?.runs ?? 0) > 0 ? (await api(jobAt(job))).runs : [];
  const others = own
    ? (await api(`/runs?exe=${encodeURIComponent(own.exe)}&limit=50`)).items
        .filter((run) => run.run_id !== own.run_id && run.ranks === own.ranks)
        .slice(0, 2)
    : [];
  if (others.length) pages.push(["job-compare", jobAt(job, `?compare=${others.map((run) => run.run_id).join(",")}`)]);
  const plain = running.find((j) => !(j.runs ?? 0));
  if (plain) pages.push(["job-without-steps", jobAt(plain)]);
  if (fixture)
    pages.push(
      ["lab-what-if", await ended("sim.whatif", replayOf(job))],
      ["lab-congested", await ended("routing.loop", { pattern: "bisection-shuffle" })],
    );
  return pages;
}

const replayOf = (job) => ({
  fabric: dragonfly.name,
  job: job.job_id,
  at_s: Date.now() / 1000,
  placements: ["as-it-was", "random-router"],
  routings: ["adaptive0", "adaptive3"],
  seeds: 5,
  pattern: "stencil3d",
  bytes: 102_400,
});

/** The page of a task that has come to its end. */
async function ended(name, args) {
  const { task_id: task } = await api("/tasks", { name, args });
  while (!["succeeded", "failed"].includes((await api(`/tasks/${task}`)).state))
    await new Promise((resolve) => setTimeout(resolve, 500));
  return `/lab?task=${task}`;
}

/** Measured machines that have one sample of counters, or none: [name, path]. */
async function measured() {
  const pages = [];
  const sample = fabrics.find((f) => f.snapshot && !f.simulated && f.kind === "dragonfly");
  if (sample) {
    const { jobs = [] } = (await api(`/fabrics/${sample.id}/occupancy`)) ?? {};
    // Of a snapshot the job whose routers were counted is the one that its counters tell about.
    const { router, sampled } = await api(`/fabrics/${sample.id}/routers`);
    const counted = new Set(router.filter((_, i) => sampled[i]));
    const share = (j) => j.routers.filter((r) => counted.has(r)).length;
    const named = [...jobs].sort((a, b) => share(b) - share(a))[0];
    const overlay = named ? `&job=${encodeURIComponent(named.job_id)}` : "";
    for (const view of ["ring", "tiles", "group"])
      pages.push([`measured-${view}`, at(sample, `?view=${view}${overlay}`)]);
    for (const kind of ["black", "blue"]) pages.push([`measured-${kind}`, at(sample, `?view=tiles&class=${kind}`)]);
    if (named) pages.push(["measured-job", jobAt(named)]);
    pages.push(["measured-home", "/"], ["measured-jobs", "/jobs"]);
  }
  const tree = fabrics.find((f) => f.kind === "fat_tree" && !f.simulated);
  if (tree) pages.push(["measured-tree", at(tree)]);
  const bare = fabrics.find((f) => f.kind === "dragonfly" && !f.snapshot && f.last_ts === null);
  if (bare) pages.push(["measured-without-counters", at(bare)]);
  return pages;
}

async function shoot(page, name, theme) {
  const folder = folderOf(theme, process.env.SIZE ? page.viewportSize().width : undefined);
  mkdirSync(folder, { recursive: true });
  const path = `${folder}/${name}-${theme}.png`;
  await page.screenshot({ path });
  console.log(path);
}

async function show(page, list, theme) {
  for (const [name, path, prepare, after] of list.filter(([name]) => wanted.test(`${name}-${theme}`))) {
    await page.goto(url + path);
    await atRest(page);
    await prepare?.(page);
    await shoot(page, name, theme);
    await after?.();
  }
}

async function on(viewport, theme, act) {
  const context = await browser.newContext({ viewport, colorScheme: theme });
  // The tour has pictures of its own: those of a first visit.
  await context.addInitScript(() => localStorage.setItem("flitwatch-tour", "seen"));
  await act(follow(await context.newPage()), context);
  await context.close();
}

const beside = (page) => page.locator(".runs-compared").scrollIntoViewIfNeeded();
const keys = async (page) => {
  await page.keyboard.press("?");
  await page.waitForSelector('[role="dialog"]');
};
/** The page while the platform's stream is silent. */
const silent = async (page) => {
  await fetch(`${url}/fixture/fail`);
  await page.waitForSelector(".banner", { timeout: 45_000 });
  await atRest(page);
};
const mend = () => fetch(`${url}/fixture/mend`);

const timed = dragonfly
  ? (await watched()).map(([name, path]) => [name, path, name === "job-compare" ? beside : undefined])
  : [];
const still = fixture ? [] : await measured();
/** States that have no picture in the documentation. */
const states = process.env.SIZE
  ? [
      ["alert", "/alerts?alert=1"],
      ["recommendations-refused", "/advice?id=2"],
      ["no-incidents", "/incidents?user=nobody"],
      ["no-jobs", "/jobs?q=nothing-like-it"],
      ["address-refused", "/?at=banana"],
      ["job-unknown", "/jobs/nosuch"],
      ["incident-unknown", "/incidents/99999999"],
      ["not-found", "/no-such-page"],
      ["home-wall", "/?wall=600"],
    ]
  : [];
const turns = themes.flatMap((theme) => sizes.map((size) => [theme, size]));
for (const [theme, size] of turns) {
  await on(size, theme, async (page, context) => {
    await show(page, [...timed, ...still, ...states], theme);
    if (!dragonfly) return;
    if (wanted.test(`visit-${theme}`)) await firstVisit(page, url, (name) => shoot(page, name, theme));
    await show(
      page,
      [
        ["keys", at(dragonfly), keys],
        ["login", "/login"],
      ],
      theme,
    );
    if (!fixture) return;
    await show(page, [["fabric-stale", at(dragonfly, "?view=tiles"), silent, mend]], theme);
    await context.request.post(`${url}/api/v1/session`, { data: { name: "admin", password: "fixture-password" } });
    await show(
      page,
      [
        ["admin", "/admin"],
        ["admin-tokens", "/admin?view=tokens"],
        ["admin-audit", "/admin?view=audit"],
      ],
      theme,
    );
  });
  if (!dragonfly || process.env.SIZE) continue;
  await on(PHONE, theme, (page) =>
    show(
      page,
      [
        ["home-phone", "/"],
        ["alerts-phone", "/alerts"],
      ],
      theme,
    ),
  );
  await on(WALL, theme, (page) =>
    show(
      page,
      [
        ["fabric-wall", at(dragonfly, "?view=tiles&wall=600")],
        ["home-wall", "/?wall=600"],
      ],
      theme,
    ),
  );
}
await browser.close();
stop();
