// What one visit sees of another's (tests/e2e/test_page.py): FLITWATCH_NAME is the user of job 4896334 (amg) as this visit may see it, empty for a pseudonym.
import assert from "node:assert/strict";
import { openSearch, start } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const { FLITWATCH_NAME: name } = process.env;
const JOB = "4896334";

if (name)
  await check(
    "the search finds a job by its number in parts and by its name, forgives a slip, and finds nothing for other words",
    async (page) => {
      await page.goto(url);
      await page.waitForSelector("h1");
      const field = await openSearch(page);
      for (const typed of ["4896 334", "amg"]) {
        await field.fill(typed);
        await page.locator(".search-list .menu-item", { hasText: JOB }).waitFor();
      }
      await field.fill("hotest link");
      await page.locator(".search-list .menu-item", { hasText: "Hottest links and their jobs" }).waitFor();
      await field.fill("4896 335");
      await page.getByText("No results for “4896 335”").waitFor();
    },
  );

await check("a job's page names its user as REST does: plain where every machine is simulated", async (page) => {
  const { user } = await api(`/jobs/${JOB}`);
  if (name) assert.equal(user, name);
  else assert.match(user, /^user-/);
  await page.goto(`${url}/jobs/${JOB}`);
  await page.locator(".context .subtitle", { hasText: `user ${user}` }).waitFor();
  await page.goto(`${url}/jobs`);
  await page.locator(".jobs-card tbody tr", { hasText: user }).waitFor();
});

if (name)
  await check("the address of a simulation opens in another browser, which lists none of its own", async (page) => {
    await page.goto(`${url}/lab`);
    await page.locator(".lab-card", { hasText: "Worked example" }).click();
    await page.locator('[role="dialog"] button', { hasText: "Run" }).click();
    await page.waitForURL(/task=\d+/);
    const context = await page.context().browser().newContext();
    const other = await context.newPage();
    await other.goto(page.url());
    const number = new URL(page.url()).searchParams.get("task");
    await other.locator('section[aria-label="Task"] h2', { hasText: `Task ${number}` }).waitFor();
    await other.locator('section[aria-label="Tasks"]', { hasText: "No tasks yet" }).waitFor();
    await context.close();
  });

await suite.finish();
