// The tour of a demo: by itself once, left at any step, by keyboard alone, on a phone too, and it blocks nothing.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { until } from "../harness.mjs";

const TITLES = [
  "The machine",
  "The slow job",
  "The cause",
  "Affected links",
  "What would help",
  "Connect your own data",
];

/** What the harness does for every other check is undone: this reader comes for the first time. */
const afresh = (page) =>
  page.addInitScript(
    () =>
      sessionStorage.getItem("came") ||
      (localStorage.removeItem("flitwatch-tour"), sessionStorage.setItem("came", "1")),
  );

export async function tour({ url, check, fabrics }) {
  await check(
    "the first visit shows the incident, and the tour neither moves nor covers what it explains; every page is in the bar",
    async (page) => {
      await afresh(page);
      const wrong = [];
      for (const [width, height] of [
        [390, 844],
        [1024, 768],
        [1440, 900],
      ]) {
        await page.setViewportSize({ width, height });
        await page.goto(url);
        const box = page.locator('aside[aria-label="Tour"]');
        await page.waitForSelector(".incident-chain");
        await box.waitFor();
        await page.waitForTimeout(300);
        const { top, over } = await page.evaluate(() => {
          const bar = document.querySelector(".tour").getBoundingClientRect();
          const main = document.querySelector("main").getBoundingClientRect();
          const card = document.querySelector(".home-incident").getBoundingClientRect();
          return { top: card.top - main.top, over: main.bottom - bar.top };
        });
        if (top < 0 || over > 1) wrong.push(`${width}: incident at ${top}, ${over} pixels under the tour`);
        const nav = page.locator('nav[aria-label="Pages"]');
        if (!(await nav.locator("a", { hasText: "Advice" }).isVisible())) {
          await nav.locator("button").click();
          for (const name of ["Blame", "Advice", "Health"]) await page.getByRole("menuitem", { name }).waitFor();
          await page.keyboard.press("Escape");
        }
        const { x, width: w } = await nav.locator("a", { hasText: "Alerts" }).boundingBox();
        if (x < 0 || x + w > width) wrong.push(`${width}: Alerts out of sight`);
      }
      assert.deepEqual(wrong, []);
    },
    { fixtureOnly: true },
  );
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ])
    for (const colorScheme of ["light", "dark"])
      await check(
        `the tour tells six steps by keyboard alone at ${viewport.width} pixels, ${colorScheme}`,
        async (page) => {
          await afresh(page);
          await page.goto(url);
          const box = page.locator('aside[aria-label="Tour"]');
          await page.waitForSelector(".incident-chain");
          for (const [at, title] of TITLES.entries()) {
            await until(
              () => box.locator("h2").textContent(),
              (text) => text === title,
              `step ${at + 1}`,
            );
            assert.match(await box.textContent(), new RegExp(`Step ${at + 1} of 6`));
            assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width);
            if (at === 0 || at === 5) assert.deepEqual(await violations(page), [], title);
            const { y, height } = await box.boundingBox();
            assert.ok(y >= 0 && y + height <= viewport.height, "the step is in sight");
            const button = box.getByRole("button", { name: at < 5 ? "Next" : "Connect your own data" });
            if (at === 0) await button.focus();
            else
              for (let tabs = 0; !(await button.evaluate((one) => one === document.activeElement)); tabs++) {
                assert.ok(tabs < 4, "four tabs from the title to the way on");
                await page.keyboard.press("Tab");
              }
            await page.keyboard.press("Enter");
          }
          await page.waitForURL(/\/connect$/);
          await page.goto(url);
          await page.waitForSelector(".incident-chain");
          assert.equal(await box.count(), 0, "done, it does not come again");
        },
        { fixtureOnly: true, viewport, colorScheme },
      );

  await check(
    "the tour can be left at any step, does not come again, blocks nothing and starts from the help menu",
    async (page) => {
      await afresh(page);
      await page.goto(url);
      const box = page.locator('aside[aria-label="Tour"]');
      await box.waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.closest(".tour") ?? null), null);
      await box.getByRole("button", { name: "Next" }).click();
      await page.locator('nav[aria-label="Pages"] a', { hasText: "Jobs" }).click();
      await page.waitForURL(/\/jobs/);
      assert.equal(await box.locator("h2").textContent(), "The slow job");
      await page.keyboard.press("Escape");
      await box.waitFor({ state: "detached" });
      await page.goto(url);
      await page.waitForSelector(".incident-chain");
      assert.equal(await box.count(), 0);
      await page.getByRole("button", { name: "Help" }).click();
      await page.getByRole("menuitem", { name: "Take the tour" }).click();
      await box.waitFor();
      await box.getByRole("button", { name: "Leave the tour" }).click();
      await box.waitFor({ state: "detached" });
    },
    { fixtureOnly: true },
  );

  await check(
    "on a machine that is not simulated no tour comes by itself",
    async (page) => {
      await afresh(page);
      await page.route("**/api/v1/fabrics", async (route) => {
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: { ...answer, items: answer.items.map((one) => ({ ...one, simulated: false })) } });
      });
      await page.goto(`${url}/?machine=${fabrics[0].name}`);
      await page.waitForSelector(".incident-chain");
      await page.waitForTimeout(500);
      assert.equal(await page.locator('aside[aria-label="Tour"]').count(), 0);
    },
    { fixtureOnly: true },
  );
}
