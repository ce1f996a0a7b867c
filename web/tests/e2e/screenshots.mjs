// Every page in both themes, 1440 x 900, to docs/screenshots. `npm run screenshots` looks at FLITWATCH_URL, or at the fixture server.
// `node tests/e2e/screenshots.mjs alerts-dark` writes those whose name and theme fit a regular expression.
// A picture is only written once the page is at rest; names come from the page and the theme, so that a change shows in review.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, platform } from "./browser.mjs";
import { firstVisit } from "./visit.mjs";

const folder = process.env.SCREENSHOTS ?? fileURLToPath(new URL("../../../docs/screenshots", import.meta.url));
mkdirSync(folder, { recursive: true });
const { url, fixture, stop } = await platform({ groups: 34 });
const browser = await launch();
const api = async (path) => {
  const response = await fetch(`${url}/api/v1${path}`);
  return response.ok ? response.json() : null;
};

const { items: fabrics } = await api("/fabrics");
const dragonfly = fabrics.find((f) => f.kind === "dragonfly" && f.last_ts !== null) ?? fabrics.find((f) => f.kind === "dragonfly");
const sample = fabrics.find((f) => f.timeless && f.kind === "dragonfly");
const torus = fabrics.find((f) => f.kind === "torus");
const trees = fabrics.filter((f) => f.kind === "fat_tree");
const tree = trees.find((f) => f.timeless) ?? trees[0];
const running = (await api("/jobs?state=RUNNING&limit=200")).items.filter((j) => j.fabric_id === dragonfly?.id || j.cluster === dragonfly?.name);
const withRun = running.find((j) => (j.runs ?? 0) > 0) ?? (await api("/jobs?limit=200")).items.find((j) => (j.runs ?? 0) > 0);
const job = withRun ?? running[0] ?? (await api("/jobs?limit=1")).items[0];

const pages = [["home", "/"], ["jobs", "/jobs"], ["blame", "/blame"], ["drivers", "/drivers"], ["forecast", "/forecast"], ["lab", "/lab"], ["lab-noise", "/lab?view=noise"], ["lab-replay", "/lab?replay=on"], ["recommendations", "/recommendations"], ["alerts", "/alerts"], ["alerts-rules", "/alerts?view=rules&rule=group-stalls"], ["health", "/health"]];
const at = (fabric, search = "") => `/fabric/${encodeURIComponent(fabric.name)}${search}`;
if (dragonfly) {
  const overlay = running[0] ? `&job=${encodeURIComponent((running.find((j) => j.job_id === job?.job_id) ?? running[0]).job_id)}` : "";
  for (const view of ["tiles", "ring", "group", "table"]) pages.push([`fabric-${view}`, at(dragonfly, `?view=${view}${overlay}`)]);
  pages.push(["fabric-difference", at(dragonfly, `?view=tiles&diff=on${overlay}`)]);
}
if (sample) {
  const { jobs = [] } = (await api(`/fabrics/${sample.id}/occupancy`)) ?? {};
  // Of a snapshot the job whose routers were counted is the one that its counters tell about.
  const { router, sampled } = await api(`/fabrics/${sample.id}/routers`);
  const counted = new Set(router.filter((_, i) => sampled[i]));
  const share = (j) => j.routers.filter((r) => counted.has(r)).length;
  const named = [...jobs].sort((a, b) => share(b) - share(a))[0];
  const overlay = named ? `&job=${encodeURIComponent(named.job_id)}` : "";
  for (const view of ["ring", "tiles", "group"]) pages.push([`sample-${view}`, at(sample, `?view=${view}${overlay}`)]);
}
if (tree) pages.push(["tree", at(tree)], ["tree-slice", at(tree, `?slice=${tree.groups[1] ?? 0}`)]);
if (torus) pages.push(["torus", at(torus, "?axis=x")]);
if (job) pages.push(["job", `/jobs/${encodeURIComponent(job.job_id)}`]);
const [own] = (job?.runs ?? 0) > 0 ? (await api(`/jobs/${encodeURIComponent(job.job_id)}`)).runs : [];
const others = own ? (await api(`/runs?exe=${encodeURIComponent(own.exe)}&limit=50`)).items.filter((run) => run.run_id !== own.run_id && run.ranks === own.ranks).slice(0, 2) : [];
if (others.length) pages.push(["job-compare", `/jobs/${encodeURIComponent(job.job_id)}?compare=${others.map((run) => run.run_id).join(",")}`]);
const plain = running.find((j) => !(j.runs ?? 0));
if (plain) pages.push(["job-without-steps", `/jobs/${encodeURIComponent(plain.job_id)}`]);

/** Nothing is being loaded any more, and what came is drawn. */
async function settled(page) {
  await page.waitForSelector("h1");
  await page.waitForTimeout(800);
  await page.waitForFunction(() => ![...document.querySelectorAll('[role="status"]')].some((one) => /^Loading/.test(one.textContent)), null, { timeout: 20_000 });
  await page.waitForTimeout(1700);
}

const wanted = new RegExp(process.argv[2] ?? "");
for (const theme of ["light", "dark"]) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: theme });
  const page = await context.newPage();
  for (const [name, path] of pages.filter(([name]) => wanted.test(`${name}-${theme}`))) {
    await page.goto(url + path);
    await settled(page);
    if (name === "job-compare") await page.locator(".runs-beside").scrollIntoViewIfNeeded();
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
    console.log(`${folder}/${name}-${theme}.png`);
  }
  if (fixture && wanted.test(`admin-${theme}`)) {
    await context.request.post(`${url}/api/v1/session`, { data: { name: "admin", password: "fixture-password" } });
    for (const [name, path] of [["admin", "/admin"], ["admin-tokens", "/admin?view=tokens"], ["admin-audit", "/admin?view=audit"]]) {
      await page.goto(url + path);
      await page.waitForSelector("main table");
      await page.waitForTimeout(800);
      await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
      console.log(`${folder}/${name}-${theme}.png`);
    }
    await context.clearCookies();
  }
  if (wanted.test(`visit-${theme}`)) await firstVisit(page, url, async (name) => {
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
    console.log(`${folder}/${name}-${theme}.png`);
  });
  await context.close();
  const phone = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: theme });
  const small = await phone.newPage();
  for (const [name, path] of [["home-phone", "/"], ["alerts-phone", "/alerts"]].filter(([name]) => wanted.test(`${name}-${theme}`))) {
    await small.goto(url + path);
    await settled(small);
    await small.screenshot({ path: `${folder}/${name}-${theme}.png` });
    console.log(`${folder}/${name}-${theme}.png`);
  }
  await phone.close();
  if (dragonfly && wanted.test(`fabric-wall-${theme}`)) {
    const wall = await (await browser.newContext({ viewport: { width: 3840, height: 2160 }, colorScheme: theme })).newPage();
    await wall.goto(url + at(dragonfly, "?view=tiles"));
    await settled(wall);
    await wall.screenshot({ path: `${folder}/fabric-wall-${theme}.png` });
    console.log(`${folder}/fabric-wall-${theme}.png`);
    await wall.context().close();
  }
}
await browser.close();
stop();
