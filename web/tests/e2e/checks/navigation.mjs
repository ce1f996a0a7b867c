// An address that cannot be shown as typed is refused with its reason: no page shows other data in its place.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { violations } from "../axe.mjs";
import { openSearch, query, ready, until } from "../harness.mjs";

export async function addresses({ url, check, api, fabrics, timed }) {
  const trees = fabrics.filter((one) => one.kind === "fat_tree");
  const tree = trees.find((one) => one.snapshot) ?? trees[0];
  const bare = trees.find((one) => one.last_ts === null && !one.snapshot);
  await check("an address that cannot be shown says why and shows no other data", async (page) => {
    const hour = (ago) => new Date(Date.now() - ago * 3_600_000).toISOString();
    const wrong = {};
    const job = (await api("/jobs?limit=1")).items[0].job_id;
    for (const [path, reason] of [
      ["/?machine=nosuch", /No machine is called "nosuch"/],
      ["/jobs?fabric=nosuch", /No machine is called "nosuch"/],
      ["/?at=banana", /"banana" is not a time/],
      [`/?at=${hour(-24)}`, /in the future/],
      ["/?at=2030", /"2030" is not a time/],
      [`/fabric/${timed.name}?from=${hour(1)}&to=${hour(2)}`, /before it begins/],
      [`/fabric/${timed.name}?router=99999`, /has no router 99999/],
      [`/fabric/${timed.name}?view=tree`, /has no view "tree"/],
      ["/blame?exe=nosuch", /No runs of "nosuch" are known/],
      ["/forecast?exe=amg&nodes=1", /No runs of "amg" on 1 node are known/],
      ["/drivers?set=99999", /No estimate 99999/],
      ["/drivers?counter=NOPE", /No counter is called "NOPE"/],
      [`/jobs/${job}?run=99999`, /has no run 99999/],
      ["/blame?who=9999", /none has place 9999/],
      ["/blame?name=nosuch", /"nosuch" is not among the names/],
      ["/blame?nodes=4", /nodes requires exe/],
      ["/jobs?sort=nosuch", /No column of this table is called "nosuch"/],
      [`/fabric/${timed.name}?view=table&sort=nosuch`, /No column of this table is called "nosuch"/],
      [`/fabric/${timed.name}?view=links&pair=98-99`, /has no group 98/],
      [`/fabric/${timed.name}?slice=1`, /slice requires a tree/],
      [`/fabric/${timed.name}?link=7`, /link requires view=links/],
      ...(tree ? [[`/fabric/${tree.name}?slice=99`, /has no pod 99/]] : []),
      ...(bare ? [[`/fabric/${bare.name}?measure=packets`, /No packets were sampled on .* fraction is unknown/]] : []),
      ["/lab?job=7", /job requires replay=on/],
      ["/alerts?view=rules&rule=nosuch", /No rule is called "nosuch"/],
      ["/health?day=1", /no parameter "day"/],
    ]) {
      await page.goto(url + path);
      await page.getByRole("heading", { name: "This address is not valid" }).waitFor();
      const text = await page.locator("main").textContent();
      if (!reason.test(text) || (await page.locator("main .card").count())) wrong[path] = text;
    }
    assert.deepEqual(wrong, {});
    await page.locator("main a", { hasText: "Open the page without this part" }).click();
    await page.waitForURL((at) => at.pathname === "/health" && at.search === "");
    await page.locator("main .card").first().waitFor();
  });

  await check(
    "what an address names and a part of the page cannot show is said in that part",
    async (page) => {
      const { job_id: job, runs } = (await api("/jobs?limit=200")).items.find((one) => one.runs > 0);
      const { job_id: over, end } = (await api("/jobs?state=COMPLETED&limit=1")).items[0];
      const after = new Date(Date.parse(end) + 60_000).toISOString();
      assert.ok(runs);
      const silent = {};
      for (const [path, reason] of [
        [`/jobs/${job}?compare=99999`, /Run 99999 is not compared: it is not among the newest runs of/],
        [`/jobs/${job}?beside=nosuch`, /\/jobs\/nosuch is not known/],
        [`/jobs/${over}?at=${after}`, /The job had ended at .* UTC: this page shows .* UTC/],
        ["/forecast?run=99999", /\/runs\/99999\/forecast is not known/],
        ["/lab?task=99999", /\/tasks\/99999 is not known/],
        ["/advice?id=99999", /\/advice\/99999 is not known/],
        ["/alerts?alert=99999", /\/alerts\/99999 is not known/],
        ["/alerts?view=rules&task=99999", /\/tasks\/99999 is not known/],
      ]) {
        await page.goto(url + path);
        const text = () => page.locator("main").textContent();
        await until(text, (shown) => reason.test(shown), path, 10_000).catch(() => (silent[path] = true));
      }
      assert.deepEqual(silent, {});
    },
    { fixtureOnly: true },
  );

  await check("a machine that is opened in one tab stays that tab's", async (page) => {
    const [first, second] = fabrics;
    await page.goto(`${url}/fabric/${first.name}`);
    await page.waitForSelector("h1");
    const other = await page.context().newPage();
    await other.goto(`${url}/fabric/${second.name}`);
    await other.waitForSelector("h1");
    await page.goto(url);
    await page.locator(".top button", { hasText: first.name }).first().waitFor();
  });

  await check("two jobs on one picture have keys that differ, as their outlines do", async (page) => {
    const [a, b] = (await api("/jobs?limit=2&state=RUNNING")).items.map((job) => job.job_id);
    await page.goto(`${url}/fabric/${timed.name}?view=tiles&job=${a},${b}`);
    await page.locator(".chip .job-key").nth(1).waitFor();
    const keys = await page.locator(".chip .job-key line").evaluateAll((all) => all.map((one) => one.outerHTML));
    assert.notEqual(keys[0], keys[1]);
  });

  await check("of five jobs in an address four are drawn, and the fifth is said not to be", async (page) => {
    const five = (await api("/jobs?limit=5&state=RUNNING")).items.map((job) => job.job_id);
    await page.goto(`${url}/fabric/${timed.name}?view=tiles&job=${five.join(",")}`);
    await page.locator(".chip", { hasText: `Job ${five[4]} is not drawn` }).waitFor();
    await page.locator(".chip .job-key").nth(3).waitFor();
    assert.equal(await page.locator(".chip .job-key").count(), 4);
  });
}

// The nine ways of a user, from the page where they begin, with their clicks and Tabs counted in the browser: a way that needs more than it may fails.

/** What a way took at most, and what it took: presses of a pointer and of Tab as the browser saw them, whoever made them. */
async function counting(tab) {
  const done = { clicks: 0, tabs: 0 };
  await tab.exposeBinding("flitwatchPressed", (_, kind) => void done[kind]++);
  await tab.addInitScript(() => {
    const told = (kind) => (event) => event.isTrusted && globalThis.flitwatchPressed(kind);
    addEventListener("pointerdown", told("clicks"), true);
    addEventListener("keydown", (event) => event.key === "Tab" && told("tabs")(event), true);
  });
  return done;
}

/** A check whose presses are counted and bounded: at most so many clicks, and so many Tabs (none, where no number is given). */
export function wayOf(check) {
  return (name, { clicks = 0, tabs = 0 }, run, options) =>
    check(
      name,
      async (tab) => {
        const done = await counting(tab);
        await run(tab);
        assert.ok(done.clicks + done.tabs > 0, "nothing was pressed");
        assert.ok(
          done.clicks <= clicks && done.tabs <= tabs,
          `${JSON.stringify(done)}, more than ${clicks} and ${tabs}`,
        );
        console.log(`way   ${name}: ${done.clicks} clicks, ${done.tabs} Tabs`);
      },
      options,
    );
}

/** From a page that links to the slow job: its page names the culprit, the placement draws where the culprit is, "Open" shows both on the fabric. */
export async function toCulprit(tab, slow, culprit) {
  await tab.locator(`.home-incident a[href*="/jobs/${slow}"]`).first().click();
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
  await tab.locator(".placement-key", { hasText: culprit }).waitFor();
  await tab.locator('section[aria-label="Placement"] a', { hasText: "Open" }).click();
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
  const way = wayOf(check);
  const page = (suffix = "") => `${fabricUrl}${suffix}`;
  const incident = await api(`/incident?fabric=${encodeURIComponent(timed.name)}`);

  await way(
    "no click from home to who slows the job, one to where both are, two to both on the fabric",
    { clicks: 2 },
    async (tab) => {
      const { aggressor, victims } = incident;
      await tab.goto(url);
      await tab.locator(".incident-chain > li", { hasText: aggressor.job_id }).first().waitFor();
      await toCulprit(tab, victims[0].job_id, aggressor.job_id);
    },
    { fixtureOnly: true },
  );

  await way(
    "two clicks from home: the slow job again with another placement",
    { clicks: 2 },
    async (tab) => {
      await tab.goto(url);
      await tab.locator(".home-incident a", { hasText: "Replay with another placement" }).click();
      const replay = tab.locator('[role="dialog"] button', { hasText: "Replay it" });
      await until(() => replay.isEnabled(), Boolean, "the dialog is filled");
      await replay.click();
      await tab.waitForSelector(".lab-tasks ~ section svg");
      await until(
        () => tab.locator(".estimate-side").textContent(),
        (text) => /random-router/.test(text),
        "the result names the other placement",
      );
    },
    { fixtureOnly: true },
  );

  await way(
    "three clicks from home: a file of better routes",
    { clicks: 3 },
    async (tab) => {
      await tab.goto(url);
      await tab.waitForSelector("h1");
      await tab.locator('nav[aria-label="Pages"] a', { hasText: "Advice" }).click();
      const [file] = await Promise.all([
        tab.waitForEvent("download"),
        tab.getByRole("button", { name: "Download LFTs" }).click(),
      ]);
      assert.match(readFileSync(await file.path(), "utf8"), /Unicast lids/);
    },
    { fixtureOnly: true },
  );

  await way(
    "by keyboard alone, at most 12 Tabs from home to who slows the job",
    { tabs: 12 },
    async (tab) => {
      const { aggressor } = incident;
      await tab.goto(url);
      await tab.waitForSelector(".incident-chain");
      const tabs = await byTabs(tab, 12, "Skip to the page");
      await tab.keyboard.press("Enter");
      await byTabs(tab, 12 - tabs, `${aggressor.job_id} ${aggressor.name}`);
      await tab.keyboard.press("Enter");
      await tab.waitForURL(new RegExp(`/jobs/${aggressor.job_id}`));
      await tab.locator("h1", { hasText: `Job ${aggressor.job_id}` }).waitFor();
    },
    { fixtureOnly: true },
  );

  await way("two clicks from home: the hottest links and the jobs that use them", { clicks: 2 }, async (tab) => {
    await tab.goto(url);
    await tab.waitForSelector("h1");
    await tab.locator('nav[aria-label="Pages"] a', { hasText: "Fabric" }).click();
    await ready(tab);
    await tab.locator(".segmented button", { hasText: /^Links$/ }).click();
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
      await until(
        tooltip,
        (text) => /sent by \(estimated\)\n\d+ \w+ \d+ %|senders: cannot tell/.test(text),
        "who sends over it",
      );
      await tab.mouse.click(...met);
      await until(
        () => query(tab),
        ({ view, link, pair: p }) => view === "links" && Boolean(link ?? p),
        "its links are open",
      );
      await tab.keyboard.press("1");
      await until(
        () => query(tab),
        ({ view, link, pair: p }) => view === "tiles" && link === undefined && p === undefined,
        "another view drops what only the view of links shows",
      );
      await ready(tab);
    },
    { fixtureOnly: true },
  );

  await way("two clicks from home: today against the same time last week", { clicks: 2 }, async (tab) => {
    await tab.goto(url);
    await tab.locator('section[aria-label="Fabric"] a', { hasText: "Compared with last week" }).click();
    await ready(tab);
    const { from, to, diff, against } = query(tab);
    assert.deepEqual([diff, against], ["on", "week-ago"]);
    assert.equal(Date.parse(to) - Date.parse(from), 86_400_000, "the last 24 hours");
    await tab.locator("button", { hasText: "Against the same time last week" }).waitFor();
    assert.match(await tab.locator(".context .subtitle").textContent(), / against /);
    await tab.locator('section[aria-label="Picture"]', { hasText: "change, this window" }).waitFor();
  });

  await check("any window is compared with the same time last week in two clicks", async (tab) => {
    await tab.goto(page("?diff=on"));
    await ready(tab);
    await tab.locator("button", { hasText: /^Against/ }).click();
    await tab.locator('[role="menuitem"]', { hasText: "the same time last week" }).click();
    await until(
      () => query(tab).against,
      (value) => value === "week-ago",
      "last week in the address",
    );
    await tab.locator("button", { hasText: "Against the same time last week" }).waitFor();
  });

  await way("two clicks to a file of what is seen", { clicks: 2 }, async (tab) => {
    await tab.goto(page());
    await ready(tab);
    await tab.locator(".context button", { hasText: /^Export/ }).click();
    const [file] = await Promise.all([
      tab.waitForEvent("download"),
      tab.locator('[role="menuitem"]', { hasText: "Routers as CSV" }).click(),
    ]);
    assert.match(file.suggestedFilename(), new RegExp(`^${timed.name}.*\\.csv$`));
  });

  await way("one click to a link to this moment", { clicks: 1 }, async (tab) => {
    await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.goto(page("?view=links"));
    await tab.locator(".hot-links tbody tr").first().waitFor();
    await tab.getByRole("button", { name: "Copy link to this moment" }).click();
    const copied = await until(
      () => tab.evaluate(() => navigator.clipboard.readText()),
      (text) => text.includes("from="),
      "the address",
    );
    assert.match(copied, /to=/);
  });
}

/** The way whose engine and mail server stand behind tests/e2e/mail.mjs: `fire` makes a run slow there. */
export async function byMail({ url, check, api }, fire) {
  await wayOf(check)("five clicks from home: alerts by mail, with a test mail", { clicks: 5 }, async (tab) => {
    await tab.goto(url);
    await tab.locator('nav[aria-label="Pages"] a', { hasText: "Alerts" }).click();
    await tab.locator(".segmented button", { hasText: "Contacts" }).click();
    await tab.getByRole("button", { name: "Add a contact…" }).click();
    await tab.getByLabel("Mail address").fill("network-team@site.example");
    await tab.getByRole("button", { name: "Save and send a test mail" }).click();
    const contact = tab.locator(".contact-item", { hasText: "network-team@site.example" });
    await until(
      () => contact.textContent(),
      (text) => /test mail sent/.test(text),
      "the test mail is sent",
      20_000,
    );
    await fire();
    const [alert] = await until(
      async () => (await api("/alerts?phase=firing")).items,
      (items) => items.length === 1,
      "the alert fires",
      20_000,
    );
    await tab.goto(`${url}/alerts?alert=${alert.alert_id}`);
    const told = tab.locator('section[aria-label="Notifications"]');
    await until(
      () => told.textContent(),
      (text) => /contact:network-team/.test(text) && !/not yet/.test(text),
      "the contact was told",
      30_000,
    );
  });
}

// The search finds actions though letters are swapped, and lists what was opened lately until it is cleared.

export async function search({ url, check, api }) {
  await check("search forgives swapped letters and remembers what was opened", async (page) => {
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0].job_id;
    const find = async (text) => (await openSearch(page)).fill(text);
    await page.goto(url);
    await page.locator(".home-item").first().waitFor();
    await find("foercast");
    await page.locator(".search-list .menu-item", { hasText: "Forecast" }).click();
    await page.waitForURL("**/forecast**");
    await find(job);
    await page.locator(".search-list .menu-item", { hasText: job }).first().click();
    await page.waitForURL(`**/jobs/${job}**`);
    await page.reload();
    await page.locator("main h1").first().waitFor();
    await find("");
    const recent = page.locator(".search-list .menu-item", { hasText: job });
    await recent.waitFor();
    await page.locator(".menu-item", { hasText: "Clear this list" }).click();
    await recent.waitFor({ state: "detached" });
    assert.deepEqual(await page.evaluate(() => JSON.parse(localStorage.getItem("flitwatch-recent"))), []);
  });
}

// Any window by its dates, as the window shown and as the one to compare with; the address keeps both.

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
    await page.getByRole("alert").filter({ hasText: "end must be later" }).waitFor();
    await fill(page, edge + DAY_MS, edge + 2 * DAY_MS);
    await page.getByRole("alert").filter({ hasText: "newest data" }).waitFor();
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
    await page.locator(".context", { hasText: "Against the chosen one" }).waitFor();
  });
}
