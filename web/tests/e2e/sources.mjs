// The page of sources over the real API: `import` asks the test to bring in three records and a refused one by real ways (tests/e2e/test_page.py).
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { violations } from "./axe.mjs";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await check(
  "an empty site shows every source as nothing yet; what arrives shows within a poll; copy copies",
  async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
    await page.goto(url);
    await page.getByRole("link", { name: "connect your own data" }).click();
    await page.waitForURL(/\/connect$/);
    const { sources } = await api("/ingest/arrivals");
    const live = (title) => page.locator(`section[aria-label="${title}"] .connect-live`);
    for (const source of sources) assert.equal(await live(source.title).textContent(), "Nothing yet", source.title);
    assert.deepEqual(await violations(page), []);
    await page.getByRole("button", { name: "Copy command 1 of Runs that programs report" }).click();
    const copied = await until(
      () => page.evaluate(() => navigator.clipboard.readText()),
      (text) => text !== "",
      "copied",
    );
    assert.equal(copied, `export FLITWATCH_URL=${new URL(url).origin} FLITWATCH_TOKEN_FILE=~/.config/flitwatch/token`);
    console.log("import");
    await answers.next();
    await until(
      () => live("Prometheus remote write").textContent(),
      (text) => /^2 records in the last 10 minutes/.test(text) && /1 refused/.test(text) && /made_up/.test(text),
      "two records of remote write and a refused metric",
    );
    await until(
      () => live("Slurm accounting").textContent(),
      (text) => /^Nothing yet1 refused in the last day: submit: … is not a time/.test(text),
      "the refused line of accounting, without what it quotes",
    );
    assert.equal(await live("Flux").textContent(), "Nothing yet");
  },
);

await suite.finish();
