// The centre's own login in a real Chromium, over the real API and a real provider: there and back, tokens, and out of both.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

/** Log in there and consent. */
async function atTheProvider(page, who) {
  await page.locator('input[name="login"]').fill(who);
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"]').click();
  await page.waitForSelector('input[name="prompt"][value="consent"]', { state: "attached" });
  await page.locator('button[type="submit"]').click();
}

const suite = await start();
await suite.check("somebody signs in at the provider and out again", async (page) => {
  await page.goto(`${suite.url}/jobs?sort=-start`);
  await page.locator("header a", { hasText: "Sign in" }).click();
  await page.locator("a", { hasText: "Sign in with Centre login" }).click();
  await atTheProvider(page, "s-1");
  await page.locator(".account-name", { hasText: "ann" }).waitFor();
  await until(
    () => page.url(),
    (at) => at === `${suite.url}/jobs?sort=-start`,
    "the place that asked",
  );
  assert.equal(await page.evaluate(() => document.cookie), "", "the session is out of scripts' reach");
  await page.goto(`${suite.url}/admin`);
  await page.locator("button", { hasText: "New token…" }).click();
  await page.getByLabel("Purpose").fill("script");
  await page.locator('[role="dialog"] button', { hasText: "Make" }).click();
  assert.match(await page.locator(".people-secret").textContent(), /^fwt_/);
  await page.goto(`${suite.url}/login`);
  await page.locator("button", { hasText: "Sign out of Centre login, too" }).click();
  await until(
    () => page.url(),
    (at) => !at.startsWith(suite.url),
    "the provider's own logout",
  );
  await page.locator("button", { hasText: "Yes" }).click();
  await page.waitForURL(`${suite.url}/login**`);
  await page.locator("header a", { hasText: "Sign in" }).waitFor();
});
await suite.check("who has no name there is told so on a page", async (page) => {
  await page.goto(`${suite.url}/api/v1/session/oidc`);
  await atTheProvider(page, "s-2");
  await page.locator("p", { hasText: "Centre login did not send your user name" }).waitFor();
  await page.locator("a", { hasText: "login page" }).click();
  await page.locator("h1", { hasText: "Sign in" }).waitFor();
});
await suite.finish();
