// No page has a violation that axe can find, in both themes.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";

const PAGES = ["/", "/jobs", "/blame", "/drivers", "/forecast", "/lab", "/lab?view=noise", "/lab?replay=on", "/recommendations", "/recommendations?id=1",
  "/alerts", "/alerts?view=rules", "/alerts?view=silences", "/health", "/login", "/admin"];

/** Axe's word on the page as it stands, then in the dark. */
async function inBothThemes(page) {
  const found = {};
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(colorScheme === "light" ? 1200 : 400);
    found[colorScheme] = await violations(page);
  }
  return found;
}

export async function accessible({ url, check, api, timed, fabrics }) {
  const views = ["tiles", "ring", "group", "table"].map((view) => `/fabric/${timed.name}?view=${view}`);
  const trees = fabrics.filter((f) => f.kind === "fat_tree").slice(0, 2);
  const others = [...trees, ...fabrics.filter((f) => f.kind === "torus").slice(0, 1)].map((f) => `/fabric/${f.name}`);
  for (const path of [...PAGES, ...views, ...others]) {
    await check(`axe finds nothing on ${path}, light and dark`, async (page) => {
      await page.goto(url + path);
      await page.waitForLoadState("networkidle", { timeout: 5000 }).catch(() => {});
      assert.deepEqual(await inBothThemes(page), { light: [], dark: [] });
    });
  }

  await check("a job's page has no axe violation and answers with evidence, light and dark", async (page) => {
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0] ?? (await api("/jobs?limit=1")).items[0];
    if (!job) return;
    await page.goto(`${url}/jobs/${encodeURIComponent(job.job_id)}`);
    await page.waitForSelector('section[aria-label="Verdict"] h2');
    assert.deepEqual(await inBothThemes(page), { light: [], dark: [] });
  });
}
