// The database goes away under an open page and comes back. `stop` and `start` on standard output ask the test around it to do that;
// it answers with a line once it is done.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { colours, ready, start, until } from "./harness.mjs";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(verb) {
  console.log(verb);
  await lines.next();
}

const suite = await start();
const { url, check } = suite;
const pill = (page) => page.getByTestId("freshness").textContent();

await check(
  "a database that goes away leaves stale data that say so, and the page recovers by itself",
  async (page) => {
    await page.goto(`${url}/fabric/beat?view=tiles`);
    await ready(page);
    await until(
      () => pill(page),
      (text) => /^Live/.test(text),
      "live at first",
      20_000,
    );
    const shown = await colours(page);
    await ask("stop");
    await until(
      () => pill(page),
      (text) => /^Stale/.test(text),
      "stale without a database",
      60_000,
    );
    assert.match(await page.locator(".banner").textContent(), /stopped at|no new samples/);
    assert.ok((await colours(page)) >= Math.min(shown, 3), "the picture stays");
    // Another page, opened now, says what failed and what to do.
    const other = await page.context().newPage();
    await other.goto(`${url}/jobs`);
    await other.waitForSelector('[role="alert"]', { timeout: 60_000 });
    assert.match(await other.locator('[role="alert"]').textContent(), /database|server/i);
    await ask("start");
    await until(
      () => pill(page),
      (text) => /^Live/.test(text),
      "live again by itself",
      90_000,
    );
    await page.waitForSelector(".banner", { state: "detached" });
    await until(
      () => other.locator('[role="alert"]').count(),
      (n) => n === 0,
      "the other page recovers by itself too",
      60_000,
    );
  },
);

await suite.finish();
