// An address that cannot be shown as typed is refused with its reason: no page shows other data in its place.
import assert from "node:assert/strict";

export async function addresses({ url, check, api, fabrics, timed }) {
  await check("an address that cannot be shown says why and shows no other data", async (page) => {
    const hour = (ago) => new Date(Date.now() - ago * 3_600_000).toISOString();
    const wrong = {};
    for (const [path, reason] of [
      ["/?machine=nosuch", /No machine is called "nosuch"/],
      ["/jobs?fabric=nosuch", /No machine is called "nosuch"/],
      ["/?at=banana", /"banana" is not a time/],
      [`/?at=${hour(-24)}`, /in the future/],
      ["/?at=2030", /"2030" is not a time/],
      [`/fabric/${timed.name}?from=${hour(1)}&to=${hour(2)}`, /before it begins/],
      [`/fabric/${timed.name}?router=99999`, /has no router 99999/],
      [`/fabric/${timed.name}?view=tree`, /has no view "tree"/],
      ["/health?day=1", /no parameter "day"/],
    ]) {
      await page.goto(url + path);
      await page.getByRole("heading", { name: "This address is not valid" }).waitFor();
      const text = await page.locator("main").textContent();
      if (!reason.test(text) || (await page.locator("main .card").count())) wrong[path] = text;
    }
    assert.deepEqual(wrong, {});
    await page.locator("main a", { hasText: "Open the page without this part" }).click();
    await page.waitForURL((at) => at.pathname === "/health" && at.search === "");
    await page.locator("main .card").first().waitFor();
  });

  await check("a machine that is opened in one tab stays that tab's", async (page) => {
    const [first, second] = fabrics;
    await page.goto(`${url}/fabric/${first.name}`);
    await page.waitForSelector("h1");
    const other = await page.context().newPage();
    await other.goto(`${url}/fabric/${second.name}`);
    await other.waitForSelector("h1");
    await page.goto(url);
    await page.locator(".top button", { hasText: first.name }).first().waitFor();
  });

  await check("two jobs on one picture have keys that differ, as their outlines do", async (page) => {
    const [a, b] = (await api("/jobs?limit=2&state=RUNNING")).items.map((job) => job.job_id);
    await page.goto(`${url}/fabric/${timed.name}?view=tiles&job=${a},${b}`);
    await page.locator(".chip .job-key").nth(1).waitFor();
    const keys = await page.locator(".chip .job-key line").evaluateAll((all) => all.map((one) => one.outerHTML));
    assert.notEqual(keys[0], keys[1]);
  });
}
