// The page of an installed package, with Edison's counters: `FLITWATCH_URL=... node tests/e2e/installed.mjs` (tests/packages serves it).
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();

await suite.check("home says what is counted, and asks no other host for anything", async (page) => {
  const asked = new Set();
  page.on("request", (request) => asked.add(new URL(request.url()).origin));
  await page.goto(suite.url);
  await page.waitForSelector(".home-figures");
  await until(
    () => page.locator(".home-figures").textContent(),
    (text) => /140\s*of 1,440/.test(text),
    "140 of 1,440 routers report",
  );
  assert.deepEqual(
    [...asked].filter((origin) => /^http/.test(origin)),
    [new URL(suite.url).origin],
  );
});

await suite.finish();
