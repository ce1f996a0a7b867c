// The page over the API and database of a site with measured fabrics (tests/e2e/test_page.py serves it): `node tests/e2e/site.mjs`.
import assert from "node:assert/strict";
import { violations } from "./axe.mjs";
import { colours, ready, start, title, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const { items: fabrics } = await api("/fabrics");
const named = (part) => fabrics.find((fabric) => fabric.name.includes(part));
const [edison, selene, theta] = ["edison", "selene", "theta"].map(named);
const at = (fabric, search = "") => `${url}/fabric/${encodeURIComponent(fabric.name)}${search}`;

await check("home opens on the machine that has counters, and says what is unknown", async (page) => {
  await page.goto(url);
  await page.waitForSelector(".home-figures");
  await until(
    () => page.locator(".home-figures").textContent(),
    (text) => /140\s*of 1,440/.test(text),
    "140 of 1,440 routers report",
  );
  assert.deepEqual(await violations(page), []);
});

await check("Edison shows its hot black and blue links", async (page) => {
  await page.goto(at(edison));
  await ready(page);
  // 15 groups: the ring, with every counted blue link.
  await until(
    () => page.locator(".ring-note").textContent(),
    (text) => /^490 counted blue links, all drawn/.test(text),
    "490 counted blue links",
  );
  await until(
    () => colours(page),
    (n) => n >= 8,
    "colours of the scale",
  );
  const summaries = await until(
    () => page.locator(".histogram figcaption span").allTextContents(),
    (all) => all.length === 3,
    "a distribution a class",
  );
  assert.deepEqual(summaries, [
    "2,100 · median 1.9 · 95th 5.6 · max 14",
    "2,100 · median 4.9 · 95th 21 · max 41",
    "490 · median 3.3 · 95th 27 · max 43",
  ]);
  // The hottest router is selected by itself; its worst tiles are black links.
  assert.equal(await title(page), "c6-1c1s9a0");
  assert.match(await page.locator('aside[aria-label^="Selected"] tbody tr').first().textContent(), /2_2.*33/);
  assert.match(await page.locator('section[aria-label="Picture"]').textContent(), /g5 → g0\s*32/);
  assert.deepEqual(await violations(page), []);
});

await check("a router without a counter is unknown, not zero", async (page) => {
  const { router, sampled } = await api(`/fabrics/${edison.id}/routers`);
  await page.goto(at(edison, `?router=${router[sampled.indexOf(false)]}`));
  await ready(page);
  await until(
    () => page.locator('aside[aria-label^="Selected"]').textContent(),
    (text) => /No tile of this router has counters/.test(text),
    "said to be uncounted",
  );
  assert.match(await page.locator('aside[aria-label^="Selected"]').textContent(), /–\s*stalls per flit/);
  await page.goto(at(edison, "?view=table"));
  await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
  await page.locator("th button", { hasText: "stalls per flit" }).click();
  await page.locator('th[aria-sort="ascending"]', { hasText: "stalls per flit" }).waitFor();
  // Sorted either way, what is unknown comes last: the first row has a figure.
  assert.match(await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(5)").first().textContent(), /\d/);
});

await check("job 3609441 of Edison stands in groups 5 to 7", async (page) => {
  await page.goto(`${url}/jobs/3609441`);
  await page.waitForSelector('section[aria-label="Verdict"] h2');
  assert.match(await page.locator(".context").textContent(), /140 routers in 3 groups/);
  await until(
    () => page.locator('section[aria-label="Placement"]').textContent(),
    (text) => /140 routers/.test(text),
    "its placement",
  );
  assert.deepEqual(await violations(page), []);
});

await check("Selene's tree is drawn without a counter", async (page) => {
  await page.goto(at(selene));
  await ready(page);
  await until(
    () => page.locator(".tree-head").textContent(),
    (text) => /no link has counters/.test(text),
    "the caption",
  );
  assert.match(await page.locator(".context").textContent(), /160 switches .* no counters yet/);
  await until(
    () => colours(page),
    (n) => n >= 4,
    "switches, links and nodes",
  );
  assert.deepEqual(await violations(page), []);
});

await check("Theta's nine groups are drawn without a counter", async (page) => {
  await page.goto(at(theta));
  await ready(page);
  assert.match(await page.locator(".context").textContent(), /864 routers in 9 groups/);
  await until(
    () => page.locator(".ring-note").textContent(),
    (text) => /no link between groups has counters/.test(text),
    "the caption",
  );
  assert.match(
    await page.locator('section[aria-label="Picture"]').textContent(),
    /No link between groups has counters in this window/,
  );
});

await suite.finish();
