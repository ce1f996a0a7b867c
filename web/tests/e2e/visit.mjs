// The first visit of somebody with a ticket: why was this job slow? Scripted, with a picture of each screen.
import assert from "node:assert/strict";
import { atRest } from "./harness.mjs";

/** Answers from home in at most four clicks; `shot(name)` is called on each screen. Returns the clicks. */
export async function firstVisit(page, url, shot = async () => {}) {
  let clicks = 0;
  const click = async (locator) => {
    await locator.first().click();
    clicks++;
  };
  await page.goto(url);
  await page.waitForSelector(".home-grid table a");
  await atRest(page);
  await shot("visit-1-home");
  // With a job in trouble home says so first; on a calm machine the table of jobs leads to the same evidence.
  const forecast = page.locator(".home-item", { hasText: "predicted to be slow" }).locator("a");
  const slow = page.locator(".home-item a", { hasText: /Why slow|Details/ });
  await click(
    (await forecast.count())
      ? forecast
      : (await slow.count())
        ? slow
        : page.locator('section[aria-label="Jobs by stalls"] td a'),
  );
  await page.waitForSelector('section[aria-label="Verdict"] h2');
  assert.match(await page.locator('section[aria-label="Verdict"]').textContent(), /stall/);
  const neighbours = page.locator('section[aria-label="Neighbours"] tbody tr');
  await neighbours.first().waitFor();
  await atRest(page);
  await shot("visit-2-job");
  // Who is named is drawn already.
  if (!(await page.locator(".placement-key .job-key").nth(1).isVisible()))
    await click(neighbours.locator("button", { hasText: "show" }).first());
  await atRest(page);
  await shot("visit-3-neighbour");
  await click(page.locator('section[aria-label="Placement"] a', { hasText: "Open" }));
  await page.waitForURL(/\/fabric\/.*job=\d+,\d+/);
  await page.waitForSelector(".chip >> nth=1");
  await atRest(page);
  await shot("visit-4-fabric");
  assert.ok(clicks <= 4, `${clicks} clicks`);
  return clicks;
}
