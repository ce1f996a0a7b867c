// People: the login, accounts, tokens and the audit log.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { query, until } from "../harness.mjs";

async function logIn(page, url, next, name = "admin") {
  await page.goto(`${url}/login?to=${encodeURIComponent(next)}`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill("fixture-password");
  await page.locator("form button").click();
  await page.locator(".account-name", { hasText: name }).waitFor();
}

export async function people({ url, check }) {
  await check(
    "the centre's own login is offered, and leads back to where it was asked for",
    async (page) => {
      await page.goto(`${url}/login?to=${encodeURIComponent("/jobs?state=FAILED")}`);
      const way = page.locator("a", { hasText: "Sign in with Centre login" });
      assert.equal(await way.getAttribute("href"), "/api/v1/session/oidc?to=%2Fjobs%3Fstate%3DFAILED");
    },
    { fixtureOnly: true },
  );

  await check(
    "a wrong password is refused in words, the right one leads back to where it was asked for",
    async (page) => {
      await page.goto(`${url}/jobs?state=FAILED`);
      await page.locator("header a", { hasText: "Sign in" }).click();
      await page.getByLabel("Name").fill("admin");
      await page.getByLabel("Password").fill("not the password");
      await page.locator("form button").click();
      await page.locator('[role="alert"]', { hasText: "name or password is wrong" }).waitFor();
      await page.getByLabel("Password").fill("fixture-password");
      await page.locator("form button").click();
      await page.locator(".account-name", { hasText: "admin" }).waitFor();
      await until(
        () => page.url(),
        (at) => at.endsWith("/jobs?state=FAILED"),
        "the place that asked",
      );
      assert.equal(await page.evaluate(() => document.cookie), "", "the session is out of scripts' reach");
      await page.locator("header button", { hasText: "admin" }).click();
      await page.locator('[role="menuitem"]', { hasText: "Sign out" }).click();
      await page.locator("main button", { hasText: "Sign out" }).click();
      await page.locator("header a", { hasText: "Sign in" }).waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a foreign address is not followed after the login",
    async (page) => {
      await logIn(page, url, "https://evil.example/");
      assert.equal(new URL(page.url()).host, new URL(url).host);
    },
    { fixtureOnly: true },
  );

  await check(
    "an admin makes a user, disables them, and finds both in the audit log",
    async (page) => {
      await logIn(page, url, "/admin");
      const name = `eve-${Date.now() % 100_000}`;
      await page.locator("button", { hasText: "New user…" }).click();
      await page.getByLabel("User name, as in the scheduler").fill(name);
      await page.locator('[role="dialog"] input[type="password"]').fill("a long enough password");
      await page.locator('[role="dialog"] button', { hasText: "Make" }).click();
      const row = page.locator('section[aria-label="Users"] tr', { hasText: name });
      await row.waitFor();
      await page.getByLabel(`Disable ${name}`).click();
      await row.locator("td", { hasText: "disabled" }).waitFor();
      await page.locator(".segmented button", { hasText: "Audit log" }).click();
      assert.equal(query(page).view, "audit");
      await page.locator('section[aria-label="Audit log"] tr', { hasText: name }).first().waitFor();
      assert.equal(await page.evaluate(() => window.__hurt), undefined);
    },
    { fixtureOnly: true },
  );

  await check(
    "a token's secret is shown once, and the token is revoked",
    async (page) => {
      await logIn(page, url, "/admin?view=tokens");
      await page.locator("button", { hasText: "New token…" }).click();
      await page.getByLabel("Purpose").fill("dashboard");
      await page.locator('[role="dialog"] button', { hasText: "Make" }).click();
      assert.match(await page.locator(".people-secret").textContent(), /^fwt_/);
      await page.locator('[role="dialog"] button', { hasText: "Done" }).click();
      assert.equal(await page.locator(".people-secret").count(), 0);
      await page.getByLabel("Revoke dashboard of admin").first().click();
      await page.locator("tr", { hasText: "dashboard" }).locator("td", { hasText: "revoked" }).first().waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a user has tokens, and neither accounts nor the audit log",
    async (page) => {
      await logIn(page, url, "/admin?view=audit", "ann");
      await page.locator("h1", { hasText: "My tokens" }).waitFor();
      await page.waitForSelector('section[aria-label="Tokens"]');
      assert.equal(await page.locator(".segmented button", { hasText: "Audit log" }).count(), 0);
      await page.locator("button", { hasText: "New token…" }).click();
      await page.waitForSelector('[role="dialog"] fieldset');
      assert.deepEqual(await page.locator('[role="dialog"] fieldset label').allTextContents(), [
        "read data",
        "ask for advice",
        "start and cancel tasks",
        "report runs",
      ]);
    },
    { fixtureOnly: true },
  );

  for (const colorScheme of ["light", "dark"]) {
    await check(
      `axe finds nothing on the pages of people (${colorScheme})`,
      async (page) => {
        await logIn(page, url, "/admin");
        for (const [view, there] of [
          ["", "Users"],
          ["?view=tokens", "Tokens"],
          ["?view=audit", "Audit log"],
        ]) {
          await page.goto(`${url}/admin${view}`);
          await page.waitForSelector(`section[aria-label="${there}"] table`);
          assert.deepEqual(await violations(page), []);
        }
        await page.goto(`${url}/admin`);
        await page.locator("button", { hasText: "New user…" }).click();
        await page.waitForTimeout(400);
        assert.deepEqual(await violations(page), []);
      },
      { fixtureOnly: true, colorScheme },
    );
  }
}
