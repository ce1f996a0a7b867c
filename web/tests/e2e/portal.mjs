// A portal's page that shows ours in a frame (tests/e2e/test_portals.py serves both): FLITWATCH_PORTAL may, FLITWATCH_STRANGER may not. FLITWATCH_JOB is a job.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const { FLITWATCH_PORTAL: portal, FLITWATCH_STRANGER: stranger, FLITWATCH_JOB: job } = process.env;

await check("a portal shows jobs in its frame, and a job from there, without our top bar", async (page) => {
  await page.goto(portal);
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: job, exact: true }).first().click();
  const verdict = frame.locator('section[aria-label="Verdict"] h2');
  await until(
    () => verdict.textContent(),
    (text) => text !== "",
    "the job's verdict",
  );
  assert.equal(await frame.locator('nav[aria-label="Pages"]').count(), 0, "no pages beside the portal's own");
  const [whole] = await Promise.all([
    page.context().waitForEvent("page"),
    frame.getByRole("link", { name: "Open in Flitwatch" }).click(),
  ]);
  await whole.waitForSelector('nav[aria-label="Pages"]');
  const opened = new URL(whole.url());
  assert.equal(opened.origin, url);
  assert.equal(opened.pathname, `/jobs/${job}`);
  assert.ok(!opened.searchParams.has("embed"));
});

await check("a job's page leads to the same job in another monitor, in a window of its own", async (page) => {
  await page.goto(`${url}/jobs/${job}?cluster=c`);
  const link = page.getByRole("link", { name: "Open in ClusterCockpit" });
  assert.equal(await link.getAttribute("rel"), "noreferrer");
  const [other] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await other.waitForLoadState();
  assert.equal(await other.title(), "The job there");
});

await check("a page of another origin shows nothing of it", async (page) => {
  const refused = page.waitForEvent("console", (said) => /frame-ancestors/.test(said.text()));
  await page.goto(stranger);
  await refused;
  assert.equal(await page.frameLocator("iframe").locator("#app").count(), 0);
});

await suite.finish();
