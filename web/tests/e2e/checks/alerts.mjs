// Alerts: what fires with its evidence, a silence, a rule tried over the past week, and the address that holds it.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { addressed, query, until } from "../harness.mjs";

/** The rule dialog of a chart: filled, tried on its axis, and saved. */
async function fromChart(page, machine) {
  await page.getByRole("button", { name: "Alert me on this…" }).first().click();
  const dialog = page.locator('[role="dialog"]');
  const axis = dialog.locator('svg[role="img"]');
  await axis.waitFor();
  const above = await dialog.getByLabel("Fires at or above").inputValue();
  assert.ok(Number(above) > 0, `a threshold of ${above}`);
  assert.match(await axis.getAttribute("aria-label"), new RegExp(`threshold ${above}$`));
  assert.match(await dialog.textContent(), new RegExp(`stall_ratio by machine.*fabric ${machine}`));
  assert.ok((await axis.locator("path.high").getAttribute("d")).length > 20, "the chart's samples");
  await dialog.getByRole("button", { name: "Test on this period" }).click();
  await until(
    () => axis.locator(".fired-band").count(),
    (n) => n === 1,
    "when it would have fired, on the axis",
  );
  assert.match(await dialog.textContent(), /Would have fired once/);
  assert.deepEqual(await violations(page), []);
  // Another threshold is another rule: what was found of the one before goes.
  await dialog.getByLabel("Fires at or above").fill("60");
  assert.equal(await axis.locator(".fired-band").count(), 0);
  return dialog;
}

export async function alerts({ url, fabricUrl, check, api }) {
  await check(
    "an alert leads to its evidence, shows its samples and who was told",
    async (page) => {
      await page.goto(`${url}/alerts`);
      const item = page.locator(".alert-item", { hasText: "Group 17" });
      await item.waitFor();
      await item.locator("button").click();
      await addressed(page, { alert: "43" });
      await page.waitForSelector('section[aria-label="Before it fired"] svg path.high');
      assert.match(
        await page.locator('section[aria-label="Notifications"]').textContent(),
        /on-call.*slack-network.*not yet/s,
      );
      const there = await page.locator("a", { hasText: "Open the evidence" }).getAttribute("href");
      assert.match(there, /^\/fabric\/perlis\?from=.*&to=/);
      assert.equal(
        await page.locator(".alert-item", { hasText: "Job 9" }).locator("a").count(),
        0,
        "an address outside the page is not followed",
      );
      await page.keyboard.press("j");
      await until(
        () => query(page).alert,
        (id) => id === "42",
        "the next alert",
      );
      await page.locator('section[aria-label="Before it fired"] .segmented button', { hasText: "Table" }).click();
      assert.equal(
        await page.locator('section[aria-label="Before it fired"] table').getAttribute("aria-rowcount"),
        "41",
      );
    },
    { fixtureOnly: true },
  );

  await check("names in an address that nobody knows are said to be unknown", async (page) => {
    await page.goto(`${url}/alerts?view=rules&rule=nope`);
    await page.getByText('No rule is called "nope"').waitFor();
    await page.goto(`${fabricUrl}?job=nope`);
    await page.getByText("Job nope not found").waitFor();
    await page.getByRole("button", { name: "Take job nope out of the address" }).click();
    await until(
      () => query(page).job,
      (job) => job === undefined,
      "the job leaves the address",
    );
    for (const path of ["/jobs/nope", "/fabric/nope", "/nope"]) {
      await page.goto(`${url}${path}`);
      await page.waitForSelector("main h1");
    }
  });

  await check(
    "on a phone home and alerts end where their data end",
    async (page) => {
      for (const path of ["/", "/alerts", "/alerts?view=rules"]) {
        await page.goto(`${url}${path}`);
        await page.waitForSelector("main .card table");
        const { width, height } = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          height: document.documentElement.scrollHeight,
        }));
        assert.deepEqual(
          { width, height },
          { width: 390, height: 844 },
          `${path}: the page scrolls, never the document below it`,
        );
      }
      // A list that is newest first says when, with a column less as well.
      for (const list of ["/alerts", "/alerts?view=rules&rule=group-stalls"]) {
        await page.goto(url + list);
        const heads = page.locator(".alerts-past thead th:visible");
        await heads.first().waitFor();
        assert.deepEqual(await heads.allTextContents(), ["Level", "What", "Fired, UTC", "lasted"], list);
      }
      // Rows that are out of sight are one cell, which keeps their height.
      const spacer = await page.locator(".alerts-past tbody").evaluate((body) => {
        body.insertRow().insertCell().colSpan = 7;
        return getComputedStyle(body.lastElementChild.firstElementChild).display;
      });
      assert.notEqual(spacer, "none");
    },
    { viewport: { width: 390, height: 844 } },
  );

  await check(
    "an alert is silenced from its panel and the silence is ended",
    async (page) => {
      await page.goto(`${url}/alerts?alert=43`);
      await page.locator("button", { hasText: "Silence…" }).click();
      await page.getByLabel("Why").fill("Maintenance");
      await page.locator('[role="dialog"] button', { hasText: /^Silence$/ }).click();
      await page.locator(".alert-item", { hasText: "Group 17" }).locator(".tag", { hasText: "silenced" }).waitFor();
      await page.goto(`${url}/alerts?view=silences`);
      await page.locator(".alert-item", { hasText: "Maintenance" }).locator("button").click();
      await until(
        () => page.locator(".alert-item", { hasText: "Maintenance" }).textContent(),
        (text) => /ended/.test(text),
        "it is ended",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "below the rules stand the alerts of the chosen one, all rules are seen, and no card is mostly empty",
    async (page) => {
      await page.goto(`${url}/alerts?view=rules&rule=group-stalls`);
      const told = (await api("/alerts?rule=group-stalls&limit=50")).items.filter((one) => one.fired_at !== null);
      assert.ok(told.length > 3 && told.every((one) => one.rule === "group-stalls"));
      const card = page.locator('section[aria-label="Alerts of group-stalls"]');
      await card.locator("tbody tr[aria-rowindex]").first().waitFor();
      assert.ok((await card.locator("tbody tr[aria-rowindex]").first().textContent()).includes(told[0].summary));
      const box = page.locator(".rules-card .data-table");
      assert.ok(await box.evaluate((one) => one.scrollHeight <= one.clientHeight), "every rule is in sight");
      const [table, around] = [
        await box.locator("table").boundingBox(),
        await page.locator(".rules-card").boundingBox(),
      ];
      assert.ok(around.y + around.height - table.y - table.height < 40, "the card ends with its rows");
      await card.locator("tbody tr[aria-rowindex]").first().click();
      await until(
        () => query(page).alert,
        (alert) => Number(alert) === told[0].alert_id,
        "the alert that was picked",
      );
      await page.goto(`${url}/alerts?view=rules&rule=counters-silent`);
      await page
        .locator('section[aria-label="Alerts of counters-silent"]', { hasText: "This rule has not fired yet" })
        .waitFor();
    },
    { fixtureOnly: true },
  );

  await check("arrows move along the rules while their table has the focus", async (page) => {
    await page.goto(`${url}/alerts?view=rules`);
    const table = page.locator(".rules-card .data-table");
    await table.locator("tbody tr[aria-rowindex]").first().waitFor();
    const rules = await table.locator("tbody tr[aria-rowindex] td:first-child").allTextContents();
    await table.focus();
    await page.keyboard.press("ArrowDown");
    await until(
      () => query(page).rule,
      (rule) => rule === rules[1],
      "the second rule",
    );
    await page.keyboard.press("ArrowUp");
    await until(
      () => query(page).rule,
      (rule) => rule === rules[0],
      "the first rule",
    );
  });

  await check(
    "a rule is tried over the last week with another threshold, and saved",
    async (page) => {
      await page.goto(`${url}/alerts?view=rules&rule=group-stalls`);
      const fired = async () => {
        await page.locator("button", { hasText: "Try it" }).click();
        await page.locator('section[aria-label="Dry run"]').waitFor();
        await page.locator(".dry-run-card h2").waitFor();
        return Number(/fired (\d+) times/.exec(await page.locator(".dry-run-card h2").textContent())[1]);
      };
      const before = await fired();
      assert.ok(before > 3);
      const { task } = query(page);
      await page.getByLabel("Fires at or above").fill("8");
      await page.locator("button", { hasText: "Try it" }).click();
      await until(
        () => query(page).task,
        (now) => now !== task,
        "another dry run",
      );
      await until(
        () => page.locator(".dry-run-card h2").textContent(),
        (text) => Number(/fired (\d+) times/.exec(text)?.[1] ?? Infinity) < before,
        "it fires less often",
      );
      // The result stands under its address.
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.locator(".dry-run-card .dry-bar").first().waitFor();
      await page.locator("button", { hasText: "Save the rule" }).click();
      await until(
        () => page.locator('section[aria-label="Rules"] tr', { hasText: "group-stalls" }).textContent(),
        (text) => /this page or the API/.test(text),
        "it is saved",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "alert me on this: from the fabric's time axis to a saved rule",
    async (page) => {
      await page.goto(`${url}/fabric/perlis`);
      const dialog = await fromChart(page, "perlis");
      await dialog.getByLabel("Name").fill("from-a-chart");
      await dialog.getByRole("button", { name: "Save the rule" }).click();
      await dialog.getByRole("link", { name: "Open the rule" }).click();
      await page.locator(".rule-panel h2", { hasText: "from-a-chart" }).waitFor();
      const { items } = await (await fetch(`${url}/api/v1/alerts/rules`)).json();
      const { rule } = items.find((one) => one.rule.name === "from-a-chart");
      assert.deepEqual(
        [rule.signal, rule.by, rule.where, rule.above],
        ["stall_ratio", "machine", { fabric: "perlis" }, 60],
      );
    },
    { fixtureOnly: true },
  );
}
