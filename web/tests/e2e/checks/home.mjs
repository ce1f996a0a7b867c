// Home: the incident first, as a chain from its cause to what helps.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

export async function home({ url, check, api, fabrics }) {
  await check(
    "home says who slows whom, over which links, since when, and what helps; its badge counts what fires",
    async (page) => {
      const told = await api(`/incident?fabric=${fabrics[0].id}`);
      assert.equal(told.verdict, "incident");
      await page.goto(url);
      const card = page.locator('section[aria-label="Incident"]');
      await until(
        () => card.locator("h2").textContent(),
        (text) => text === told.title,
        "the API's title",
      );
      const steps = card.locator(".incident-chain > li");
      assert.equal(await steps.count(), 4);
      const [cause, links, slowed, remedy] = await steps.allTextContents();
      assert.ok(cause.includes(told.aggressor.job_id) && cause.includes(told.since.slice(11, 19)), cause);
      assert.equal(await steps.nth(1).locator("a").count(), Math.min(3, told.links.length));
      assert.match(links, /g10 → g11.*9\.1/);
      assert.ok(slowed.includes(told.victims[0].job_id) && slowed.includes("+31 %"), slowed);
      assert.ok(remedy.includes(told.remedies[0].text), remedy);
      assert.match(
        remedy,
        /At the speed of \d\d:\d\d:\d\d UTC, this saves up to /,
        "a saving says of which moment it is",
      );
      // Whom it slows needs attention, with what that costs; who causes it is not listed among those that suffer.
      const item = page.locator(".home-item", { hasText: `Job ${told.victims[0].job_id} ` });
      assert.match(await item.first().textContent(), /is slow: \+31 % since (\d+ [A-Z][a-z]{2} )?\d\d:\d\d/);
      assert.match(await item.first().textContent(), new RegExp(`min lost; job ${told.aggressor.job_id} fills`));
      const hrefs = await page.locator(".home-item a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
      assert.ok(!hrefs.some((href) => href.startsWith(`/jobs/${told.aggressor.job_id}`)), hrefs.join(" "));
      const { items: firing } = await api("/alerts?phase=firing");
      await page.locator(".nav-badge", { hasText: new RegExp(`^${firing.length} firing$`) }).waitFor();
      // Beside hot links the jobs that have nodes at both of their ends.
      const pair = page.locator(".hot-pairs tbody tr").first();
      await pair.locator('a[href^="/jobs/"]').first().waitFor();
      await steps.nth(2).locator("a").first().click();
      await page.waitForURL(new RegExp(`/jobs/${told.victims[0].job_id}`));
    },
    { fixtureOnly: true },
  );

  await check(
    "home lists the worst jobs with their steps, by how much they are slower and when they end, as the API says",
    async (page) => {
      const told = await api(`/runs/slowest?fabric=${fabrics[0].name}&limit=8`);
      await page.goto(url);
      const rows = page.locator('section[aria-label="Worst jobs"] tbody tr');
      await rows.first().waitFor();
      assert.equal(await rows.count(), told.items.length);
      const [first, second] = await rows.allTextContents();
      assert.ok(first.includes(told.items[0].job_id) && first.includes("+31 %"), first);
      assert.match(first, /\d\d:\d\d–(\d+ \w+ )?\d\d:\d\d$/);
      assert.match(second, /–unknown$/, "no earlier run, and no end");
      // The figure of an incident is of all slow steps: each says which it is.
      await page.locator('section[aria-label="Worst jobs"] th', { hasText: "vs usual, 30 min" }).waitFor();
      const line = rows.first().locator(".step-line");
      assert.match(await line.getAttribute("aria-label"), /60 steps, \+31 % against 14 earlier runs/);
      const drawn = (name) => line.locator(name).evaluate((one) => one.getAttribute("d").split("L").length);
      assert.deepEqual(await Promise.all([drawn(".own"), drawn(".usual")]), [60, 60]);
      await rows.first().locator("a").first().click();
      await page.waitForURL(new RegExp(`/jobs/${told.items[0].job_id}`));
    },
    { fixtureOnly: true },
  );

  await check(
    "costs and coverage are of the last hour, of today or of a week, by the choice that the address keeps",
    async (page) => {
      await page.goto(url);
      const label = page.locator(".home-figures dt", { hasText: "Lost to noise" });
      assert.equal(await label.textContent(), "Lost to noise, last hour");
      const data = page.locator('section[aria-label="Data"]');
      const strip = data.locator("dl > div", { hasText: "Router counters" }).locator(".coverage-bar");
      assert.match(await strip.getAttribute("aria-label"), /54 of 60 steps/);
      assert.deepEqual(
        [await strip.locator('[data-share="none"]').count(), await strip.locator('[data-share="part"]').count()],
        [5, 1],
      );
      const asked = page.waitForRequest((one) => one.url().includes("/ingest/coverage?span=604800s"));
      await page.getByRole("radio", { name: "Week" }).click();
      await asked;
      await page.waitForURL(/span=week/);
      assert.equal(await label.textContent(), "Lost to noise, last 7 days");
      await page.reload();
      assert.equal(await label.textContent(), "Lost to noise, last 7 days");
    },
    { fixtureOnly: true },
  );

  await check(
    "a moment without counters is unknown, not calm",
    async (page) => {
      await page.goto(`${url}/?at=${new Date(Date.now() - 40 * 86_400_000).toISOString()}`);
      const card = page.locator('section[aria-label="Needs attention"]');
      await card.getByText("No counters for this time").waitFor();
      assert.doesNotMatch(await card.textContent(), /Nothing needs attention|none of them is slow/);
      const lost = page.locator(".home-figures > div", { hasText: "Lost to noise" });
      assert.match(await lost.textContent(), /–\s*no counters for this time/);
    },
    { fixtureOnly: true },
  );

  await check(
    "a machine where nothing is slow says so",
    async (page) => {
      const quiet = fabrics.find((one) => one.name === "switched");
      await page.goto(`${url}/?machine=${quiet.name}`);
      const card = page.locator('section[aria-label="Incident"]');
      await card.getByRole("heading", { name: "No incident" }).waitFor();
      assert.equal(await card.locator(".incident-chain").count(), 0);
    },
    { fixtureOnly: true },
  );
}
