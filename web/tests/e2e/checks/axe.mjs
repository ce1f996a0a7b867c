// No page has a violation that axe can find, in both themes.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";

export async function accessible({ url, check, api, timed, fabrics }) {
  for (const colorScheme of ["light", "dark"]) {
    for (const path of ["/", `/fabric/${timed.name}?view=tiles`, `/fabric/${timed.name}?view=ring`, `/fabric/${timed.name}?view=group`, `/fabric/${timed.name}?view=table`, "/jobs", "/blame", "/drivers", "/forecast", "/lab", "/lab?view=noise", "/lab?replay=on", "/recommendations", "/recommendations?id=1", "/alerts", "/alerts?view=rules", "/alerts?view=silences", "/health", "/login", "/admin", ...(fabrics.filter((f) => f.kind === "fat_tree").slice(0, 2).concat(fabrics.filter((f) => f.kind === "torus").slice(0, 1)).map((f) => `/fabric/${f.name}`))]) {
      await check(`axe finds nothing on ${path} (${colorScheme})`, async (page) => {
        await page.goto(url + path);
        await page.waitForLoadState("networkidle").catch(() => {});
        await page.waitForTimeout(1200);
        assert.deepEqual(await violations(page), []);
      }, { colorScheme });
    }
  }

  for (const colorScheme of ["light", "dark"]) await check(`a job's page has no axe violation and answers with evidence (${colorScheme})`, async (page) => {
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0] ?? (await api("/jobs?limit=1")).items[0];
    if (!job) return;
    await page.goto(`${url}/jobs/${encodeURIComponent(job.job_id)}`);
    await page.waitForSelector('section[aria-label="Verdict"] h2');
    await page.waitForTimeout(1200);
    assert.deepEqual(await violations(page), []);
  }, { colorScheme });
}
