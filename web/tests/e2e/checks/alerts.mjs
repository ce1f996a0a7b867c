// Alerts: what fires with its evidence, a silence, a rule tried over the past week, and the address that holds it.
import assert from "node:assert/strict";
import { query, until } from "../harness.mjs";

export async function alerts({ url, fabricUrl, check }) {
  await check("an alert leads to its evidence, shows its samples and who was told", async (page) => {
    await page.goto(`${url}/alerts`);
    const item = page.locator(".alert-item", { hasText: "Group 17" });
    await item.waitFor();
    await item.locator("button").click();
    assert.equal(query(page).alert, "43");
    await page.waitForSelector('section[aria-label="Before it fired"] svg path.high');
    assert.match(await page.locator('section[aria-label="Notifications"]').textContent(), /on-call.*slack-network.*not yet/s);
    const there = await page.locator("a", { hasText: "Open the evidence" }).getAttribute("href");
    assert.match(there, /^\/fabric\/perlis\?from=.*&to=/);
    assert.equal(await page.locator(".alert-item", { hasText: "Job 9" }).locator("a").count(), 0, "an address outside the page is not followed");
    await page.keyboard.press("j");
    await until(() => query(page).alert, (id) => id === "42", "the next alert");
    await page.locator('section[aria-label="Before it fired"] .segmented button', { hasText: "Table" }).click();
    assert.equal(await page.locator('section[aria-label="Before it fired"] table').getAttribute("aria-rowcount"), "41");
  }, { fixtureOnly: true });

  await check("names in an address that nobody knows are said to be unknown", async (page) => {
    await page.goto(`${url}/alerts?view=rules&rule=nope`);
    await page.getByRole("heading", { name: "Rule nope not found" }).waitFor();
    await page.goto(`${fabricUrl}?job=nope`);
    await page.getByText("Job nope not found").waitFor();
    await page.getByRole("button", { name: "Take job nope out of the address" }).click();
    await until(() => query(page).job, (job) => job === undefined, "the job leaves the address");
    for (const path of ["/jobs/nope", "/fabric/nope", "/nope"]) {
      await page.goto(`${url}${path}`);
      await page.waitForSelector("main h1");
    }
  });

  await check("on a phone home and alerts end where their data end", async (page) => {
    for (const path of ["/", "/alerts", "/alerts?view=rules"]) {
      await page.goto(`${url}${path}`);
      await page.waitForSelector("main .card table");
      const { width, height } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight }));
      assert.deepEqual({ width, height }, { width: 390, height: 844 }, `${path}: the page scrolls, never the document below it`);
    }
  }, { viewport: { width: 390, height: 844 } });

  await check("an alert is silenced from its panel and the silence is ended", async (page) => {
    await page.goto(`${url}/alerts?alert=43`);
    await page.locator("button", { hasText: "Silence…" }).click();
    await page.getByLabel("Why").fill("Maintenance");
    await page.locator('[role="dialog"] button', { hasText: /^Silence$/ }).click();
    await page.locator(".alert-item", { hasText: "Group 17" }).locator(".tag", { hasText: "silenced" }).waitFor();
    await page.goto(`${url}/alerts?view=silences`);
    await page.locator(".alert-item", { hasText: "Maintenance" }).locator("button").click();
    await until(() => page.locator(".alert-item", { hasText: "Maintenance" }).textContent(), (text) => /ended/.test(text), "it is ended");
  }, { fixtureOnly: true });

  await check("arrows move along the rules while their table has the focus", async (page) => {
    await page.goto(`${url}/alerts?view=rules`);
    const table = page.locator(".rules-card .data-table");
    await table.locator("tbody tr[aria-rowindex]").first().waitFor();
    const rules = await table.locator("tbody tr[aria-rowindex] td:first-child").allTextContents();
    await table.focus();
    await page.keyboard.press("ArrowDown");
    await until(() => query(page).rule, (rule) => rule === rules[1], "the second rule");
    await page.keyboard.press("ArrowUp");
    await until(() => query(page).rule, (rule) => rule === rules[0], "the first rule");
  });

  await check("a rule is tried over the last week with another threshold, and saved", async (page) => {
    await page.goto(`${url}/alerts?view=rules&rule=group-stalls`);
    const fired = async () => {
      await page.locator("button", { hasText: "Try it" }).click();
      await page.locator('section[aria-label="Dry run"]').waitFor();
      await page.locator(".dry-run-card h2").waitFor();
      return Number(/fired (\d+) times/.exec(await page.locator(".dry-run-card h2").textContent())[1]);
    };
    const before = await fired();
    assert.ok(before > 3);
    const { task } = query(page);
    await page.getByLabel("Fires at or above").fill("8");
    await page.locator("button", { hasText: "Try it" }).click();
    await until(() => query(page).task, (now) => now !== task, "another dry run");
    await page.locator(".dry-run-card h2").waitFor();
    assert.ok(Number(/fired (\d+) times/.exec(await page.locator(".dry-run-card h2").textContent())[1]) < before);
    // The result stands under its address.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator(".dry-run-card .dry-bar").first().waitFor();
    await page.locator("button", { hasText: "Save the rule" }).click();
    await until(() => page.locator('section[aria-label="Rules"] tr', { hasText: "group-stalls" }).textContent(), (text) => /this page or the API/.test(text), "it is saved");
  }, { fixtureOnly: true });
}
