// Buttons for what the reader may not do say so before the click, in one wording; nothing is sent, and the login comes back.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { until } from "../harness.mjs";

const LOCKED = [
  ["/lab?replay=on", "Replay it", "user"],
  ["/blame", "Compute verdicts", "user"],
  ["/advice", "Run it…", "user"],
  ["/advice", "Download LFTs", "operator"],
  ["/alerts?view=rules", "Try it", "user"],
  ["/alerts?view=rules", "Save the rule", "operator"],
  ["/alerts?view=silences", "New silence…", "operator"],
  ["/alerts?view=silences", "End now", "operator"],
  ["/alerts?view=contacts", "Add a contact…", "operator"],
  ["/health", "raw bytes", "operator"],
];

export async function access({ url, check }) {
  for (const [viewport, what] of [
    [{ width: 1440, height: 900 }, "a screen"],
    [{ width: 390, height: 844 }, "a phone"],
  ])
    await check(
      `who may only look is told so before the click, on ${what}`,
      async (page) => {
        await page.context().addCookies([{ name: "anonymous", value: "viewer", url }]);
        const sent = [];
        page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
        for (const [path, label, role] of LOCKED) {
          await page.goto(url + path);
          const button = page.locator(".locked", { hasText: label }).first();
          await button.waitFor();
          const why = `Requires a login with role ${role}`;
          assert.ok((await button.textContent()).includes(why), `${label}: ${await button.textContent()}`);
          const link = button.locator("a");
          assert.equal(await link.getAttribute("title"), why);
          const to = new URL(await link.getAttribute("href"), url).searchParams.get("to");
          assert.ok(to.startsWith(path.split("?")[0]), `the login comes back to ${to}`);
          assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width, path);
          assert.deepEqual(await violations(page), [], path);
        }
        assert.deepEqual(sent, []);
      },
      { fixtureOnly: true, viewport },
    );

  await check(
    "who is signed in with too low a role reads which one is needed",
    async (page) => {
      await page.goto(`${url}/login?to=/alerts?view=silences`);
      await page.locator("input").first().fill("ann");
      await page.locator('input[type="password"]').fill("fixture-password");
      await page.locator("form button").first().click();
      const button = page.locator(".locked", { hasText: "New silence…" });
      await button.waitFor();
      assert.match(await button.textContent(), /Needs role operator; you are user/);
      assert.ok(await button.locator("button").isDisabled());
    },
    { fixtureOnly: true },
  );

  await check(
    "an operator finds no button locked",
    async (page) => {
      for (const [path, label] of LOCKED.slice(0, -1)) {
        await page.goto(url + path);
        await page.locator("button", { hasText: label }).first().waitFor();
        await until(
          () => page.locator(".locked").count(),
          (n) => n === 0,
          `nothing is locked on ${path}`,
        );
      }
    },
    { fixtureOnly: true },
  );
}
