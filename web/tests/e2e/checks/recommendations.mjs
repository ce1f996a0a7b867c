// Recommendations: why and what it is worth, plots before and after, who sends to whom, and what is taken away.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { query, until } from "../harness.mjs";

export async function recommendations({ url, check }) {
  await check(
    "a recommendation has its gain with an interval, plots before and after, matrices and its tables",
    async (page) => {
      await page.goto(`${url}/advice`);
      await page.waitForSelector(".plots canvas");
      assert.match(
        await page.locator('section[aria-label="Gain"]').textContent(),
        /×1\.48 as fast×1\.44 to ×1\.52, 90 %/,
      );
      const dark = (nth) =>
        page
          .locator('.plots [role="img"]:has(canvas), .plots .layers')
          .nth(nth)
          .evaluate((box) => {
            const canvas = box.querySelector("canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i] < 110 && data[i] === data[i + 1] && data[i] === data[i + 2]) n++;
            return n;
          });
      await until(
        () => dark(0),
        (n) => n > 500,
        "congested links before",
      );
      assert.ok((await dark(1)) < (await dark(0)) / 4, "fewer after");
      assert.equal(await page.locator(".matrices canvas").count(), 6);
      await page.locator(".before-after .segmented button", { hasText: "Pod 1" }).click();
      assert.equal(query(page).slice, "1");
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: /Download LFTs/ }).click(),
      ]);
      assert.match(readFileSync(await file.path(), "utf8"), /Unicast lids/);
      await page.locator(".before-after button", { hasText: "Export" }).click();
      const [picture] = await Promise.all([
        page.waitForEvent("download"),
        page.locator('[role="menuitem"]', { hasText: "PNG" }).click(),
      ]);
      assert.equal(
        readFileSync(await picture.path())
          .subarray(1, 4)
          .toString(),
        "PNG",
      );
      await page.locator(".traffic-card .segmented button", { hasText: "Table" }).click();
      await page.waitForSelector(".traffic-card table");
    },
    { fixtureOnly: true },
  );

  await check(
    "earlier addresses lead to the page with all that they hold",
    async (page) => {
      for (const [old, now] of [
        ["/recommendations?id=2", "/advice?id=2"],
        ["/deviation", "/drivers"],
        ["/sources", "/connect"],
      ]) {
        await page.goto(`${url}${old}`);
        await page.waitForURL((found) => `${found.pathname}${found.search}`.startsWith(now));
      }
    },
    { fixtureOnly: true },
  );

  await check(
    "a refused one says why, and a routing mode gives the line for the environment",
    async (page) => {
      await page.goto(`${url}/advice?id=2`);
      await page.waitForSelector(".recommendation-verdict");
      assert.match(await page.locator(".recommendation-verdict").textContent(), /Not recommended.*unsure/s);
      assert.equal(await page.getByRole("button", { name: /Download LFTs/ }).count(), 0);
      await page.goto(`${url}/advice?id=1`);
      await until(
        () => page.locator(".environment code").textContent(),
        (text) => text === "MPICH_GNI_ROUTING_MODE=ADAPTIVE_3",
        "the line",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "the loop is run from the page and shows its stages",
    async (page) => {
      await page.goto(`${url}/advice`);
      await page.locator("button", { hasText: "Run it…" }).click();
      await page.locator('[role="dialog"] button', { hasText: /^Run$/ }).click();
      await page.locator(".loop-stages li").first().waitFor();
      await page.locator(".loop-turn button", { hasText: "Cancel" }).click();
      await until(
        () => page.locator(".loop-turn").first().textContent(),
        (text) => /cancelled/.test(text),
        "it is cancelled",
      );
    },
    { fixtureOnly: true },
  );
}
