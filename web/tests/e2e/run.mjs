// The page in a real Chromium: `npm run e2e` against FLITWATCH_URL, or against the fixture server where none is named.
// Checks that need the fixture's switches (silence, failure, hostile names) are said to be skipped elsewhere.
import assert from "node:assert/strict";
import { launch, platform } from "./browser.mjs";
import { violations } from "./axe.mjs";

const { url, fixture, stop } = await platform({ groups: 34 });
const browser = await launch();
const results = [];
const only = process.argv[2];

async function check(name, run, { fixtureOnly = false, viewport = { width: 1440, height: 900 }, colorScheme = "light" } = {}) {
  if (only && !name.includes(only)) return;
  if (fixtureOnly && !fixture) {
    console.log(`skip  ${name}: it needs the fixture's switches`);
    return;
  }
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  try {
    await run(page);
    assert.deepEqual(errors, [], "errors on the page");
    results.push([name, true]);
    console.log(`ok    ${name}`);
  } catch (error) {
    results.push([name, false]);
    console.log(`FAIL  ${name}\n${error.stack ?? error}`);
    await page.screenshot({ path: `/tmp/flitwatch-e2e-${results.length}.png` }).catch(() => {});
  } finally {
    await context.close();
  }
}

const api = async (path) => (await fetch(`${url}/api/v1${path}`)).json();
const fabrics = (await api("/fabrics")).items;
const timed = fabrics.find((f) => !f.timeless && f.last_ts !== null && f.kind === "dragonfly") ?? fabrics[0];
const fabricUrl = `${url}/fabric/${encodeURIComponent(timed.name)}`;
const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);
const ready = (page) => page.waitForSelector('aside[aria-label="Selected router"] h2');
const title = (page) => page.locator('aside[aria-label="Selected router"] h2').textContent();
const pixels = (page) => page.evaluate(() => {
  const canvas = document.querySelector(".view-box canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
});
const until = async (probe, wanted, what, ms = 10_000) => {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    last = await probe();
    if (wanted(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${what}: still ${JSON.stringify(last)} after ${ms} ms`);
};

for (const colorScheme of ["light", "dark"]) {
  for (const path of ["/", `/fabric/${timed.name}?view=tiles`, `/fabric/${timed.name}?view=ring`, `/fabric/${timed.name}?view=group`, `/fabric/${timed.name}?view=table`, "/jobs", "/health", ...(fabrics.filter((f) => f.kind === "fat_tree").slice(0, 1).map((f) => `/fabric/${f.name}`))]) {
    await check(`axe finds nothing on ${path} (${colorScheme})`, async (page) => {
      await page.goto(url + path);
      await page.waitForLoadState("networkidle").catch(() => {});
      await page.waitForTimeout(1200);
      assert.deepEqual(await violations(page), []);
    }, { colorScheme });
  }
}

await check("a job's page has no axe violation and answers with evidence", async (page) => {
  const job = (await api("/jobs?limit=1&state=RUNNING")).items[0] ?? (await api("/jobs?limit=1")).items[0];
  if (!job) return;
  await page.goto(`${url}/jobs/${encodeURIComponent(job.job_id)}`);
  await page.waitForSelector('section[aria-label="Verdict"] h2');
  await page.waitForTimeout(1200);
  assert.deepEqual(await violations(page), []);
});

await check("the fabric is drawn in the colours of the scale", async (page) => {
  await page.goto(`${fabricUrl}?view=tiles`);
  await ready(page);
  await until(() => pixels(page), (n) => n >= 5, "colours on the canvas");
});

await check("the keyboard reaches views, difference, windows, selection and help", async (page) => {
  await page.goto(fabricUrl);
  await ready(page);
  await page.keyboard.press("2");
  assert.equal(query(page).view, "ring");
  await page.keyboard.press("1");
  assert.equal(query(page).view, "tiles");
  await page.keyboard.press("d");
  assert.equal(query(page).diff, "on");
  await page.keyboard.press("d");
  assert.equal(query(page).diff, undefined);
  await page.keyboard.press("[");
  const first = query(page);
  assert.ok(first.from && first.to);
  await page.keyboard.press("[");
  assert.equal(Date.parse(query(page).to), Date.parse(first.from));
  await page.keyboard.press("l");
  assert.equal(query(page).from, undefined);
  const before = await title(page);
  await page.keyboard.press("ArrowRight");
  await until(() => title(page), (now) => now !== before, "the selection moves");
  assert.match(query(page).router, /^\d+$/);
  await page.keyboard.press("?");
  await page.waitForSelector('[role="dialog"] >> text=Difference');
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.waitForURL(/\/jobs/);
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.waitForSelector("h1 >> text=Now");
});

await check("search finds a router by a part of its name and goes there", async (page) => {
  const name = (await api(`/fabrics/${timed.id}/routers`)).name[5];
  await page.goto(url);
  await page.waitForSelector("h1");
  await page.keyboard.press("/");
  await page.locator(".search-field").fill(name);
  await page.locator(".menu-item", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/router=/);
  await until(() => title(page), (now) => now === name, "the router found is selected");
});

await check("the address holds the picture: a second visitor sees the same", async (page) => {
  const to = Math.floor(Date.parse(timed.last_ts) / 60_000) * 60_000 - 120_000;
  const address = `${fabricUrl}?view=group&from=${new Date(to - 300_000).toISOString()}&to=${new Date(to).toISOString()}&router=3&span=6h`;
  await page.goto(address);
  await ready(page);
  assert.equal(query(page).view, "group");
  assert.equal(query(page).router, "3");
  assert.equal(await page.locator('.segmented [data-state="on"]').first().textContent(), "Group");
  const shown = await title(page);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await ready(other);
  assert.equal(await title(other), shown);
});

await check("a drag on the time axis sets the window, Shift-drag the comparison, live does not move it", async (page) => {
  await page.goto(fabricUrl);
  await ready(page);
  const axis = await page.locator(".brush svg").boundingBox();
  const drag = async (a, b) => {
    await page.mouse.move(axis.x + axis.width * a, axis.y + 60);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * ((a + b) / 2), axis.y + 60, { steps: 4 });
    await page.mouse.move(axis.x + axis.width * b, axis.y + 60, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.3, 0.5);
  const chosen = query(page);
  assert.ok(Date.parse(chosen.to) > Date.parse(chosen.from));
  await page.keyboard.down("Shift");
  await drag(0.1, 0.2);
  await page.keyboard.up("Shift");
  assert.equal(query(page).diff, "on");
  assert.ok(Date.parse(query(page).cto) <= Date.parse(chosen.from));
  await page.waitForTimeout(6000);
  assert.equal(query(page).from, chosen.from);
});

await check("live data advance without a shift of the layout", async (page) => {
  await page.goto(`${fabricUrl}?view=tiles`);
  await ready(page);
  await page.waitForTimeout(1500);
  await page.evaluate(() => {
    window.__shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((e) => (window.__shift += e.value))).observe({ type: "layout-shift" });
  });
  const first = await page.locator(".fabric-page .subtitle").first().textContent();
  await until(() => page.locator(".fabric-page .subtitle").first().textContent(), (now) => now !== first, "the window follows", 20_000);
  assert.equal(await page.evaluate(() => window.__shift), 0);
});

await check("the table shows the same figures as the picture and sorts", async (page) => {
  await page.goto(`${fabricUrl}?view=table`);
  await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
  const ratios = async () => (await page.locator('.data-table tbody tr[aria-rowindex] td:nth-child(5)').allTextContents()).map(Number).filter((n) => !Number.isNaN(n));
  const down = await ratios();
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
  await page.locator("th button", { hasText: "stall / flit" }).click();
  const up = await ratios();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
});

await check("silence is shown as stale and recovers by itself", async (page) => {
  await page.goto(fabricUrl);
  await ready(page);
  await until(() => page.getByTestId("freshness").textContent(), (t) => /^Live/.test(t), "live at first");
  await fetch(`${url}/fixture/fail`);
  await until(() => page.getByTestId("freshness").textContent(), (t) => /^Stale/.test(t), "stale when the connection is lost", 15_000);
  assert.match(await page.locator(".banner").textContent(), /Live data stopped at .*next try|trying again/s);
  await until(() => pixels(page), (n) => n >= 5, "the picture stays");
  await fetch(`${url}/fixture/mend`);
  await until(() => page.getByTestId("freshness").textContent(), (t) => /^Live/.test(t), "live again by itself", 40_000);
  await page.waitForSelector(".banner", { state: "detached" });
  await fetch(`${url}/fixture/quiet`);
  await until(() => page.getByTestId("freshness").textContent(), (t) => /^Stale/.test(t), "stale when nothing new comes", 45_000);
  assert.match(await page.locator(".banner").textContent(), /no new samples/);
  await fetch(`${url}/fixture/talk`);
  await until(() => page.getByTestId("freshness").textContent(), (t) => /^Live/.test(t), "live once samples come", 15_000);
}, { fixtureOnly: true });

await check("a failure of the API names what to do and offers a retry", async (page) => {
  await fetch(`${url}/fixture/fail`);
  await page.goto(`${url}/health`);
  await page.waitForSelector('[role="alert"] >> text=log', { timeout: 30_000 });
  await fetch(`${url}/fixture/mend`);
  await page.locator('[role="alert"] button').click();
  await page.waitForSelector("h1 >> text=Ingest health");
}, { fixtureOnly: true });

await check("hostile names of jobs and users are text", async (page) => {
  for (const path of ["/jobs", "/", `/fabric/${timed.name}`, "/health"]) {
    await page.goto(url + path);
    await page.waitForTimeout(1500);
  }
  const hostile = (await api("/jobs?limit=100")).items.find((job) => job.name.includes("<img"));
  await page.goto(`${url}/jobs/${hostile.job_id}`);
  await page.waitForSelector("h1");
  await page.goto(`${url}/fabric/${timed.name}?job=${hostile.job_id}`);
  await page.waitForSelector(".chip");
  assert.match(await page.locator(".chip").textContent(), /<img src=x/);
  assert.equal(await page.evaluate(() => window.__hurt), undefined);
  assert.equal(await page.locator('img[src="x"]').count(), 0);
}, { fixtureOnly: true });

await check("2,000 jobs filter within a frame's budget of patience", async (page) => {
  await page.goto(`${url}/jobs`);
  await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
  assert.ok((await page.locator(".data-table tbody tr[aria-rowindex]").count()) < 100, "only rows in sight are in the document");
  await page.getByLabel("Filter jobs").fill("amg");
  await page.waitForURL(/q=amg/);
  await until(async () => (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(2)").allTextContents()).every((t) => t.includes("amg")), Boolean, "the filter holds");
}, { fixtureOnly: true });

await check("why was a job slow: at most four clicks from home, evidence on each screen", async (page) => {
  await page.goto(url);
  let clicks = 0;
  const click = async (locator) => {
    await locator.first().click();
    clicks++;
  };
  await page.waitForSelector(".home-grid table a");
  // With a job in trouble home says so first; on a calm machine the table of jobs leads to the same evidence.
  const slow = page.locator(".home-item a", { hasText: "Why slow" });
  await click((await slow.count()) ? slow : page.locator('section[aria-label="Jobs by stalls"] td a'));
  await page.waitForSelector('section[aria-label="Verdict"] h2');
  assert.match(await page.locator('section[aria-label="Verdict"]').textContent(), /stall/);
  await page.waitForSelector('section[aria-label="Neighbours"] tbody tr');
  await click(page.locator('section[aria-label="Neighbours"] button', { hasText: "show" }));
  await click(page.locator('section[aria-label="Placement"] a', { hasText: "Open" }));
  await page.waitForURL(/\/fabric\/.*job=\d+,\d+/);
  await page.waitForSelector(".chip >> nth=1");
  assert.ok(clicks <= 4);
});

await check("home fits a phone", async (page) => {
  await page.goto(url);
  await page.waitForSelector(".home-figures");
  await page.waitForTimeout(800);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  assert.deepEqual(await violations(page), []);
}, { viewport: { width: 390, height: 844 } });

await browser.close();
stop();
const failed = results.filter(([, ok]) => !ok);
console.log(`${results.length - failed.length} of ${results.length} passed`);
process.exit(failed.length ? 1 : 0);
