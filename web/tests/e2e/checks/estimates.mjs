// Blame, drivers, forecast: what they say, the table behind each picture, files, and what stands where there are too few runs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { query, until } from "../harness.mjs";

export async function estimates({ url, check, api }) {
  const { items } = await api("/estimates");
  if (!items?.some((one) => one.blame.estimate_id !== null)) {
    console.log("skip  blame, drivers, forecast: this platform has no estimate yet");
    return;
  }

  await check("blame ranks with q-value and direction, and shows the runs behind a name", async (page) => {
    await page.goto(`${url}/blame`);
    const rows = page.locator('section[aria-label="Ranking"] tbody tr[aria-rowindex]');
    await rows.first().waitFor();
    assert.match(await rows.first().textContent(), /named32\.0/);
    const before = await page.locator(".runs-behind h2").textContent();
    await page.keyboard.press("j");
    await until(
      () => page.locator(".runs-behind h2").textContent(),
      (now) => now !== before,
      "the next name's runs",
    );
    assert.equal(query(page).who, "2");
    assert.ok((await page.locator(".runs-behind circle").count()) > 10);
    assert.equal(await page.locator('section[aria-label="How to read this"] li').count(), 3);
    assert.match(await page.locator('section[aria-label="How to read this"]').textContent(), /not prove/);
    // The table behind the picture has a row a run.
    const dots = await page.locator(".runs-behind circle").count();
    await page.locator(".runs-behind .segmented button", { hasText: "Table" }).click();
    assert.equal(Number(await page.locator(".runs-behind table").getAttribute("aria-rowcount")), dots + 1);
  });

  await check("300 names filter at once and stay in the address", async (page) => {
    await page.goto(`${url}/blame`);
    await page.waitForSelector('section[aria-label="Ranking"] tbody tr[aria-rowindex]');
    const cells = page.locator('section[aria-label="Ranking"] tbody tr[aria-rowindex] td:nth-child(2)');
    const name = (await cells.nth(3).textContent()).trim();
    await page.getByLabel("Filter names").fill(name);
    await until(
      async () => (await cells.allTextContents()).every((text) => text.includes(name)),
      Boolean,
      "the filter holds",
    );
    await page.waitForURL(/q=/);
  });

  await check("drivers draws sets by counters; a chosen cell is explained; the picture leaves as SVG", async (page) => {
    await page.goto(`${url}/drivers`);
    await page.waitForSelector(".heat-scroll svg");
    const { sets, counters } = await api("/estimates/deviation");
    assert.equal(await page.locator(".heat-scroll rect.cell").count(), sets.length * counters.length);
    await page.locator(".heat-scroll rect.cell").nth(1).click();
    assert.equal(
      await page.locator('section[aria-label="Selected counter"] h2').textContent(),
      counters[1].abbreviation,
    );
    await page.locator('section[aria-label="Counters by application"] button', { hasText: "Export" }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.locator('[role="menuitem"]', { hasText: "SVG" }).click(),
    ]);
    const svg = readFileSync(await file.path(), "utf8");
    assert.match(svg, /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.ok(svg.includes(counters[0].abbreviation));
  });

  await check("forecast shows the band over the observed, its backtest and the ablations", async (page) => {
    await page.goto(`${url}/forecast`);
    await page.waitForSelector(".picture-body svg path.high");
    assert.match(await page.locator('section[aria-label="Forecaster"]').textContent(), /Backtest error.*%/);
    assert.ok((await page.locator('section[aria-label="Backtests"] tbody tr[aria-rowindex]').count()) >= 1);
  });

  await check(
    "the forecast page says what a forecast rests on, and of jobs without steps how long they take or why nobody can tell",
    async (page) => {
      await page.goto(`${url}/forecast`);
      const rests = page.locator(".rests-on");
      await rests.getByText("attention: first stalls of its routers (+2.4 points), and 1 more").waitFor();
      assert.equal(
        await rests.locator("circle.exposed").count(),
        2,
        "only inputs whose interval lies above zero stand out",
      );
      assert.match(await rests.textContent(), /placement.*not used/s);
      const jobs = page.locator('section[aria-label="Jobs without steps"]');
      const rows = jobs.locator("tbody tr[aria-rowindex]");
      assert.match(await rows.nth(0).textContent(), /40 min.*91 % of 180.*44 longer jobs of the same name and size/s);
      assert.match(await rows.nth(1).textContent(), /cannot tell.*has 3/s);
    },
    { fixtureOnly: true },
  );

  const poor = items.find((one) => one.blame.estimate_id === null && one.blame.lacks);
  if (poor) {
    await check("too few runs say what they need", async (page) => {
      await page.goto(`${url}/blame?exe=${encodeURIComponent(poor.exe)}&nodes=${poor.nodes}`);
      await page.waitForSelector(".lacking");
      assert.ok((await page.locator(".lacking").textContent()).includes(poor.blame.lacks));
    });
  }
}
