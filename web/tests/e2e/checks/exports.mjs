// What leaves the page says where it comes from, is there as Parquet too, and can be asked of the API by the line beside it.
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { addressed, atRest, query, ready, until } from "../harness.mjs";

const TOLD = ["Machine", "Window", "Exported", "Caveat", "Address"];

/** The file that an entry of an export menu saves. */
export async function savedBy(page, button, entry) {
  await button.click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator('[role="menuitem"]', { hasText: entry }).first().click(),
  ]);
  return readFileSync(await download.path());
}

/** A CSV as what it says of itself, by name, and its rows without the header. */
export function readCsv(text) {
  const lines = text.toString().trim().split("\r\n");
  const said = lines.filter((line) => line.startsWith("# ")).map((line) => /^# (\w+): (.*)$/.exec(line).slice(1));
  const [header, ...rows] = lines.filter((line) => !line.startsWith("# "));
  return { said: Object.fromEntries(said), header, rows };
}

/** The policy that the platform sends with the page. */
function policy() {
  const text = readFileSync(new URL("../../../../services/api/flitwatch_api/security.py", import.meta.url), "utf8");
  const parts = /CONTENT_SECURITY_POLICY = \(([^)]*)\)/.exec(text)[1];
  return [...parts.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join("");
}

export async function exports({ url, check, api, timed, fabricUrl }) {
  await check(
    "a file of routers says machine, window, date, caveat and address, and that address shows the same window",
    async (page) => {
      await page.goto(`${fabricUrl}?view=tiles`);
      await ready(page);
      const csv = readCsv(
        await savedBy(page, page.locator(".context button", { hasText: "Export" }), "Routers as CSV"),
      );
      assert.deepEqual(Object.keys(csv.said), TOLD);
      assert.equal(csv.said.Machine, timed.name);
      assert.match(csv.said.Caveat, /^Simulated data\. Routers and links without counters are unknown/);
      assert.ok(Math.abs(Date.now() - Date.parse(csv.said.Exported)) < 60_000);
      assert.equal(csv.rows.length, timed.routers);
      const [from, to] = csv.said.Window.split(" to ");
      await page.goto(csv.said.Address);
      await ready(page);
      await addressed(page, { from, to });
    },
    { fixtureOnly: true },
  );

  await check(
    "an export whose code does not load says so and what to do, until the next export or page",
    async (page) => {
      await page.goto(`${url}/jobs`);
      const menu = page.locator("main button", { hasText: /^Export/ });
      await menu.waitFor();
      await page.evaluate(() => (window.old = true));
      // As after an update: the page would be loaded anew without a word.
      await page.route(`${url}/`, (route) => route.fulfill({ body: '<script src="/assets/index-newer.js"></script>' }));
      await page.route(/\/assets\//, (route) => route.abort());
      await menu.click();
      await page.locator('[role="menuitem"]', { hasText: "Parquet" }).click();
      const alert = page.getByRole("alert").filter({ hasText: "reload the page, and export again" });
      await alert.waitFor();
      await page.waitForTimeout(500);
      assert.equal(await page.evaluate(() => window.old), true);
      await page.unroute(/\/assets\//);
      assert.ok(await savedBy(page, menu, "CSV"));
      await alert.waitFor({ state: "detached" });
    },
    { fixtureOnly: true },
  );

  await check(
    "the same rows leave as Parquet, and the API line beside them answers with them in a shell",
    async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.goto(`${fabricUrl}?view=tiles`);
      await ready(page);
      // A window that stays, or the next sample comes between the files.
      await page.keyboard.press("[");
      await until(() => query(page).from, Boolean, "a chosen window");
      await atRest(page);
      const button = page.locator(".context button", { hasText: "Export" });
      const csv = readCsv(await savedBy(page, button, "Routers as CSV"));
      const file = new Uint8Array(await savedBy(page, button, "Routers as Parquet")).buffer;
      const rows = await parquetReadObjects({ file });
      assert.equal(rows.length, csv.rows.length);
      const { key_value_metadata: said } = await parquetMetadataAsync(file);
      assert.deepEqual(
        TOLD.map((name) => said.find(({ key }) => key === name)?.value.slice(0, 8)),
        TOLD.map((name) => csv.said[name].slice(0, 8)),
      );
      await button.click();
      await page.locator('[role="menuitem"]', { hasText: "Copy the API line: routers" }).click();
      const line = await until(
        () => page.evaluate(() => navigator.clipboard.readText()),
        (text) => text.startsWith("curl "),
        "the line",
      );
      const answer = JSON.parse(execFileSync("bash", ["-c", line], { maxBuffer: 1 << 26 }));
      const ratio = Object.keys(rows[0]).find((name) => /stalls per flit/.test(name));
      answer.routers.router.forEach((router, i) => {
        const [shown, told] = [rows[router][ratio], answer.routers.ratio[i]];
        assert.ok(
          shown === null ? told === null : Math.abs(shown - told) <= 1e-4 * told,
          `${router}: ${shown}, ${told}`,
        );
      });
    },
    { fixtureOnly: true },
  );

  await check(
    "pictures and tables of every page that has them say where they come from",
    async (page) => {
      for (const [path, button, entry] of [
        ["/", ".context button", "What needs attention as CSV"],
        ["/jobs", ".context button", "Table as CSV"],
        ["/blame", '[aria-label="Ranking"] button, .card-head button', "Table as CSV"],
        ["/drivers", ".heat-card button", "Picture as SVG"],
        ["/health", 'section[aria-label="Gaps"] button', "Table as CSV"],
        [`/fabric/${timed.name}?view=ring`, ".context button", "Picture as SVG"],
        [`/fabric/${timed.name}?view=tiles`, ".time-menu button", "Table as CSV"],
      ]) {
        await page.goto(url + path);
        await atRest(page);
        const text = (
          await savedBy(
            page,
            page
              .locator(button)
              .filter({ hasText: /[Ee]xport/ })
              .first(),
            entry,
          )
        ).toString();
        for (const name of TOLD) assert.ok(text.includes(`${name}: `), `${name} of ${path}`);
        assert.ok(text.includes(`${url.replace(/\/$/, "")}/`), `the address of ${path}`);
      }
    },
    { fixtureOnly: true },
  );

  await check(
    "the evidence of a job is printed from its page, under the platform's own policy",
    async (page) => {
      const slow = (await api(`/incident?fabric=${timed.name}`)).victims[0].job_id;
      const words = `Job ${slow}: slower since 10:00`;
      const evidence = `<!doctype html><title>${words}</title><style>h1 { color: rgb(1, 2, 3) }</style><h1>${words}</h1><svg width="9" height="9"></svg>`;
      await page.route(/\/api\/v1\/jobs\/[^/]+\/case/, (route) =>
        route.fulfill({ contentType: "text/html; charset=utf-8", body: evidence }),
      );
      await page.route(`${url}/jobs/${slow}`, async (route) => {
        const response = await route.fetch();
        await route.fulfill({
          response,
          headers: { ...response.headers(), "content-security-policy": policy() },
        });
      });
      // The print dialog belongs to the browser: what it would print is noted in its place.
      await page.addInitScript(() => {
        globalThis.print = () => {
          const { body } = globalThis.document;
          globalThis.top.printed = [body.innerText, getComputedStyle(body.querySelector("h1") ?? body).color];
        };
      });
      await page.goto(`${url}/jobs/${slow}`);
      const button = page.locator("button", { hasText: "Print or save as PDF" });
      for (let times = 0; times < 2; times++) {
        await page.evaluate(() => delete globalThis.printed);
        await button.click();
        const printed = await until(
          () => page.evaluate(() => globalThis.printed),
          Boolean,
          "it is handed to the printer",
        );
        assert.deepEqual([printed[0].trim(), printed[1]], [words, "rgb(1, 2, 3)"]);
      }
      await page.setContent(evidence);
      assert.equal((await page.pdf({ format: "A4" })).subarray(0, 5).toString(), "%PDF-");
    },
    { fixtureOnly: true },
  );
}

// Connect your own data: counters that came and have no place in a fabric are said where a new site looks for them.

export async function connect({ url, check, api }) {
  await check(
    "the connect page says which counters no fabric has a place for, in the words of ingest health",
    async (page) => {
      const { topics } = await api("/ingest/status");
      const lost = topics.filter((topic) => topic.unplaced);
      assert.ok(lost.length);
      await page.goto(`${url}/connect`);
      const told = page.locator(".connect-unplaced");
      await told.first().waitFor();
      assert.deepEqual(
        await told.allTextContents(),
        lost.map((topic) => `${topic.topic}: ${topic.unplaced} in no fabric: ${topic.unplaced_because}`),
      );
      await page.goto(`${url}/health`);
      await page.getByRole("columnheader", { name: "in no fabric" }).waitFor();
      assert.equal(
        await page.locator("td .alarm", { hasText: String(lost[0].unplaced) }).getAttribute("title"),
        lost[0].unplaced_because,
      );
    },
    { fixtureOnly: true },
  );
}
