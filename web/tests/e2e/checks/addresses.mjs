// An address that cannot be shown as typed is refused with its reason: no page shows other data in its place.
import assert from "node:assert/strict";

export async function addresses({ url, check, timed }) {
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
      await page.getByRole("heading", { name: "This address cannot be shown" }).waitFor();
      const text = await page.locator("main").textContent();
      if (!reason.test(text) || (await page.locator("main .card").count())) wrong[path] = text;
    }
    assert.deepEqual(wrong, {});
    await page.locator("main a", { hasText: "Open the page without it" }).click();
    await page.waitForURL((at) => at.pathname === "/health" && at.search === "");
    await page.locator("main .card").first().waitFor();
  });
}
