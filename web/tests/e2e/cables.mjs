// Planted cables (tests/e2e/test_page.py): FLITWATCH_CABLES lists the condition of each by fabric, as the API reports it.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const panel = 'section[aria-label="Slow and flapping cables"]';

for (const [fabric, conditions] of Object.entries(JSON.parse(process.env.FLITWATCH_CABLES)))
  await check(`the page of ${fabric} reports ${conditions.length} cables`, async (page) => {
    const answered = page.waitForResponse((response) => response.url().includes("/links/slow"));
    await page.goto(`${url}/fabric/${fabric}`);
    await answered;
    if (conditions.length) {
      const text = await until(
        () => page.locator(panel).textContent(),
        (all) => all.includes(conditions[0]),
        "the cables",
      );
      for (const condition of conditions) assert.ok(text.includes(condition), condition);
    } else {
      await page.waitForLoadState("networkidle");
      assert.equal(await page.locator(panel).count(), 0);
    }
  });

await suite.finish();
