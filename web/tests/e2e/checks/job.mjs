// The job's page tells its story: the chain, the onset on one time axis with the counters, the replay in one click, the evidence as a file.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

export async function jobPage({ url, check, api }) {
  const job = (await api("/jobs?limit=200")).items.find((one) => one.runs > 0);
  const { chain, remedies, named } = await api(`/jobs/${job.job_id}/explanation`);

  await check(
    "a slow job's page prints the chain, marks the onset in both pictures, and shows no dash as a figure",
    async (page) => {
      await page.goto(`${url}/jobs/${job.job_id}`);
      const help = page.locator('section[aria-label="What would help"]');
      await help.waitFor();
      const said = (await page.locator('section[aria-label="Why"]').textContent()) + (await help.textContent());
      for (const one of chain) assert.ok(said.includes(one.text), one.text);
      assert.equal(await help.locator("li").count(), remedies.length);
      // A forecast by other jobs knows nothing of the slowdown: no slow job is said to end as usual.
      const figures = await page.locator('section[aria-label="Verdict"] .figures').textContent();
      assert.match(figures, /lost so far/);
      assert.doesNotMatch(figures, /forecast at the end/);
      // As drawn: steps and counters under the verdict, beside them who was there, where, and what would help, on the first screen.
      const top = async (label) => (await page.locator(`section[aria-label="${label}"]`).boundingBox()).y;
      const tops = await Promise.all(["Neighbours", "Placement", "What would help"].map(top));
      assert.deepEqual(
        tops,
        [...tops].sort((a, b) => a - b),
      );
      assert.ok(tops[2] < 860 && (await page.locator(".job-parts").boundingBox()).y < 520, `${tops}`);
      assert.equal(await page.locator('section[aria-label="Neighbours"] .share[data-named]').count(), named ? 1 : 0);
      const lines = page.locator(".job-left .onset line");
      await until(
        () => lines.count(),
        (n) => n === 2,
        "an onset line in the steps and in the counters",
      );
      const [steps, counters] = await lines.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
      assert.ok(Math.abs(steps - counters) < 1, `the axes differ: ${steps} and ${counters}`);
      assert.match(await page.locator(".job-steps .onset text").textContent(), new RegExp(`${named} started$`));
      assert.match(await page.locator('.job-parts svg[role="img"]').getAttribute("aria-label"), /NIC latency .* µs/);
      for (const figure of await page.locator(".figure-value, .facts dd").allTextContents())
        assert.notEqual(figure.trim(), "–");
      const first = await page.locator(".job-verdict .figures > div").first().textContent();
      assert.match(first, job.state === "RUNNING" ? /^[\d.]+ sstep time now$/ : /^(\d+:)?\d\d:\d\delapsed$/);
    },
    { fixtureOnly: true },
  );

  await check(
    "a job's page stays though its explanation fails; a finished job has neither a now line nor a forecast",
    async (page) => {
      await page.route(/\/explanation/, (route) =>
        route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"Later","status":503}' }),
      );
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.locator('section[aria-label="Neighbours"]').waitFor({ timeout: 5000 });
      await page.locator(".job-steps .now").waitFor();
      await page.unrouteAll();
      await page.route(new RegExp(`/jobs/${job.job_id}(\\?|$)`), async (route) => {
        if (route.request().resourceType() === "document") return route.continue();
        const answer = await (await route.fetch()).json();
        const end = new Date(Date.now() - 60_000).toISOString();
        await route.fulfill({ json: { ...answer, state: "COMPLETED", end } });
      });
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.locator(".job-steps path.high").waitFor();
      await page.waitForTimeout(500);
      assert.equal(await page.locator(".job-steps .now").count(), 0);
      assert.equal(await page.locator(".job-steps path.forecast").getAttribute("d"), "");
    },
    { fixtureOnly: true },
  );

  await check(
    "from a slow job, one click leads to its replay",
    async (page) => {
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.getByRole("link", { name: "Estimate by a replay" }).click();
      await page.waitForURL(/\/lab\?/);
      const asked = new URL(page.url()).searchParams;
      assert.deepEqual([asked.get("replay"), asked.get("job")?.replaceAll('"', "")], ["on", job.job_id]);
      // It is of the minutes in which the job was slow.
      const { slowdown } = await api(`/jobs/${job.job_id}/explanation`);
      const end = Date.parse(asked.get("at"));
      assert.ok(Math.abs(end - 1000 * asked.get("window") - Date.parse(slowdown.since)) < 60_000, page.url());
    },
    { fixtureOnly: true },
  );

  await check("a job's page keeps its layout while it loads", async (page) => {
    await page.addInitScript(() => {
      globalThis.shifted = 0;
      new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) globalThis.shifted += one.value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(`${url}/jobs/${job.job_id}`);
    await page.waitForSelector('.job-parts svg[role="img"]');
    await page.waitForTimeout(1500);
    const shifted = await page.evaluate(() => globalThis.shifted);
    assert.ok(shifted < 0.05, `the layout shifted by ${shifted.toFixed(3)}`);
  });
}
