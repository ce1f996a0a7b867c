// The ways of a user, from the page where they begin, with their clicks counted: no more than a way may take.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { query, ready, until } from "../harness.mjs";

/** Clicks of a way, counted; a way that needs more fails. */
export function clicks(most) {
  let done = 0;
  return {
    async click(locator) {
      done++;
      assert.ok(done <= most, `more than ${most} clicks`);
      await locator.click();
    },
  };
}

/** From a page that links to the slow job: its page names the culprit, "show" draws the culprit's place, "Open" shows both on the fabric. */
export async function toCulprit(tab, slow, culprit, way) {
  await way.click(tab.locator(`.home-incident a[href*="/jobs/${slow}"]`).first());
  const verdict = tab.locator('section[aria-label="Verdict"] h2');
  await until(
    () => verdict.textContent(),
    (text) => text.includes(culprit),
    "the culprit in the verdict",
  );
  const first = tab.locator('section[aria-label="Neighbours"] tbody tr').first();
  await until(
    () => first.textContent(),
    (text) => text.includes(culprit),
    "the culprit first among the neighbours",
  );
  await way.click(first.locator("button", { hasText: "show" }));
  await tab.locator(".placement-key", { hasText: culprit }).waitFor();
  await way.click(tab.locator('section[aria-label="Placement"] a', { hasText: "Open" }));
  await tab.waitForURL((address) => address.searchParams.get("job")?.includes(`${slow},${culprit}`) ?? false);
  await tab.locator(".chip", { hasText: culprit }).waitFor();
}

/** Press Tab until something with these words has the focus; how often that took. */
async function byTabs(tab, most, words) {
  const passed = [];
  for (let n = 1; n <= most; n++) {
    await tab.keyboard.press("Tab");
    const text = await tab.evaluate(() => globalThis.document.activeElement?.textContent ?? "");
    if (text.includes(words)) return n;
    passed.push(text);
  }
  assert.fail(`${words} is not reached by ${most} Tabs, only ${passed.join(" | ")}`);
}

export async function ways({ url, check, api, timed, fabricUrl }) {
  const page = (suffix = "") => `${fabricUrl}${suffix}`;
  const incident = await api(`/incident?fabric=${encodeURIComponent(timed.name)}`);

  await check(
    "three clicks from home: the slow job, who slows it, and both on the fabric",
    async (tab) => {
      const { aggressor, victims } = incident;
      await tab.goto(url);
      await toCulprit(tab, victims[0].job_id, aggressor.job_id, clicks(3));
    },
    { fixtureOnly: true },
  );

  await check(
    "two clicks from home: the slow job again with another placement",
    async (tab) => {
      const way = clicks(2);
      await tab.goto(url);
      await way.click(tab.locator(".home-incident a", { hasText: "Replay with another placement" }));
      const replay = tab.locator('[role="dialog"] button', { hasText: "Replay it" });
      await until(() => replay.isEnabled(), Boolean, "the dialog is filled");
      await way.click(replay);
      await tab.waitForSelector(".lab-tasks ~ section svg");
      await until(
        () => tab.locator(".estimate-side").textContent(),
        (text) => /random-router/.test(text),
        "the result names the other placement",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "three clicks from home: a file of better routes",
    async (tab) => {
      const way = clicks(3);
      await tab.goto(url);
      await tab.waitForSelector("h1");
      await way.click(tab.locator('nav[aria-label="Pages"] a', { hasText: "Advice" }));
      const [file] = await Promise.all([
        tab.waitForEvent("download"),
        way.click(tab.getByRole("button", { name: "Download LFTs" })),
      ]);
      assert.match(readFileSync(await file.path(), "utf8"), /Unicast lids/);
    },
    { fixtureOnly: true },
  );

  await check(
    "by keyboard alone, at most 12 Tabs from home to who slows the job",
    async (tab) => {
      const { aggressor } = incident;
      await tab.goto(url);
      await tab.waitForSelector(".incident-chain");
      const tabs = await byTabs(tab, 12, "Skip to the page");
      await tab.keyboard.press("Enter");
      await byTabs(tab, 12 - tabs, aggressor.job_id);
      await tab.keyboard.press("Enter");
      await tab.waitForURL(new RegExp(`/jobs/${aggressor.job_id}`));
      await tab.locator("h1", { hasText: `Job ${aggressor.job_id}` }).waitFor();
    },
    { fixtureOnly: true },
  );

  await check("two clicks from home: the hottest links and the jobs that use them", async (tab) => {
    const way = clicks(2);
    await tab.goto(url);
    await tab.waitForSelector("h1");
    await way.click(tab.locator('nav[aria-label="Pages"] a', { hasText: "Fabric" }));
    await ready(tab);
    await way.click(tab.locator(".segmented button", { hasText: /^Links$/ }));
    const rows = tab.locator(".hot-links tbody tr");
    await rows.first().waitFor();
    const ratios = (await rows.locator("td:first-child").allTextContents()).filter(Boolean).map(Number);
    assert.ok(ratios.length > 3 && ratios[0] === Math.max(...ratios), `the hottest first: ${ratios}`);
    const text = await tab.locator(".hot-links tbody").textContent();
    assert.match(text, /\d ?%|Cannot tell: /, "a share, or why there is none");
  });

  await check(
    "a link on which it cannot be told who uses it says so, and names nobody",
    async (tab) => {
      await tab.goto(page("?view=links"));
      const row = tab.locator(".hot-links tbody tr", { hasText: "Cannot tell" }).first();
      await row.waitFor();
      assert.equal(await row.locator("a").count(), 0);
    },
    { fixtureOnly: true },
  );

  await check(
    "a cell of the matrix and a chord of the ring open their links",
    async (tab) => {
      await tab.goto(page("?view=ring"));
      await ready(tab);
      const pair = tab.locator(".matrix-pairs button").first();
      await pair.waitFor();
      const [, src, dst] = /g(\d+) → g(\d+)/.exec(await pair.textContent());
      await pair.click();
      await until(
        () => query(tab).pair,
        (value) => value === `${src}-${dst}`,
        "the pair in the address",
      );
      await tab.locator(".hot-links h2", { hasText: `Links from g${src} to g${dst}` }).waitFor();
      await tab.goBack();
      const box = await tab.locator(".ring .view-box canvas").first().boundingBox();
      const tooltip = () =>
        tab
          .locator("#tooltip, .tooltip")
          .first()
          .textContent()
          .catch(() => "");
      // Curves bundle about the middle: along a line through it one of them is met.
      let met = null;
      for (let x = -0.3; x <= 0.3 && !met; x += 0.004) {
        const at = [box.x + box.width / 2 + x * box.height, box.y + box.height / 2 + 0.1 * box.height];
        await tab.mouse.move(...at);
        if (/the jobs that use it/.test(await tooltip())) met = at;
      }
      assert.ok(met, "a chord under the pointer");
      await tab.mouse.click(...met);
      await until(
        () => query(tab),
        ({ view, link, pair: p }) => view === "links" && Boolean(link ?? p),
        "its links are open",
      );
    },
    { fixtureOnly: true },
  );

  await check("two clicks from the difference: this hour against the same hour last week", async (tab) => {
    const way = clicks(2);
    await tab.goto(page("?diff=on"));
    await ready(tab);
    await way.click(tab.locator("button", { hasText: /^Against/ }));
    await way.click(tab.locator('[role="menuitem"]', { hasText: "the same hour last week" }));
    await until(
      () => query(tab).against,
      (value) => value === "week-ago",
      "last week in the address",
    );
    await tab.locator("button", { hasText: "Against the same hour last week" }).waitFor();
  });

  await check("two clicks to a file of what is seen", async (tab) => {
    const way = clicks(2);
    await tab.goto(page());
    await ready(tab);
    await way.click(tab.locator(".context button", { hasText: /^Export/ }));
    const [file] = await Promise.all([
      tab.waitForEvent("download"),
      way.click(tab.locator('[role="menuitem"]', { hasText: "Routers as CSV" })),
    ]);
    assert.match(file.suggestedFilename(), new RegExp(`^${timed.name}.*\\.csv$`));
  });

  await check("one click to a link to this moment", async (tab) => {
    const way = clicks(1);
    await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.goto(page("?view=links"));
    await tab.locator(".hot-links tbody tr").first().waitFor();
    await way.click(tab.getByRole("button", { name: "Copy link to this moment" }));
    const copied = await until(
      () => tab.evaluate(() => navigator.clipboard.readText()),
      (text) => text.includes("from="),
      "the address",
    );
    assert.match(copied, /to=/);
  });
}
