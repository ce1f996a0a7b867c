// The job's page tells its story: the chain, the onset on one time axis with the counters, the replay in one click, the evidence as a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { violations } from "../axe.mjs";
import { addressed, atRest, query, until } from "../harness.mjs";
import { savedBy } from "./exports.mjs";

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
      const intervals = remedies.filter((one) => one.minutes_saved_low != null);
      assert.ok(intervals.length && intervals.length === (await help.locator(".interval-bar rect").count()));
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
      assert.match(first, job.state === "RUNNING" ? /^[\d.]+ sstep time now$/ : /^[\dhmins ]+elapsed$/);
    },
    { fixtureOnly: true },
  );

  await check(
    "a moment before the slowdown shows neither it nor later steps, on the job's page and on Home",
    async (page) => {
      const [{ changed }] = (await api(`/jobs/${job.job_id}/explanation`)).candidates;
      const at = new Date(Date.parse(changed) - 300_000).toISOString();
      await page.goto(`${url}/jobs/${job.job_id}?at=${at}`);
      await atRest(page);
      const verdict = await page.locator('section[aria-label="Verdict"]').textContent();
      assert.match(verdict, /^Not slow.*(9 min \d\d s|10 min)elapsed/);
      assert.doesNotMatch(verdict, /Incident/);
      assert.match(
        await page.locator(".context .subtitle").textContent(),
        new RegExp(` as of ${at.slice(11, 19)} UTC$`),
      );
      const steps = await page.locator(".job-steps svg[role=img]").getAttribute("aria-label");
      const known = Number(/Time of (\d+) steps/.exec(steps)[1]);
      assert.ok(known < 140, steps);
      assert.equal(await page.locator(".job-left .onset").count(), 0);
      // Who starts later is not there yet: among them the job that is named now.
      const later = (await api(`/jobs/${job.job_id}`)).neighbours.filter((one) => one.start > at);
      assert.ok(later.some((one) => one.job_id === named));
      const alongside = await page.locator('section[aria-label="Neighbours"] tbody').textContent();
      for (const one of later) assert.ok(!alongside.includes(one.job_id), `${one.job_id} in ${alongside}`);
      // Pictures without a time axis end with the same step.
      const drawn = await page
        .locator(":is(.counter-lines, .compared-steps) path")
        .evaluateAll((all) => all.map((one) => one.getAttribute("d")?.split(/[ML]/).length - 1));
      assert.deepEqual([...new Set(drawn)], [known]);
      assert.equal(await page.getByText("Network noise at its network cards").count(), 0);
      // Before the end of the first step nothing of the run is known.
      await page.goto(`${url}/jobs/${job.job_id}?at=${new Date(Date.parse(job.start) + 1000).toISOString()}`);
      await atRest(page);
      assert.doesNotMatch(await page.locator(".job-page").textContent(), /mean step|Network noise|not recorded/);
      await page.goto(`${url}/?at=${at}`);
      await atRest(page);
      const figures = await page.locator(".home-figures").textContent();
      assert.match(figures, /Jobs slowed then0.*Slowdown ahead.*shown only for the present/);
      assert.doesNotMatch(figures, /behind/);
      assert.match(await page.locator(".incident-trend p").textContent(), / then [\d.]+, highest/);
      assert.doesNotMatch(
        await page.locator(".home-page, main").first().textContent(),
        new RegExp(`slowing job ${job.job_id}`),
      );
      const machine = await page.locator(".home-picture [aria-label]").first().getAttribute("aria-label");
      assert.match(machine, /in these ten minutes$/);
      const picture = await savedBy(page, page.locator(".context button", { hasText: "Export" }), "Picture as SVG");
      assert.match(picture.toString(), new RegExp(`, 10 minutes to [^<]*${at.slice(11, 19)} UTC<`));
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
      await atRest(page);
      assert.equal(await page.locator(".job-steps .now").count(), 0);
      assert.equal(await page.locator(".job-steps path.forecast").getAttribute("d"), "");
    },
    { fixtureOnly: true },
  );

  await check(
    "from a slow job, one click leads to its replay",
    async (page) => {
      await page.goto(`${url}/jobs/${job.job_id}`);
      await page.getByRole("link", { name: "Estimate with a replay" }).click();
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
    await atRest(page);
    const shifted = await page.evaluate(() => globalThis.shifted);
    assert.ok(shifted < 0.05, `the layout shifted by ${shifted.toFixed(3)}`);
  });
}

// Verdicts on one's own runs: two files, a name and a button, by pointer and by keyboard; what is wrong is said in place.

const card = (page) => page.locator('section[aria-label="Verdicts on your own runs"]');
const choose = (page, files) =>
  Promise.all(
    ["Runs", "Exposure"].map((label, at) =>
      card(page)
        .getByLabel(label)
        .setInputFiles({ name: `${label}.csv`, mimeType: "text/csv", buffer: Buffer.from(files[at]) }),
    ),
  );

export async function ownRuns({ url, check }) {
  await check(
    "own runs: a file of another kind fails in place with file and line, and leaves nothing",
    async (page) => {
      await page.goto(`${url}/blame`);
      await choose(page, ["name;value\n1;2\n", measuredRuns()[1]]);
      await card(page).getByLabel("Name of the set").fill("not runs");
      await card(page).getByRole("button", { name: "Compute verdicts" }).click();
      const told = card(page).getByRole("alert");
      await told.waitFor({ timeout: 120_000 });
      assert.match(await told.textContent(), /runs\.csv:1: the header lacks run,? ?start,? ?time_s/);
      assert.equal(await page.locator(".context").getByText("not runs").count(), 0);
    },
  );

  await check(
    "own runs: chosen and judged by keyboard, then the estimate opens, with runs by name and without links",
    async (page) => {
      await page.goto(`${url}/blame`);
      const name = `milc ${Date.now()}`;
      await card(page).getByLabel("Runs").waitFor();
      assert.match(await card(page).textContent(), /does not prove a cause/);
      await choose(page, measuredRuns());
      // From the last file to the name and the button, as fingers go.
      await card(page).getByLabel("Exposure").focus();
      await page.keyboard.press("Tab");
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      await card(page).getByRole("progressbar", { name: "Progress" }).waitFor({ timeout: 60_000 });
      await page.waitForURL((address) => address.searchParams.get("exe") === name, { timeout: 180_000 });
      await page.locator(".context .tag", { hasText: "from files" }).waitFor();
      assert.equal(query(page).exe, name);
      const result = page.locator('section[aria-label="Result"]');
      await result.getByText(/With shuffled run times, \d+ of 100 sets had a name/).waitFor();
      assert.match(await page.locator('section[aria-label="How to read this"]').textContent(), /not/);
      const ranked = page.locator('section[aria-label="Ranking"]');
      await ranked.locator("tbody tr[aria-rowindex]").first().waitFor();
      assert.equal(await ranked.locator("tbody a").count(), 0, "users of a file have no jobs here");
      await page.locator(".runs-behind .segmented button", { hasText: "Table" }).click();
      const runs = page.locator(".runs-behind tbody tr[aria-rowindex]");
      await runs.first().waitFor();
      assert.match(await runs.first().locator("td").first().textContent(), /^night-\d+$/);
      assert.equal(await runs.locator("a").count(), 0, "runs of a file have no page here");
      assert.deepEqual(await violations(page), []);
      // Other pages do not offer what files cannot have.
      await page.goto(`${url}/forecast`);
      await page.locator(".context button", { hasText: "Application" }).click();
      const menu = page.locator('[role="menu"]');
      await menu.waitFor();
      assert.ok(!(await menu.textContent()).includes(name));
    },
  );

  await check(
    "own runs: who may only look is told so before the click",
    async (page) => {
      await page.context().addCookies([{ name: "anonymous", value: "viewer", url }]);
      await page.goto(`${url}/blame`);
      await card(page).getByText("Requires a login with role user").waitFor();
      assert.ok(await card(page).getByLabel("Runs").isDisabled());
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    },
    { fixtureOnly: true, viewport: { width: 390, height: 844 } },
  );
}

// Recommendations: why and what it is worth, plots before and after, who sends to whom, and what is taken away.

export async function recommendations({ url, check }) {
  await check(
    "advice is not counted before it is known",
    async (page) => {
      let answer;
      const held = new Promise((resolve) => (answer = resolve));
      await page.route(/api\/v1\/advice\?/, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`${url}/advice`);
      const title = page.locator('section[aria-label="Recommendations"] .card-title');
      assert.equal(await title.textContent(), "All advicenewest first");
      answer();
      await title.getByText("3 · newest first").waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a filtered list of advice says so in its API line and if it is empty, and an environment line is copied without a clipboard",
    async (page) => {
      // As on plain HTTP.
      await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
      await page.goto(`${url}/advice?state=recommended`);
      const list = page.locator('section[aria-label="Recommendations"]');
      await list.locator("tbody tr[aria-rowindex]", { hasText: "Routing mode" }).click();
      await page.getByRole("button", { name: "Copy the environment line" }).click();
      await page.getByText("Select the text and press Ctrl+C").waitFor();
      const line = await savedBy(page, page.locator(".context button", { hasText: "Export" }), "Copy the API line");
      assert.match(line.toString(), /\/advice\?state=recommended'/);
      await page.route(/\/v1\/advice\?.*state=refused/, (route) =>
        route.fulfill({ json: { items: [], next_cursor: null } }),
      );
      await page.goto(`${url}/advice?state=refused`);
      await list.getByRole("heading", { name: "No advice is refused" }).waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a recommendation has its gain with an interval, plots before and after, matrices and its tables",
    async (page) => {
      await page.goto(`${url}/advice`);
      await page.waitForSelector(".plots canvas");
      assert.ok(await page.locator(".recommendation > :first-child").evaluate((one) => one.matches(".before-after")));
      const [before, after] = await page.locator(".plots figcaption .muted").allTextContents();
      assert.match(before, /worst at leaf-\d+: 0\.[5-9]/);
      assert.notEqual(before, after);
      assert.match(
        await page.locator('section[aria-label="Gain"]').textContent(),
        /×1\.48 as fast×1\.44 to ×1\.52, 90 %/,
      );
      // Every gain that has an interval has it as a bar, all on one scale: the wider interval has the wider bar.
      const widths = await page
        .locator(".recommendations-list .interval-bar rect")
        .evaluateAll((all) => all.map((one) => one.width.baseVal.value));
      assert.equal(widths.length, 2);
      assert.ok(widths[1] > widths[0], `1.02–1.17 is wider than 1.44–1.52: ${widths}`);
      const dark = (nth) =>
        page
          .locator('.plots [role="img"]:has(canvas), .plots .layers')
          .nth(nth)
          .evaluate((box) => {
            const canvas = box.querySelector("canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i] < 110 && data[i] === data[i + 1] && data[i] === data[i + 2]) n++;
            return n;
          });
      await until(
        () => dark(0),
        (n) => n > 500,
        "congested links before",
      );
      assert.ok((await dark(1)) < (await dark(0)) / 4, "fewer after");
      assert.equal(await page.locator(".matrices canvas").count(), 6);
      await page.locator(".before-after .segmented button", { hasText: "Pod 1" }).click();
      await addressed(page, { slice: "1" });
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: /Download LFTs/ }).click(),
      ]);
      assert.match(readFileSync(await file.path(), "utf8"), /Unicast lids/);
      await page.locator(".before-after button", { hasText: "Export" }).click();
      const [picture] = await Promise.all([
        page.waitForEvent("download"),
        page.locator('[role="menuitem"]', { hasText: "PNG" }).click(),
      ]);
      assert.equal(
        readFileSync(await picture.path())
          .subarray(1, 4)
          .toString(),
        "PNG",
      );
      await page.locator(".traffic-card .segmented button", { hasText: "Table" }).click();
      await page.waitForSelector(".traffic-card table");
    },
    { fixtureOnly: true },
  );

  await check(
    "earlier addresses lead to the page with all that they hold",
    async (page) => {
      for (const [old, now] of [
        ["/recommendations?id=2", "/advice?id=2"],
        ["/deviation", "/drivers"],
        ["/sources", "/connect"],
      ]) {
        await page.goto(`${url}${old}`);
        await page.waitForURL((found) => `${found.pathname}${found.search}`.startsWith(now));
      }
    },
    { fixtureOnly: true },
  );

  await check(
    "a refused one says why, and a routing mode gives the line for the environment",
    async (page) => {
      await page.goto(`${url}/advice?id=2`);
      await page.waitForSelector(".recommendation-verdict");
      assert.match(await page.locator(".recommendation-verdict").textContent(), /Not recommended.*unsure/s);
      assert.equal(await page.getByRole("button", { name: /Download LFTs/ }).count(), 0);
      await page.goto(`${url}/advice?id=1`);
      await until(
        () => page.locator(".environment code").textContent(),
        (text) => text === "MPICH_GNI_ROUTING_MODE=ADAPTIVE_3",
        "the line",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "the loop is run from the page and shows its stages",
    async (page) => {
      await page.goto(`${url}/advice`);
      await page.locator("button", { hasText: "Run it…" }).click();
      await page.locator('[role="dialog"] button', { hasText: /^Run$/ }).click();
      await page.locator(".loop-stages li").first().waitFor();
      await page.locator(".loop-turn button", { hasText: "Cancel" }).click();
      await until(
        () => page.locator(".loop-turn").first().textContent(),
        (text) => /cancelled/.test(text),
        "it is cancelled",
      );
    },
    { fixtureOnly: true },
  );
}

// Blame, drivers, forecast: what they say, the table behind each picture, files, and what stands where there are too few runs.

export async function estimates({ url, check, api }) {
  const { items } = await api("/estimates");
  if (!items?.some((one) => one.blame.estimate_id !== null)) {
    console.log("skip  blame, drivers, forecast: this platform has no estimate yet");
    return;
  }

  await check("blame ranks with q-value and direction, and shows the runs behind a name", async (page) => {
    await page.goto(`${url}/blame`);
    const rows = page.locator('section[aria-label="Ranking"] tbody tr[aria-rowindex]');
    await rows.first().waitFor();
    assert.match(await rows.first().textContent(), /named32\.0/);
    const before = await page.locator(".runs-behind h2").textContent();
    await page.keyboard.press("j");
    await until(
      () => page.locator(".runs-behind h2").textContent(),
      (now) => now !== before,
      "the next name's runs",
    );
    await addressed(page, { who: "2" });
    assert.ok((await page.locator(".runs-behind circle").count()) > 10);
    assert.equal(await page.locator('section[aria-label="How to read this"] li').count(), 3);
    assert.match(await page.locator('section[aria-label="How to read this"]').textContent(), /not prove/);
    // The table behind the picture has a row a run.
    const dots = await page.locator(".runs-behind circle").count();
    await page.locator(".runs-behind .segmented button", { hasText: "Table" }).click();
    assert.equal(Number(await page.locator(".runs-behind table").getAttribute("aria-rowcount")), dots + 1);
  });

  await check(
    "names of equal chance are ordered by effect, and the result says that none differs from chance",
    async (page) => {
      const result = page.locator('section[aria-label="Result"] h2');
      await page.goto(`${url}/blame?exe=amg`);
      await result.filter({ hasText: /^3 users of \d+ tested are named \(q ≤ 0\.1\)$/ }).waitFor();
      await page.goto(`${url}/blame?exe=lulesh`);
      await result
        .filter({ hasText: /^No user of \d+ tested is named: none differs from chance \(least q 0\.936\)$/ })
        .waitFor();
      const rows = await page
        .locator('section[aria-label="Ranking"] tbody tr[aria-rowindex]')
        .evaluateAll((all) =>
          all.map((row) => [...row.cells].slice(3, 6).map((cell) => cell.textContent.replace("−", "-"))),
        );
      assert.ok(rows.length > 10 && rows.every((row) => row[2] === "0.936"), JSON.stringify(rows));
      const effects = rows.map((row) => Number(row[0]));
      assert.ok(new Set(effects).size > 3);
      assert.deepEqual(
        effects,
        [...effects].sort((a, b) => b - a),
      );
    },
    { fixtureOnly: true },
  );

  await check("300 names filter at once and stay in the address", async (page) => {
    await page.goto(`${url}/blame`);
    await page.waitForSelector('section[aria-label="Ranking"] tbody tr[aria-rowindex]');
    const cells = page.locator('section[aria-label="Ranking"] tbody tr[aria-rowindex] td:nth-child(2)');
    const name = (await cells.nth(3).textContent()).trim();
    await page.getByLabel("Filter names").fill(name);
    await until(
      async () => (await cells.allTextContents()).every((text) => text.includes(name)),
      Boolean,
      "the filter holds",
    );
    await page.waitForURL(/q=/);
  });

  await check("drivers draws sets by counters; a chosen cell is explained; the picture leaves as SVG", async (page) => {
    await page.goto(`${url}/drivers`);
    await page.waitForSelector(".heat-scroll svg");
    const { sets, counters } = await api("/estimates/drivers");
    assert.equal(await page.locator(".heat-scroll rect.cell").count(), sets.length * counters.length);
    await page.locator(".heat-scroll rect.cell").nth(1).click();
    await until(
      () => page.locator('section[aria-label="Selected counter"] h2').textContent(),
      (text) => text === counters[1].abbreviation,
      "the chosen counter",
    );
    await page.locator('section[aria-label="Counters by application"] button', { hasText: "Export" }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.locator('[role="menuitem"]', { hasText: "SVG" }).click(),
    ]);
    const svg = readFileSync(await file.path(), "utf8");
    assert.match(svg, /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.ok(svg.includes(counters[0].abbreviation));
  });

  await check("forecast shows the band over the observed, its backtest and the ablations", async (page) => {
    await page.goto(`${url}/forecast`);
    await page.waitForSelector(".picture-body svg path.high");
    assert.match(await page.locator('section[aria-label="Forecaster"]').textContent(), /Backtest error.*%/);
    await page.locator('section[aria-label="Backtests"] tbody tr[aria-rowindex]').first().waitFor();
  });

  await check(
    "blame, drivers and forecasts say that they are of all machines, whichever the top bar names",
    async (page) => {
      await page.goto(`${url}/fabric/torus-like`);
      await page.locator(".freshness", { hasText: "Recorded" }).waitFor();
      for (const path of ["blame", "drivers", "forecast"]) {
        await page.goto(`${url}/${path}`);
        await page.locator(".context .subtitle", { hasText: "all machines" }).waitFor();
      }
      // One machine's running jobs are a click away, and the address keeps the choice.
      const jobs = page.locator('[aria-label="Running jobs"] tbody tr[aria-rowindex]');
      const without = page.locator('section[aria-label="Jobs without steps"]');
      await jobs.first().waitFor();
      await without.waitFor();
      await page.locator(".context a", { hasText: "Only" }).click();
      await addressed(page, { machine: "torus-like" });
      await page.locator(".context .subtitle", { hasText: "0 instrumented jobs running · torus-like" }).waitFor();
      await without.waitFor({ state: "detached" });
      await page.locator(".context a", { hasText: "All machines" }).click();
      await without.waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a forecaster that has become worse than its backtest says so next to its promise; one that has not does not",
    async (page) => {
      const facts = page.locator('section[aria-label="Forecaster"] .facts');
      await page.goto(`${url}/forecast?exe=amg`);
      await facts.filter({ hasText: "band coverage 88 %, error 6.1 % · no drift" }).waitFor();
      assert.equal(await facts.locator(".alarm").count(), 0);
      await page.goto(`${url}/forecast?exe=lulesh`);
      await facts.filter({ hasText: "band coverage 67 %, error 16.9 %" }).waitFor();
      assert.match(await facts.textContent(), /Backtest error5\.4 %.*90 % band, coverage90 %/s);
      assert.match(
        await facts.locator(".alarm").textContent(),
        /worse than in the backtest: its band contained less than 90 % and its error grew/,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "the forecast page says what a forecast rests on, and of jobs without steps how long they take or why nobody can tell",
    async (page) => {
      await page.goto(`${url}/forecast`);
      const rests = page.locator(".rests-on");
      await rests.getByText("attention: first stalls of its routers (+2.4 points), and 1 more").waitFor();
      assert.equal(
        await rests.locator("circle.exposed").count(),
        2,
        "only inputs whose interval lies above zero stand out",
      );
      assert.match(await rests.textContent(), /placement.*not used/s);
      const jobs = page.locator('section[aria-label="Jobs without steps"]');
      const rows = jobs.locator("tbody tr[aria-rowindex]");
      assert.match(await rows.nth(0).textContent(), /40 min.*91 % of 180.*44 longer jobs of the same name and size/s);
      assert.match(await rows.nth(1).textContent(), /cannot tell.*has 3/s);
    },
    { fixtureOnly: true },
  );

  const poor = items.find((one) => one.blame.estimate_id === null && one.blame.lacks);
  if (poor) {
    await check("too few runs say what they need", async (page) => {
      await page.goto(`${url}/blame?exe=${encodeURIComponent(poor.exe)}&nodes=${poor.nodes}`);
      await page.waitForSelector(".lacking");
      assert.ok((await page.locator(".lacking").textContent()).includes(poor.blame.lacks));
    });
  }
}

// Two CSV files of measured runs: 40 runs of eight weeks, six users, of whom the first adds a fifth to what runs beside them take.
function measuredRuns() {
  const [runs, exposure] = [["run,start,time_s,nodes,groups"], ["run,user,amount"]];
  for (let run = 0; run < 40; run++) {
    const noise = Math.sin(run * 12.9898) * 43758.5453;
    const there = [0, 1, 2, 3, 4, 5].filter((user) => Math.sin(run * 7.13 + user * 3.7) > 0.1);
    const start = new Date(Date.UTC(2026, 0, 5, (run * 7) % 24) + run * 1.37 * 86_400_000).toISOString();
    const time = 300 * (1 + 0.02 * (noise - Math.floor(noise))) + (there.includes(0) ? 60 : 0);
    runs.push(`night-${run},${start},${time.toFixed(3)},${64 + (run % 2)},${1 + (run % 5)}`);
    for (const user of there) exposure.push(`night-${run},user${user},${20 + user}`);
  }
  return [`${runs.join("\n")}\n`, `${exposure.join("\n")}\n`];
}
