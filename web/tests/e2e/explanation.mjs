// A job that was slowed by a planted one (tests/e2e/test_page.py lives through the incident): FLITWATCH_JOB and FLITWATCH_PLANTED name the two.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const { FLITWATCH_JOB: job, FLITWATCH_PLANTED: planted } = process.env;

await check("the job's page names who was planted, as the API does", async (page) => {
  const told = await api(`/jobs/${job}/explanation`);
  assert.equal(told.verdict, "named");
  assert.equal(told.named, planted);
  await page.goto(`${url}/jobs/${job}`);
  const verdict = page.locator('section[aria-label="Verdict"]');
  await until(
    () => verdict.locator("h2").textContent(),
    (text) => text === told.title,
    "the API's title",
  );
  assert.match(told.title, new RegExp(`when job ${planted} started on`));
  assert.ok((await verdict.textContent()).includes(told.detail), "the API's detail");
  // The chain in the API's words, each remedy with its minutes or the reason why they are unknown, and one click to the replay.
  const said = await page.locator('section[aria-label="Why"], section[aria-label="What would help"]').allTextContents();
  for (const one of told.chain) assert.ok(said.join(" ").includes(one.text), one.text);
  assert.equal(await page.locator('section[aria-label="What would help"] li').count(), told.remedies.length);
  await until(
    () => page.locator(".job-steps .onset text").textContent(),
    (text) => text.endsWith(`${planted} started`),
    "the start of the named job as a labelled line",
  );
  // Who is named stands first among the neighbours, and nobody else is.
  const first = page.locator('section[aria-label="Neighbours"] tbody tr').first();
  await until(
    () => first.textContent(),
    (text) => text.includes(planted) && text.includes("named"),
    "the named job first",
  );
  assert.equal(await page.locator('section[aria-label="Neighbours"] .tag', { hasText: "named" }).count(), 1);
});

await suite.finish();
