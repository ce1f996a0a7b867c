// Visits as people make them: the slow job, the long list, the phone, hostile names.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { until } from "../harness.mjs";
import { readCsv, savedBy } from "./exports.mjs";
import { firstVisit } from "../visit.mjs";

export async function visits({ url, check, api, timed }) {
  await check("what home, a job's neighbours and health list leaves as CSV", async (page) => {
    const saved = async (button, entry) => readCsv(await savedBy(page, button, entry));
    await page.goto(url);
    const items = page.locator(".home-item");
    await items.first().waitFor();
    // More may come to the list between the file and the count.
    const differs = async () => {
      const listed = await saved(page.locator(".context button", { hasText: "Export" }), "attention as CSV");
      return listed.rows.length - (await items.count());
    };
    await until(differs, (rows) => rows === 0, "the file has the rows of the list");
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0];
    await page.goto(`${url}/jobs/${job.job_id}`);
    assert.match(
      (await saved(page.locator('section[aria-label="Neighbours"] button', { hasText: "Export" }), "Table as CSV"))
        .header,
      /shared_routers,shared_groups,overlap_s/,
    );
    await page.goto(`${url}/health`);
    assert.match(
      (await saved(page.locator('section[aria-label="Gaps"] button', { hasText: "Export" }), "Table as CSV")).header,
      /^Device,Schema,/,
    );
  });

  await check(
    "hostile names of jobs, users and hosts are text",
    async (page) => {
      for (const path of [
        "/jobs",
        "/incidents",
        "/incidents/139",
        "/",
        `/fabric/${timed.name}`,
        "/blame?who=2",
        "/forecast",
        "/lab",
        "/drivers",
        "/advice?id=1",
        "/alerts",
        "/alerts?alert=41",
        "/alerts?view=rules",
        "/alerts?view=silences",
        "/lab?view=noise",
        "/lab?replay=on",
        "/advice?id=3",
        "/fabric/torus-like",
        "/health",
      ]) {
        await page.goto(url + path);
        await page.waitForTimeout(1500);
      }
      const hostile = (await api("/jobs?limit=100")).items.find((job) => job.name.includes("<img"));
      await page.goto(`${url}/jobs/${hostile.job_id}`);
      await page.waitForSelector("h1");
      assert.ok(
        (await page.locator("h1").locator("xpath=ancestor::*[contains(@class,'context')]").textContent()).includes(
          "<b>mallory</b>",
        ),
        "the user's name is text on the job's page",
      );
      await page.goto(`${url}/jobs?user=${encodeURIComponent("<b>mallory</b>")}`);
      await page.locator(".chip", { hasText: "user <b>mallory</b>" }).waitFor();
      assert.ok(
        (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(3)").allTextContents()).every(
          (user) => user === "<b>mallory</b>",
        ),
      );
      await page.goto(`${url}/health`);
      await page.locator('section[aria-label="Gaps"] td', { hasText: "<img src=x" }).waitFor();
      await page.goto(`${url}/lab?replay=on&fabric=${timed.name}&job=${hostile.job_id}`);
      await until(
        () =>
          page
            .getByLabel("Job to move")
            .textContent()
            .catch(() => ""),
        (text) => text.includes("<img src=x"),
        "the name is in the list as text",
      );
      await page.goto(`${url}/jobs`);
      await page.waitForSelector("h1");
      await page.keyboard.press("/");
      await page.locator(".search-field").fill("img src");
      await page.locator(".menu-item", { hasText: "<img src=x" }).first().waitFor();
      await page.goto(`${url}/fabric/${timed.name}?job=${hostile.job_id}`);
      await page.waitForSelector(".chip");
      assert.match(await page.locator(".chip").textContent(), /<img src=x/);
      assert.equal(await page.evaluate(() => window.__hurt), undefined);
      assert.equal(await page.locator('img[src="x"]').count(), 0);
    },
    { fixtureOnly: true },
  );

  await check(
    "2,000 jobs are reached by scrolling, and filter by text and by user",
    async (page) => {
      await page.goto(`${url}/jobs`);
      await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
      const listed = async () => Number(await page.locator(".data-table table").getAttribute("aria-rowcount")) - 1;
      // To its end, a page of 500 at a time.
      await until(
        async () => {
          await page.locator(".data-table").evaluate((box) => box.scrollTo(0, box.scrollHeight));
          return listed();
        },
        (rows) => rows >= 2000,
        "scrolling reaches all jobs",
      );
      await page.locator(".data-table").evaluate((box) => box.scrollTo(0, 0));
      // By its number: the first row in the document is still one further down for as long as the table has not followed the scroll.
      const user = page.locator('.data-table tbody tr[aria-rowindex="2"] td:nth-child(3) a');
      const name = await user.textContent();
      await user.click();
      await until(
        async () =>
          (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(3)").allTextContents()).every(
            (each) => each === name,
          ),
        Boolean,
        "one user's jobs",
      );
      await page.getByLabel("All users").click();
      await until(listed, (rows) => rows >= 500, "everybody's again");
      assert.ok(
        (await page.locator(".data-table tbody tr[aria-rowindex]").count()) < 100,
        "only rows in sight are in the document",
      );
      await page.getByLabel("Filter jobs").fill("amg");
      await page.waitForURL(/q=amg/);
      await until(
        async () =>
          (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(2)").allTextContents()).every((t) =>
            t.includes("amg"),
          ),
        Boolean,
        "the filter holds",
      );
      // The order stands in the address, holds for all jobs, and is what the keys and the file follow.
      await page.locator("th button", { hasText: "Nodes" }).click();
      await page.waitForURL(/sort=-nodes/);
      const nodes = async () =>
        (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(6)").allTextContents()).map((t) =>
          Number(t.replace(",", "")),
        );
      const descending = (all) => all.length > 5 && all.every((n, i) => i === 0 || n <= all[i - 1]);
      await until(nodes, descending, "most nodes first");
      await page.reload();
      await until(nodes, descending, "most nodes first after a reload");
      assert.equal(await page.title(), "Jobs · Flitwatch");
      await page.keyboard.press("j");
      await until(
        () => page.locator("tr[data-current]").getAttribute("aria-rowindex"),
        (row) => row === "3",
        "j moves to the row below",
      );
      // The field shows what the address asks for, wherever that came from.
      await page.locator('nav[aria-label="Pages"] a', { hasText: "Jobs" }).click();
      await until(
        () => page.getByLabel("Filter jobs").inputValue(),
        (text) => text === "",
        "the field follows a link",
      );
      await page.goBack();
      await until(
        () => page.getByLabel("Filter jobs").inputValue(),
        (text) => text === "amg",
        "the field follows the way back",
      );
    },
    { fixtureOnly: true },
  );

  await check("why was a job slow: at most four clicks from home, evidence on each screen", async (page) => {
    await firstVisit(page, url);
  });

  await check(
    "a study is started from its card, shows its progress, can be cancelled, and its result stands under its address",
    async (page) => {
      await page.goto(`${url}/lab`);
      const run = async () => {
        await page.locator(".lab-card", { hasText: "Worked example" }).click();
        await page.locator('[role="dialog"] button', { hasText: "Run" }).click();
        await page.waitForSelector('section[aria-label="Task"] progress');
      };
      await run();
      await page.locator('section[aria-label="Task"] button', { hasText: "Cancel" }).click();
      await until(
        () => page.locator('section[aria-label="Task"]').textContent(),
        (text) => /cancelled/.test(text),
        "it is cancelled",
      );
      await run();
      await page.waitForSelector('section[aria-label="Task"] .lab-table tbody tr[aria-rowindex]');
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.waitForSelector('section[aria-label="Task"] .lab-table tbody tr[aria-rowindex]');
    },
    { fixtureOnly: true },
  );

  await check(
    "a moment of the past is replayed: variants as box plots, the fabric's difference, an address to share",
    async (page) => {
      const job = (await api("/jobs?limit=1&state=RUNNING")).items[0];
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.locator("a", { hasText: "Replay with another placement" }).click();
      await page.waitForSelector(".lab-checks");
      assert.equal(await page.getByLabel("Job to move").inputValue(), job.job_id);
      await page.getByLabel("random-group").check();
      await page.locator('[role="dialog"] button', { hasText: "Replay it" }).click();
      await page.waitForSelector('section[aria-label="time, ms"] .quartiles');
      assert.equal(await page.locator('section[aria-label="time, ms"] .quartiles').count(), 6);
      await until(
        () => page.locator(".whatif-map canvas").count(),
        (n) => n === 2,
        "the difference",
      );
      assert.match(page.url(), /\/lab\?task=\d+$/);
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.waitForSelector('section[aria-label="mean latency, ns"] .quartiles');
      assert.deepEqual(await violations(other), []);
    },
    { fixtureOnly: true },
  );

  await check(
    "runs of a program stand side by side, with the guidelines that speak against comparing them",
    async (page) => {
      const job = (await api("/jobs?limit=200&state=RUNNING")).items.find((one) => one.runs > 0);
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.waitForSelector('section[aria-label="Network noise"] dl');
      await page.locator("button", { hasText: "Compare" }).click();
      await page.locator('[role="menuitem"]').first().click();
      await page.locator("button", { hasText: "Compared with 1" }).click();
      await page.locator('[role="menuitem"]').nth(1).click();
      const beside = page.locator('section[aria-label="Runs side by side"]');
      await until(
        () => beside.locator("figure").count(),
        (n) => n === 3,
        "three runs",
      );
      await until(
        () => beside.textContent(),
        (text) => /Step variation.*allocation/s.test(text),
        "the guideline",
      );
      await beside.locator(".segmented button", { hasText: "Table" }).click();
      assert.equal(await beside.locator("thead th").count(), 4);
      assert.deepEqual(await violations(page), []);
    },
    { fixtureOnly: true },
  );

  await check(
    "measured noise stands beside simulated noise, with one scale and a table each",
    async (page) => {
      await page.goto(`${url}/lab?view=noise`);
      await page.waitForSelector('section[aria-label="Simulated"] svg circle');
      assert.equal(await page.locator('section[aria-label="Measured"] svg circle').count(), 12);
      const scale = (side) =>
        page.locator(`section[aria-label="${side}"] svg text[text-anchor="end"]`).allTextContents();
      assert.equal((await scale("Measured")).at(-1), (await scale("Simulated")).at(-1));
      await page.locator('section[aria-label="Measured"] .segmented button', { hasText: "Table" }).click();
      assert.equal(await page.locator('section[aria-label="Measured"] table').getAttribute("aria-rowcount"), "13");
      assert.deepEqual(await violations(page), []);
    },
    { fixtureOnly: true },
  );

  for (const [path, there] of [
    ["/", ".home-figures"],
    ["/alerts", ".alerts-firing"],
    ["/alerts?view=rules", ".rule-panel"],
    ["/alerts?view=silences", ".silences"],
  ]) {
    await check(
      `${path} fits a phone`,
      async (page) => {
        await page.goto(url + path);
        await page.waitForSelector(there);
        await page.waitForTimeout(800);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
        assert.deepEqual(await violations(page), []);
      },
      { viewport: { width: 390, height: 844 } },
    );
  }
}
