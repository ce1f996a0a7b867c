// The search finds actions though letters are swapped, and lists what was opened lately until it is cleared.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

export async function search({ url, check, api }) {
  await check("search forgives swapped letters and remembers what was opened", async (page) => {
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0].job_id;
    const field = page.locator(".search-field");
    // On a busy machine a page may be drawn before it listens to keys.
    const opened = async () => (await page.keyboard.press("/"), field.isVisible());
    const find = async (text) => {
      await until(opened, Boolean, "the search opens");
      await field.fill(text);
    };
    await page.goto(url);
    await page.locator(".home-item").first().waitFor();
    await find("foercast");
    await page.locator(".search-list .menu-item", { hasText: "Forecast" }).click();
    await page.waitForURL("**/forecast**");
    await find(job);
    await page.locator(".search-list .menu-item", { hasText: job }).first().click();
    await page.waitForURL(`**/jobs/${job}**`);
    await page.reload();
    await page.locator("main h1").first().waitFor();
    await until(opened, Boolean, "the search opens");
    await field.fill("");
    const recent = page.locator(".search-list .menu-item", { hasText: job });
    await recent.waitFor();
    await page.locator(".menu-item", { hasText: "Clear this list" }).click();
    await recent.waitFor({ state: "detached" });
    assert.deepEqual(await page.evaluate(() => JSON.parse(localStorage.getItem("flitwatch-recent"))), []);
  });
}
