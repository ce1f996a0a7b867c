// What stands when data stop, and that it goes away by itself.
import assert from "node:assert/strict";
import { colours, ready, until } from "../harness.mjs";

export async function stale({ url, check, fabricUrl }) {
  await check(
    "silence is shown as stale and recovers by itself",
    async (page) => {
      await page.goto(fabricUrl);
      await ready(page);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live at first",
      );
      await fetch(`${url}/fixture/fail`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Stale/.test(t),
        "stale when the connection is lost",
        15_000,
      );
      assert.match(await page.locator(".banner").textContent(), /Live data stopped at .*next try|trying again/s);
      const desk = page.viewportSize();
      await page.setViewportSize({ width: 390, height: 844 });
      const beyond = await page.locator(".banner").evaluate((banner) => {
        const box = banner.getBoundingClientRect();
        const out = (one) =>
          one.getBoundingClientRect().bottom > box.bottom || one.getBoundingClientRect().top < box.top;
        return [...banner.children].filter(out).map((one) => one.textContent);
      });
      assert.deepEqual(beyond, [], "on a phone the banner holds its whole text");
      await page.setViewportSize(desk);
      await until(
        () => colours(page),
        (n) => n >= 5,
        "the picture stays",
      );
      await fetch(`${url}/fixture/mend`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live again by itself",
        40_000,
      );
      await page.waitForSelector(".banner", { state: "detached" });
      await fetch(`${url}/fixture/quiet`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Stale/.test(t),
        "stale when nothing new comes",
        45_000,
      );
      assert.match(await page.locator(".banner").textContent(), /no new samples/);
      await fetch(`${url}/fixture/talk`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live once samples come",
        15_000,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a job that ends leaves the list of running jobs by itself",
    async (page) => {
      await page.goto(`${url}/forecast`);
      const list = page.locator('section[aria-label="Running jobs"]');
      await list.locator("tbody tr[aria-rowindex]").first().waitFor();
      await fetch(`${url}/fixture/end`);
      await until(
        () => list.textContent(),
        (text) => /No running job records its steps/.test(text),
        "the list is empty",
        8000,
      );
      await fetch(`${url}/fixture/begin`);
    },
    { fixtureOnly: true },
  );

  await check(
    "a page without a clock says that what it shows is old, keeps it, and recovers",
    async (page) => {
      await page.goto(`${url}/health`);
      await page.waitForSelector("h1 >> text=Ingest health");
      const rows = await page.locator("table tbody tr").count();
      await fetch(`${url}/fixture/fail`);
      await until(
        () => page.locator(".app-banner").textContent(),
        (text) => /Stale: as of \d\d:\d\d:\d\d UTC/.test(text),
        "said to be stale",
        40_000,
      );
      assert.equal(await page.locator("table tbody tr").count(), rows);
      await fetch(`${url}/fixture/mend`);
      await until(
        () => page.locator(".app-banner").textContent(),
        (text) => text === "",
        "renewed by itself",
        40_000,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a failure of the API names what to do and offers a retry",
    async (page) => {
      await fetch(`${url}/fixture/fail`);
      await page.goto(`${url}/health`);
      await page.waitForSelector('[role="alert"] >> text=log', { timeout: 30_000 });
      await fetch(`${url}/fixture/mend`);
      await page.locator('[role="alert"] button').click();
      await page.waitForSelector("h1 >> text=Ingest health");
    },
    { fixtureOnly: true },
  );
}
