// No page has a violation that axe can find, in both themes.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { opened, pagesOf } from "../pages.mjs";

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

export async function accessible(site) {
  const { url, check, api } = site;
  for (const path of await pagesOf(site)) {
    await check(`axe finds nothing on ${path}, light and dark`, async (page) => {
      await opened(page, url + path);
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
