// A display on a wall: pages take turns by themselves, each with twice as much on it as at a desk, in larger type.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

const at = (page) => new URL(page.url()).pathname;

/** How much of a page there is (in its own lengths), and the height of a line of its title on the screen. */
const measured = (page) =>
  page.evaluate(() => {
    const main = document.querySelector("main");
    const title = document.querySelector(".home-jobs h2").getBoundingClientRect();
    return {
      area: main.clientWidth * main.clientHeight,
      line: title.height,
      wide: document.documentElement.scrollWidth,
    };
  });

export async function wall({ url, check, timed }) {
  await check(
    "a wall of 3840 pixels shows twice as much as a desk of 1920, in larger type",
    async (page) => {
      const desk = await page.context().newPage();
      await desk.setViewportSize({ width: 1920, height: 1080 });
      await desk.goto(url);
      await page.goto(`${url}/?wall=600`);
      for (const one of [desk, page]) await one.locator(".home-jobs tbody tr").first().waitFor();
      const [near, far] = [await measured(desk), await measured(page)];
      assert.ok(far.area >= 2 * near.area, `${far.area} against ${near.area}`);
      assert.ok(far.line >= 1.3 * near.line, `${far.line} pixels against ${near.line}`);
      assert.ok(far.wide <= 3840);
      const rows = (one) => one.locator(".home-jobs tbody tr, .home-pairs tbody tr").count();
      assert.ok((await rows(page)) > 1.5 * (await rows(desk)), `${await rows(page)} rows against ${await rows(desk)}`);
    },
    { viewport: { width: 3840, height: 2160 } },
  );

  await check(
    "a wall of 3840 pixels shows the incident, the ring, the worst jobs and the hottest links at once",
    async (page) => {
      await page.goto(`${url}/?wall=600`);
      const parts = {
        incident: 'section[aria-label="Incident"] h2',
        ring: ".home-picture .ring canvas",
        jobs: 'section[aria-label="Worst jobs"] tbody tr',
        links: 'section[aria-label="Hottest pairs"] tbody tr',
      };
      for (const [name, selector] of Object.entries(parts)) {
        const one = page.locator(selector).first();
        await one.waitFor();
        const { x, y, width, height } = await one.boundingBox();
        assert.ok(x >= 0 && y >= 0 && x + width <= 3840 && y + height <= 2160, `${name} at ${x}, ${y}`);
      }
    },
    { viewport: { width: 3840, height: 2160 }, fixtureOnly: true },
  );

  await check("the pages of a wall take turns until somebody is there, and its key ends it", async (page) => {
    await page.goto(`${url}/?wall=5`);
    const seen = new Set();
    await until(
      async () => seen.add(at(page) + new URL(page.url()).search).size,
      (n) => n >= 3,
      "three pages in turn",
    );
    assert.ok(
      [...seen].some((one) => one.startsWith(`/fabric/${timed.name}`)),
      [...seen].join(" "),
    );
    await page.mouse.move(200, 300);
    await page.waitForSelector("text=stays while in use");
    const before = page.url();
    await page.keyboard.press("n");
    await until(
      () => page.url(),
      (now) => now !== before,
      "the next page",
    );
    assert.equal(await page.locator('.wall-top [aria-current="page"]').count(), 1);
    await page.keyboard.press("w");
    await page.locator('.top nav a[aria-current="page"]').waitFor();
    assert.equal(await page.locator(".wall-top").count(), 0);
  });
}
