// The fabric page: picture, keyboard, address, time axis, table.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { violations } from "../axe.mjs";
import { addressed, atRest, colours, query, ready, title, until } from "../harness.mjs";

export async function fabricPage({ url, check, api, timed, fabricUrl, fabrics }) {
  await check("the fabric is drawn in the colours of the scale", async (page) => {
    await page.goto(`${fabricUrl}?view=tiles`);
    await ready(page);
    await until(
      () => colours(page),
      (n) => n >= 5,
      "colours on the canvas",
    );
  });

  await check("the keyboard reaches views, difference, windows, selection and help", async (page) => {
    await page.goto(fabricUrl);
    await ready(page);
    await page.keyboard.press("2");
    await addressed(page, { view: "ring" });
    await page.keyboard.press("1");
    await addressed(page, { view: "tiles" });
    await page.keyboard.press("d");
    await addressed(page, { diff: "on" });
    await page.keyboard.press("d");
    await addressed(page, { diff: undefined });
    await page.keyboard.press("[");
    const first = await until(
      () => query(page),
      ({ from, to }) => from && to,
      "an earlier window",
    );
    await page.keyboard.press("[");
    await addressed(page, { to: first.from });
    await page.keyboard.press("l");
    await addressed(page, { from: undefined });
    const before = await title(page);
    await page.keyboard.press("ArrowRight");
    await until(
      () => title(page),
      (now) => now !== before,
      "the selection moves",
    );
    await until(
      () => query(page).router,
      (router) => /^\d+$/.test(router),
      "the router in the address",
    );
    await page.keyboard.press("?");
    await page.waitForSelector('[role="dialog"] >> text=Difference');
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.waitForURL(/\/jobs/);
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.waitForSelector("h1 >> text=Now");
  });

  await check("search finds a router by a part of its name and goes there", async (page) => {
    const name = (await api(`/fabrics/${timed.id}/routers`)).name[5];
    await page.goto(url);
    await page.waitForSelector("h1");
    await page.keyboard.press("/");
    await page.locator(".search-field").fill(name);
    await page.locator(".menu-item", { hasText: name }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/router=/);
    await until(
      () => title(page),
      (now) => now === name,
      "the router found is selected",
    );
  });

  await check("the address holds the picture: a second visitor sees the same", async (page) => {
    const to = Math.floor(Date.parse(timed.last_ts) / 60_000) * 60_000 - 120_000;
    const address = `${fabricUrl}?view=group&from=${new Date(to - 300_000).toISOString()}&to=${new Date(to).toISOString()}&router=3&span=6h`;
    await page.goto(address);
    await ready(page);
    assert.equal(query(page).view, "group");
    assert.equal(query(page).router, "3");
    assert.equal(await page.locator('.segmented [data-state="on"]').first().textContent(), "Group");
    const shown = await title(page);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await ready(other);
    assert.equal(await title(other), shown);
  });

  await check(
    "a drag on the time axis sets the window, Shift-drag the comparison, live does not move it",
    async (page) => {
      await page.goto(fabricUrl);
      await ready(page);
      const axis = await page.locator(".brush svg").boundingBox();
      const drag = async (a, b) => {
        await page.mouse.move(axis.x + axis.width * a, axis.y + 60);
        await page.mouse.down();
        await page.mouse.move(axis.x + axis.width * ((a + b) / 2), axis.y + 60, { steps: 4 });
        await page.mouse.move(axis.x + axis.width * b, axis.y + 60, { steps: 4 });
        await page.mouse.up();
      };
      await drag(0.3, 0.5);
      const chosen = await until(
        () => query(page),
        ({ to }) => to !== undefined,
        "the window is in the address",
      );
      assert.ok(Date.parse(chosen.to) > Date.parse(chosen.from));
      await page.keyboard.down("Shift");
      // The axis may have moved by a sixth of its length to a round end.
      await drag(0.01, 0.1);
      await page.keyboard.up("Shift");
      await until(
        () => query(page).diff,
        (diff) => diff === "on",
        "the comparison is in the address",
      );
      assert.ok(Date.parse(query(page).cto) <= Date.parse(chosen.from), page.url());
      const newest = async () => Date.parse((await api("/fabrics")).items.find(({ id }) => id === timed.id).last_ts);
      const shown = () => page.locator(".context .subtitle").textContent();
      await atRest(page);
      const [before, text] = [await newest(), await shown()];
      // A live window moves every five seconds.
      await until(newest, (now) => now > before + 5000, "newer data");
      await atRest(page);
      await addressed(page, { from: chosen.from, to: chosen.to });
      assert.equal(await shown(), text);
    },
  );

  await check(
    "a window is compared with the hour before, and the time after a change with that before it",
    async (page) => {
      await page.goto(`${fabricUrl}?view=tiles&diff=on`);
      await ready(page);
      const choose = async (entry) => {
        await page.locator("button", { hasText: /^Against/ }).click();
        await page.locator('[role="menuitem"]', { hasText: entry }).first().click();
      };
      await choose(/^the hour before/);
      await until(
        () => query(page).against,
        (against) => against === "hour",
        "the address says so",
      );
      await until(
        () => page.locator("button", { hasText: "Against the hour before" }).count(),
        (n) => n === 1,
        "the page says so",
      );
      await choose(/^after against before/);
      await until(
        () => query(page).cto,
        (cto) => cto && cto === query(page).from,
        "the change stands between both windows",
      );
      await addressed(page, { against: undefined });
      assert.equal(
        Date.parse(query(page).to) - Date.parse(query(page).from),
        Date.parse(query(page).cto) - Date.parse(query(page).cfrom),
      );
      const { cfrom } = query(page);
      // The axis moves with the window that was chosen: it is clicked where it comes to rest.
      await atRest(page);
      await page.locator(".brush .mark-hit").first().click({ force: true });
      await until(
        () => query(page).cfrom,
        (now) => now && now !== cfrom,
        "another change is chosen on the axis itself",
      );
      assert.deepEqual(await violations(page), []);
    },
    { fixtureOnly: true },
  );

  await check(
    "a torus is cut into planes across the axis that is asked for",
    async (page) => {
      await page.goto(`${url}/fabric/torus-like`);
      await ready(page);
      await page.locator('[aria-label="Slices across"] button', { hasText: "x" }).click();
      await until(
        () => query(page).axis,
        (axis) => axis === "x",
        "the axis in the address",
      );
      await until(
        () => colours(page),
        (n) => n >= 4,
        "colours of the scale",
      );
      assert.match(await title(page), /^t\d+-\d+-\d+$/);
      assert.deepEqual(await violations(page), []);
    },
    { fixtureOnly: true },
  );

  await check(
    "a tree has its diagnosis: the root, the worst path on the picture, causes ruled in and out, as the API says",
    async (page) => {
      const counted = fabrics.find((one) => one.kind === "fat_tree" && one.snapshot);
      for (const measure of ["stalls", "packets"]) {
        const path = measure === "stalls" ? `/fabrics/${counted.id}/roots` : "/jobs/3141590/diagnosis";
        const told = await api(path);
        await page.goto(`${url}/fabric/${counted.name}?measure=${measure}`);
        const panel = page.getByRole("complementary", { name: "Diagnosis" });
        const [root] = told.roots;
        await panel
          .getByRole("heading", { name: `Congestion begins at ${root.src_name} → ${root.dst_name}` })
          .waitFor();
        assert.deepEqual(
          await panel.locator("tbody td:nth-child(2)").allTextContents(),
          told.worst_path.map((one) => `${one.src_name} → ${one.dst_name}`),
        );
        const ruled = await panel.locator("dl > div").evaluateAll((all) => all.map((one) => one.dataset.ruling));
        assert.deepEqual(
          ruled,
          told.rulings.map((one) => one.ruling),
        );
        assert.ok((await panel.textContent()).includes(root.advice));
        // A switch of the path is opened from it, and Escape leads back.
        await panel.locator("tbody button").first().click();
        await page.locator('aside[aria-label^="Selected"] h2', { hasText: told.worst_path[0].src_name }).waitFor();
        await page.keyboard.press("Escape");
        await panel.waitFor();
      }
      const bare = fabrics.find((one) => one.kind === "fat_tree" && !one.snapshot);
      await page.goto(`${url}/fabric/${bare.name}`);
      await page.getByRole("heading", { name: "Cannot tell where congestion begins" }).waitFor();
      assert.equal(await page.locator(".diagnosis table").count(), 0);
    },
    { fixtureOnly: true },
  );

  await check(
    "a tree shows what the packets of a tag and a phase met, with a table",
    async (page) => {
      await page.goto(`${url}/fabric/quartz-like?measure=packets`);
      await page.waitForSelector(".tree-picture canvas");
      const said = () => page.locator('.tree-picture [role="img"]').last().getAttribute("aria-label");
      assert.match(await said(), /all sampled packets.*worst at leaf-\d+: 0\.\d/);
      const all = await said();
      await page.locator(".tree-head button", { hasText: "Phase" }).click();
      await page.locator('[role="menuitem"]', { hasText: "compute" }).click();
      await addressed(page, { phase: "compute" });
      await until(said, (text) => /phase compute/.test(text) && text !== all, "the phase's own picture");
      await page.locator(".tree-head button", { hasText: "Table" }).click();
      await page.locator('[role="menuitem"]', { hasText: "Show the table" }).click();
      assert.match(
        await page.locator('[role="dialog"] tbody tr[aria-rowindex]').first().textContent(),
        /leaf-|spine-|core-/,
      );
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await page.locator('[aria-label="Colour"] button', { hasText: "Counters" }).click();
      await until(
        () => query(page).measure,
        (measure) => measure === "stalls",
        "counters in the address",
      );
      await page.waitForSelector("text=share of links by stalls per word");
    },
    { fixtureOnly: true },
  );

  await check(
    "the congested fraction stands beside the stalls of the same tree, with what each says",
    async (page) => {
      await page.goto(`${url}/fabric/quartz-like?measure=stalls`);
      await page.locator('[aria-label="Colour"] button', { hasText: "Both" }).click();
      const pictures = page.locator(".tree-pair .tree-picture");
      await pictures.nth(1).locator("canvas").last().waitFor();
      const labels = await Promise.all(
        [0, 1].map((nth) => pictures.nth(nth).locator('[role="img"]').last().getAttribute("aria-label")),
      );
      assert.doesNotMatch(labels[0], /Congested fraction/);
      assert.match(labels[1], /^Congested fraction of/);
      const [left, right] = await Promise.all([0, 1].map((nth) => pictures.nth(nth).boundingBox()));
      assert.ok(left.x + left.width <= right.x && left.height > 200 && right.height > 200, "beside each other");
      assert.match(await page.locator(".tree-both").textContent(), /the share of the sampled packets that waited/);
      assert.deepEqual(await violations(page), []);
      await page.setViewportSize({ width: 390, height: 844 });
      await until(
        async () => (await Promise.all([0, 1].map((nth) => pictures.nth(nth).boundingBox()))).map((box) => box.y),
        ([first, second]) => second > first + 200,
        "one below the other on a phone",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "next to pairs of groups that are counted, no difference says that none is",
    async (page) => {
      await page.goto(`${url}/fabric/switched?view=ring&diff=on&router=5`);
      await page.locator(".matrix-pairs th", { hasText: "change" }).waitFor();
      await page.locator(".matrix-pairs tbody tr").first().waitFor();
      assert.match(await page.locator(".ring-note").textContent(), /counted/);
      assert.doesNotMatch(await page.locator('section[aria-label="Picture"]').textContent(), /no link between groups/i);
    },
    { fixtureOnly: true },
  );

  await check("every view leaves as SVG and as PNG, the axis as a table", async (page) => {
    const saved = async (name) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.locator('[role="menuitem"]', { hasText: name }).click(),
      ]);
      return readFileSync(await download.path());
    };
    for (const [path, words] of [
      ["?view=tiles", "g33"],
      ["?view=ring", "33"],
      ["?view=group", "Green links"],
    ]) {
      await page.goto(fabricUrl + path);
      await ready(page);
      await until(
        () => colours(page),
        (n) => n >= 5,
        "the picture",
      );
      const before = await colours(page);
      await page.locator(".context button", { hasText: "Export" }).click();
      const svg = (await saved("Picture as SVG")).toString();
      assert.ok(svg.startsWith("<svg") && svg.includes(words) && !/<script|foreignObject|NaN/.test(svg), path);
      assert.ok((svg.match(/<(rect|path)/g) ?? []).length > 500, "cells are in it");
      assert.ok((await colours(page)) >= before / 2, "the screen is drawn as before");
      await page.locator(".context button", { hasText: "Export" }).click();
      const png = await saved("Picture as PNG");
      assert.equal(png.subarray(1, 4).toString(), "PNG");
      assert.ok(png.length > 20_000, `a picture of ${png.length} bytes`);
      if (process.env.KEEP) writeFileSync(`${process.env.KEEP}/export${path.replace(/\W/g, "-")}.png`, png);
    }
    await page.locator(".time-menu button", { hasText: "Table, export" }).click();
    assert.match((await saved("Table as CSV")).toString(), /^"Time, UTC",stall/m);
    await page.locator(".time-menu button", { hasText: "Table, export" }).click();
    await page.locator('[role="menuitem"]', { hasText: "Show the table" }).click();
    await page.waitForSelector('[role="dialog"] table[aria-label="The machine over time"] tbody tr[aria-rowindex]');
    assert.deepEqual(await violations(page), []);
  });

  await check("live data advance without a shift of the layout", async (page) => {
    await page.goto(`${fabricUrl}?view=tiles`);
    await ready(page);
    await atRest(page);
    await page.evaluate(() => {
      window.__shifted = [];
      const named = ({ node, previousRect, currentRect }) =>
        `${node?.outerHTML ?? node?.textContent}: ${previousRect.x} to ${currentRect.x}, ${previousRect.y} to ${currentRect.y}`;
      new PerformanceObserver((list) =>
        list.getEntries().forEach((e) => window.__shifted.push(...e.sources.map(named))),
      ).observe({ type: "layout-shift" });
    });
    const first = await page.locator(".fabric-page .subtitle").first().textContent();
    await until(
      () => page.locator(".fabric-page .subtitle").first().textContent(),
      (now) => now !== first,
      "the window follows",
      20_000,
    );
    assert.deepEqual(await page.evaluate(() => window.__shifted), []);
  });

  await check("links and pairs of groups stand in tables behind their pictures", async (page) => {
    await page.goto(`${fabricUrl}?view=table`);
    await page.locator('[aria-label="Rows"] button', { hasText: /^Links of g\d+$/ }).click();
    await addressed(page, { rows: "links" });
    const first = page.locator(".tables tbody tr[aria-rowindex]").first();
    await until(
      () => first.textContent(),
      (text) => /green|black|blue/.test(text),
      "a counted link",
    );
    await page.locator('[aria-label="Rows"] button', { hasText: "Pairs of groups" }).click();
    await until(
      () => first.textContent(),
      (text) => /^g\d+g\d+/.test(text),
      "a pair of groups",
    );
    assert.deepEqual(await violations(page), []);
  });

  await check("a table of routers opens at the worst one, whichever router a job has first", async (page) => {
    const job = (await api("/jobs?state=RUNNING&limit=10")).items.at(-1).job_id;
    await page.goto(`${fabricUrl}?view=table&job=${job}`);
    await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
    await page.waitForSelector(".context .chip");
    await atRest(page);
    assert.equal(await page.locator(".data-table").evaluate((box) => box.scrollTop), 0);
    // What a key chooses is followed.
    await page.locator(".data-table tbody tr[aria-rowindex]").first().click();
    await page.locator(".data-table").focus();
    for (let i = 0; i < 30; i++) await page.keyboard.press("ArrowDown");
    await until(
      () => page.locator(".data-table tbody tr[data-current]").count(),
      (n) => n === 1,
      "the thirtieth row in sight",
    );
    assert.ok((await page.locator(".data-table").evaluate((box) => box.scrollTop)) > 0);
  });

  await check("the table shows the same figures as the picture and sorts", async (page) => {
    await page.goto(`${fabricUrl}?view=table`);
    await page.waitForSelector(".data-table tbody tr[aria-rowindex]");
    const ratios = async () =>
      (await page.locator(".data-table tbody tr[aria-rowindex] td:nth-child(5)").allTextContents())
        .map(Number)
        .filter((n) => !Number.isNaN(n));
    const down = await ratios();
    assert.deepEqual(
      down,
      [...down].sort((a, b) => b - a),
    );
    await page.locator("th button", { hasText: "stalls per flit" }).click();
    await until(ratios, (up) => up.length > 1 && up.every((one, i) => !i || up[i - 1] <= one), "the least first");
  });
}
