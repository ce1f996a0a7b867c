// A refusal is shown as a refusal, in place and with its reason: never as "none", never beside "Live".
import assert from "node:assert/strict";
import { atRest, until } from "../harness.mjs";

/** What the frame of every page, or a page as a whole, cannot do without. */
const FRAME = /^\/api\/v1\/(events|session|fabrics)$|\/routers$/;
/** What is fetched ahead for the time brush: without it the picture follows when the brush is let go, and nothing is called absent. */
const AHEAD = /\/frames$/;
/** What is always said below an estimate, whatever the answers; and what a router's own answer says of its nodes, which is drawn with that answer alone. */
const CAVEAT = /^(What it does not prove|no job known$)/;
const ABSENCE =
  /\bno (link|job|(\w+ )?counter|alert|run|forecast|route|turn|one|running|pair)s?\b|nothing (needs|fires|was|unusual)|none (is|of)|not sampled/i;

const asked = (request) => new URL(request.url()).pathname;

async function refuse(page, wanted, status) {
  await page.route(
    (at) => at.pathname.startsWith("/api/v1/") && wanted(at.pathname),
    (route) =>
      route.request().method() !== "GET"
        ? route.continue()
        : route.fulfill({
            status,
            contentType: "application/problem+json",
            body: JSON.stringify({
              type: "urn:flitwatch:problem:test",
              title: "Refused",
              status,
              detail: `refused: ${asked(route.request())}`,
              advice: "Ask for less.",
            }),
          }),
  );
}

export async function refusals({ url, check, api, fabricUrl }) {
  const running = (await api("/jobs?state=RUNNING")).items?.find((one) => one.runs > 0)?.job_id;
  const pages = {
    home: url,
    "the ring": `${url}/fabric/switched?view=ring&router=5`,
    "the ring in difference": `${url}/fabric/switched?view=ring&router=5&diff=on`,
    "a group": `${fabricUrl}?view=group`,
    "links in a table": `${fabricUrl}?view=table&rows=links`,
    "a day's axis": `${fabricUrl}?span=24h`,
    "a tree": `${url}/fabric/quartz-like?measure=stalls`,
    "its packets": `${url}/fabric/quartz-like?measure=packets`,
    "a job": `${url}/jobs/${running}?compare=2`,
    jobs: `${url}/jobs`,
    "jobs of a user": `${url}/jobs?user=u411`,
    incidents: `${url}/incidents`,
    "an incident": `${url}/incidents/139`,
    blame: `${url}/blame`,
    drivers: `${url}/drivers`,
    forecast: `${url}/forecast`,
    "the lab": `${url}/lab`,
    "a replay": `${url}/lab?replay=on`,
    noise: `${url}/lab?view=noise`,
    advice: `${url}/advice`,
    alerts: `${url}/alerts`,
    health: `${url}/health`,
  };
  for (const [name, address] of Object.entries(pages))
    await check(
      `every refusal shows with its reason: ${name}`,
      async (page) => {
        // Each answer that the page asks for, refused by itself with all others of its kind.
        const seen = new Set();
        page.on("request", (request) => {
          if (
            request.method() === "GET" &&
            asked(request).startsWith("/api/v1/") &&
            !FRAME.test(asked(request)) &&
            !AHEAD.test(asked(request))
          )
            seen.add(asked(request));
        });
        await refuse(page, (path) => !FRAME.test(path), 413);
        await page.goto(address);
        await until(
          () => seen.size,
          (n) => n > 0,
          "the page asks for something",
        );
        const text = () => page.evaluate(() => document.body.innerText);
        const missing = async () => {
          await atRest(page);
          const said = await text();
          return [...seen].filter((path) => !said.includes(`refused: ${path}`));
        };
        // Where a part of the page waits for one answer, what comes after it has no place yet: it is refused again while the answers before it are given.
        let left = await missing();
        while (left.length) {
          const before = new Set(left);
          await page.unrouteAll();
          await refuse(page, (path) => before.has(path), 413);
          await page.goto(address);
          left = (await missing()).filter((path) => before.has(path));
          assert.ok(left.length < before.size, `no reason for ${left}`);
        }
        const absent = (await text())
          .split("\n")
          .filter((line) => ABSENCE.test(line) && !CAVEAT.test(line) && !line.includes("refused: "));
        assert.deepEqual(absent, [], "nothing is called absent that was refused");
      },
      { fixtureOnly: true },
    );

  await check(
    'a router\'s history that has yet to come is loading, and nowhere "no data"',
    async (page) => {
      let go;
      const held = new Promise((resolve) => (go = resolve));
      await page.route(/\/timeseries\?/, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`${url}/fabric/perlis?view=tiles&router=5`);
      const block = page.locator(".router-block", { has: page.getByRole("heading", { name: "History" }) });
      await block.getByText("Loading the history").waitFor();
      assert.ok(!(await block.textContent()).includes("no data"));
      go();
      await block.locator("svg path.high").waitFor();
      assert.ok(!/Loading|no data/.test(await block.textContent()));
    },
    { fixtureOnly: true },
  );
  await check(
    "a server that answers 503 is not live, though its stream goes on",
    async (page) => {
      await page.goto(`${url}/fabric/perlis?view=ring`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (text) => /^Live/.test(text),
        "live at first",
      );
      await refuse(page, (path) => /stalls/.test(path), 503);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (text) => /failing|^Stale/.test(text),
        "not live",
        20_000,
      );
      await page.unrouteAll();
      await until(
        () => page.getByTestId("freshness").textContent(),
        (text) => /^Live/.test(text),
        "live again",
        30_000,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a page that is open during an update of the platform loads its new files, and stays while they are out of reach",
    async (page) => {
      const { items } = await api("/jobs?limit=200");
      await page.goto(`${url}/jobs/${items.find((job) => job.runs > 0).job_id}`);
      const alertMe = page.getByRole("button", { name: "Alert me" }).first();
      await page.route(/assets\/RuleDialog/, (route) => route.fulfill({ status: 404, body: "" }));
      const ask = async () => {
        await alertMe.waitFor();
        await page.evaluate(() => (window.old = true));
        await alertMe.click();
      };
      await ask();
      await page.getByRole("button", { name: "Try again" }).waitFor();
      await page.waitForTimeout(500);
      assert.equal(await page.evaluate(() => window.old), true);
      await page.reload();
      await page.route(`${url}/`, (route) => route.fulfill({ body: '<script src="/assets/index-newer.js"></script>' }));
      await ask();
      await until(
        () => page.evaluate(() => window.old ?? null).catch(() => true),
        (old) => old === null,
        "the page is loaded anew",
      );
      await alertMe.waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a download that is refused says so, and a granted one is saved",
    async (page) => {
      const { items } = await api("/advice");
      const one = items.find((item) => item.has_lfts);
      await page.goto(`${url}/advice?id=${one.recommendation_id}`);
      const button = page.locator("button", { hasText: "Download LFTs" });
      await button.waitFor();
      await page.route(/\/lfts$/, (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/problem+json",
          body: JSON.stringify({
            title: "Who are you?",
            status: 401,
            detail: "this needs a login",
            advice: "Sign in.",
          }),
        }),
      );
      await button.click();
      await until(
        () => page.locator('[role="alert"]').allTextContents(),
        (all) => all.some((text) => /this needs a login/.test(text)),
        "the reason",
      );
      await page.locator('[role="alert"] a', { hasText: "Sign in" }).waitFor();
      await page.unrouteAll();
      await page.route(/\/lfts$/, (route) =>
        route.fulfill({ status: 200, contentType: "application/octet-stream", body: "Unicast lids" }),
      );
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      assert.match(download.suggestedFilename(), /^recommendation-\d+\.lfts$/);
    },
    { fixtureOnly: true },
  );
}
