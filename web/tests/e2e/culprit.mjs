// A platform with a live incident (tests/e2e/test_platform.py starts it): home names the culprit, and one click leads to its job.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const { FLITWATCH_PLANTED: planted } = process.env;

await check("home names the culprit, its alert fires, and one click leads to the job", async (page) => {
  await page.goto(url);
  const card = page.locator('section[aria-label="Incident"]');
  await until(
    () => card.textContent(),
    (text) => text.includes(planted),
    "the culprit on home",
  );
  await until(
    () => page.locator(".nav-badge").textContent(),
    (text) => /^[1-9]\d* firing$/.test(text),
    "the alert on home",
  );
  await card.locator(`a[href^="/jobs/${planted}"]`).first().click();
  await page.waitForURL(new RegExp(`/jobs/${planted}`));
  await until(
    () => page.locator("h1").textContent(),
    (text) => text.includes(planted),
    "the culprit's own page",
  );
  assert.ok(await page.locator("main").isVisible());
});

await suite.finish();
