// Verdicts on one's own runs over the real platform and its worker: made-up runs, and the measured ones of the files that FLITWATCH_RUNS and
// FLITWATCH_EXPOSURE name.
import assert from "node:assert/strict";
import { ownRuns } from "./checks/jobs.mjs";
import { start } from "./harness.mjs";

const { FLITWATCH_RUNS, FLITWATCH_EXPOSURE } = process.env;
const suite = await start({});
await ownRuns(suite);
await suite.check("own runs: measured files go up by pointer, and the page shows their users", async (page) => {
  await page.goto(`${suite.url}/blame`);
  const card = page.locator('section[aria-label="Verdicts on your own runs"]');
  await card.getByLabel("Runs").setInputFiles(FLITWATCH_RUNS);
  await card.getByLabel("Exposure").setInputFiles(FLITWATCH_EXPOSURE);
  await card.getByLabel("Name of the set").fill("measured");
  await card.getByRole("button", { name: "Compute verdicts" }).click();
  await page.waitForURL((address) => address.searchParams.get("exe") === "measured", { timeout: 240_000 });
  const { total, found, runs } = await suite.api("/estimates/blame?exe=measured&limit=1");
  assert.equal(runs.run_id.filter((run) => run !== null).length, 0);
  await page.locator('section[aria-label="Ranking"] .subtitle', { hasText: total.toLocaleString("en") }).waitFor();
  const said = await page.locator('section[aria-label="Result"] h2').textContent();
  assert.ok(found ? said.startsWith(`${found} user`) : said.startsWith("No user"), said);
});
await suite.finish();
