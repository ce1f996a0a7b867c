// Any window by its dates, as the window shown and as the one to compare with; the address keeps both.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { query, ready, until } from "../harness.mjs";

const DAY_MS = 86_400_000;
const field = (ms) => new Date(ms).toISOString().slice(0, 19);
const address = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");

const open = async (page, trigger) => {
  await page.locator(".context button", { hasText: trigger }).click();
  await page.locator('[role="menuitem"]', { hasText: /^Choose dates/ }).click();
  await page.waitForSelector("[role=dialog]");
};
const fill = async (page, from, to) => {
  await page.getByLabel("From, UTC").fill(field(from));
  await page.getByLabel("To, UTC").fill(field(to));
  await page.keyboard.press("Enter");
};

export async function dates({ fabricUrl, check, timed }) {
  await check("a window is chosen by its dates, and so is the one to compare with", async (page) => {
    const edge = Math.floor(Date.parse(timed.last_ts) / 60_000) * 60_000;
    await page.goto(`${fabricUrl}?span=7d`);
    await ready(page);
    await open(page, /^Time axis/);
    assert.deepEqual(await violations(page), []);
    await fill(page, edge, edge - 60_000);
    assert.match(await page.locator("[role=alert]").textContent(), /end must be later/);
    await fill(page, edge + DAY_MS, edge + 2 * DAY_MS);
    assert.match(await page.locator("[role=alert]").textContent(), /newest data/);
    await fill(page, edge - 1_800_000, edge - 900_000);
    await until(
      () => query(page),
      ({ from, to }) => from === address(edge - 1_800_000) && to === address(edge - 900_000),
      "the chosen window in the address",
    );
    await page.keyboard.press("d");
    await open(page, /^Against/);
    await fill(page, edge - 3_600_000, edge - 2_700_000);
    await until(
      () => query(page),
      ({ cfrom, cto, span }) =>
        cfrom === address(edge - 3_600_000) && cto === address(edge - 2_700_000) && span === "7d",
      "the window to compare with in the address",
    );
    assert.match(await page.locator(".context").textContent(), /Against the chosen one/);
  });
}
