// Buttons for what the reader may not do say so before the click, in one wording; nothing is sent, and the login comes back.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { addressed, atRest, openSearch, until } from "../harness.mjs";
import { firstVisit } from "../visit.mjs";
import { readCsv, savedBy } from "./exports.mjs";

const LOCKED = [
  ["/lab?replay=on", "Replay it", "user"],
  ["/blame", "Compute verdicts", "user"],
  ["/advice", "Run it…", "user"],
  ["/advice", "Download LFTs", "operator"],
  ["/alerts?view=rules", "Try it", "user"],
  ["/alerts?view=rules", "Save the rule", "operator"],
  ["/alerts?view=silences", "New silence…", "operator"],
  ["/alerts?view=silences", "End now", "operator"],
  ["/alerts?view=contacts", "Add a contact…", "operator"],
  ["/health", "raw bytes", "operator"],
];

export async function access({ url, check }) {
  for (const [viewport, what] of [
    [{ width: 1440, height: 900 }, "a screen"],
    [{ width: 390, height: 844 }, "a phone"],
  ])
    await check(
      `who may only look is told so before the click, on ${what}`,
      async (page) => {
        await page.context().addCookies([{ name: "anonymous", value: "viewer", url }]);
        const sent = [];
        page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
        for (const [path, label, role] of LOCKED) {
          await page.goto(url + path);
          const button = page.locator(".locked", { hasText: label }).first();
          await button.waitFor();
          const why = `Requires a login with role ${role}`;
          assert.ok((await button.textContent()).includes(why), `${label}: ${await button.textContent()}`);
          const link = button.locator("a");
          assert.equal(await link.getAttribute("title"), why);
          const to = new URL(await link.getAttribute("href"), url).searchParams.get("to");
          assert.ok(to.startsWith(path.split("?")[0]), `the login comes back to ${to}`);
          assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width, path);
          assert.deepEqual(await violations(page), [], path);
        }
        assert.deepEqual(sent, []);
      },
      { fixtureOnly: true, viewport },
    );

  await check(
    "who is signed in with too low a role reads which one is needed",
    async (page) => {
      await page.goto(`${url}/login?to=/alerts?view=silences`);
      await page.locator("input").first().fill("ann");
      await page.locator('input[type="password"]').fill("fixture-password");
      await page.locator("form button").first().click();
      const button = page.locator(".locked", { hasText: "New silence…" });
      await button.waitFor();
      assert.match(await button.textContent(), /Needs role operator; you are user/);
      assert.ok(await button.locator("button").isDisabled());
    },
    { fixtureOnly: true },
  );

  await check(
    "an operator finds no button locked",
    async (page) => {
      for (const [path, label] of LOCKED.slice(0, -1)) {
        await page.goto(url + path);
        await page.locator("button", { hasText: label }).first().waitFor();
        await until(
          () => page.locator(".locked").count(),
          (n) => n === 0,
          `nothing is locked on ${path}`,
        );
      }
    },
    { fixtureOnly: true },
  );
}

// People: the login, accounts, tokens and the audit log.

async function logIn(page, url, next, name = "admin") {
  await page.goto(`${url}/login?to=${encodeURIComponent(next)}`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill("fixture-password");
  await page.locator("form button").click();
  await page.locator(".account-name", { hasText: name }).waitFor();
}

export async function people({ url, check }) {
  await check(
    "the centre's own login is offered, and leads back to where it was asked for",
    async (page) => {
      await page.goto(`${url}/login?to=${encodeURIComponent("/jobs?state=FAILED")}`);
      const way = page.locator("a", { hasText: "Sign in with Centre login" });
      assert.equal(await way.getAttribute("href"), "/api/v1/session/oidc?to=%2Fjobs%3Fstate%3DFAILED");
    },
    { fixtureOnly: true },
  );

  await check(
    "a wrong password is refused in words, the right one leads back to where it was asked for",
    async (page) => {
      await page.goto(`${url}/jobs?state=FAILED`);
      await page.locator("header a", { hasText: "Sign in" }).click();
      await page.getByLabel("Name").fill("admin");
      await page.getByLabel("Password").fill("not the password");
      await page.locator("form button").click();
      await page.locator('[role="alert"]', { hasText: "name or password is wrong" }).waitFor();
      await page.getByLabel("Password").fill("fixture-password");
      await page.locator("form button").click();
      await page.locator(".account-name", { hasText: "admin" }).waitFor();
      await until(
        () => page.url(),
        (at) => at.endsWith("/jobs?state=FAILED"),
        "the place that asked",
      );
      assert.equal(await page.evaluate(() => document.cookie), "", "the session is out of scripts' reach");
      await page.locator("header button", { hasText: "admin" }).click();
      await page.locator('[role="menuitem"]', { hasText: "Sign out" }).click();
      await page.locator("main button", { hasText: "Sign out" }).click();
      await page.locator("header a", { hasText: "Sign in" }).waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a foreign address is not followed after the login",
    async (page) => {
      await logIn(page, url, "https://evil.example/");
      assert.equal(new URL(page.url()).host, new URL(url).host);
    },
    { fixtureOnly: true },
  );

  await check(
    "an admin makes a user, disables them, and finds both in the audit log",
    async (page) => {
      await logIn(page, url, "/admin");
      const name = `eve-${Date.now() % 100_000}`;
      await page.locator("button", { hasText: "New user…" }).click();
      await page.getByLabel("User name, as in the scheduler").fill(name);
      await page.locator('[role="dialog"] input[type="password"]').fill("a long enough password");
      await page.locator('[role="dialog"] button', { hasText: "Make" }).click();
      const row = page.locator('section[aria-label="Users"] tr', { hasText: name });
      await row.waitFor();
      await page.getByLabel(`Disable ${name}`).click();
      await row.locator("td", { hasText: "disabled" }).waitFor();
      await page.locator(".segmented button", { hasText: "Audit log" }).click();
      await addressed(page, { view: "audit" });
      await page.locator('section[aria-label="Audit log"] tr', { hasText: name }).first().waitFor();
      assert.equal(await page.evaluate(() => window.__hurt), undefined);
    },
    { fixtureOnly: true },
  );

  await check(
    "a token's secret is shown once, and the token is revoked",
    async (page) => {
      await logIn(page, url, "/admin?view=tokens");
      await page.locator("button", { hasText: "New token…" }).click();
      await page.getByLabel("Purpose").fill("dashboard");
      await page.locator('[role="dialog"] button', { hasText: "Make" }).click();
      assert.match(await page.locator(".people-secret").textContent(), /^fwt_/);
      await page.locator('[role="dialog"] button', { hasText: "Done" }).click();
      assert.equal(await page.locator(".people-secret").count(), 0);
      await page.getByLabel("Revoke dashboard of admin").first().click();
      await page.locator("tr", { hasText: "dashboard" }).locator("td", { hasText: "revoked" }).first().waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a user has tokens, and neither accounts nor the audit log",
    async (page) => {
      await logIn(page, url, "/admin?view=audit", "ann");
      await page.locator("h1", { hasText: "My tokens" }).waitFor();
      await page.waitForSelector('section[aria-label="Tokens"]');
      assert.equal(await page.locator(".segmented button", { hasText: "Audit log" }).count(), 0);
      await page.locator("button", { hasText: "New token…" }).click();
      await page.waitForSelector('[role="dialog"] fieldset');
      assert.deepEqual(await page.locator('[role="dialog"] fieldset label').allTextContents(), [
        "read data",
        "ask for advice",
        "start and cancel tasks",
        "report runs",
      ]);
    },
    { fixtureOnly: true },
  );

  for (const colorScheme of ["light", "dark"]) {
    await check(
      `axe finds nothing on the pages of people (${colorScheme})`,
      async (page) => {
        await logIn(page, url, "/admin");
        for (const [view, there] of [
          ["", "Users"],
          ["?view=tokens", "Tokens"],
          ["?view=audit", "Audit log"],
        ]) {
          await page.goto(`${url}/admin${view}`);
          await page.waitForSelector(`section[aria-label="${there}"] table`);
          assert.deepEqual(await violations(page), []);
        }
        await page.goto(`${url}/admin`);
        await page.locator("button", { hasText: "New user…" }).click();
        await atRest(page);
        assert.deepEqual(await violations(page), []);
      },
      { fixtureOnly: true, colorScheme },
    );
  }
}

// The tour of a demo: by itself once, left at any step, by keyboard alone, on a phone too, and it blocks nothing.

const TITLES = [
  "The machine",
  "The slow job",
  "The cause",
  "Affected links",
  "What would help",
  "Connect your own data",
];

/** What the harness does for every other check is undone: this reader comes for the first time. */
const afresh = (page) =>
  page.addInitScript(
    () =>
      sessionStorage.getItem("came") ||
      (localStorage.removeItem("flitwatch-tour"), sessionStorage.setItem("came", "1")),
  );

export async function tour({ url, check, fabrics }) {
  await check(
    "the first visit shows the incident, and the tour neither moves nor covers what it explains; every page is in the bar",
    async (page) => {
      await afresh(page);
      const wrong = [];
      for (const [width, height] of [
        [390, 844],
        [1024, 768],
        [1440, 900],
      ]) {
        await page.setViewportSize({ width, height });
        await page.goto(url);
        const box = page.locator('aside[aria-label="Tour"]');
        await page.waitForSelector(".incident-chain");
        await box.waitFor();
        await atRest(page);
        const { first, top, over } = await page.evaluate(() => {
          const bar = document.querySelector(".tour").getBoundingClientRect();
          const main = document.querySelector("main").getBoundingClientRect();
          const card = document.querySelector(".home-incident").getBoundingClientRect();
          const first = document.querySelector("main .card").getAttribute("aria-label");
          return { first, top: card.top - main.top, over: main.bottom - bar.top };
        });
        if (first !== "Incident") wrong.push(`${width}: ${first} comes first`);
        if (top < 0 || over > 1) wrong.push(`${width}: incident at ${top}, ${over} pixels under the tour`);
        const nav = page.locator('nav[aria-label="Pages"]');
        if (!(await nav.locator("a", { hasText: "Advice" }).isVisible())) {
          await nav.locator("button").click();
          for (const name of ["Blame", "Advice", "Health"]) await page.getByRole("menuitem", { name }).waitFor();
          await page.keyboard.press("Escape");
        }
        const { x, width: w } = await nav.locator("a", { hasText: "Alerts" }).boundingBox();
        if (x < 0 || x + w > width) wrong.push(`${width}: Alerts out of sight`);
      }
      assert.deepEqual(wrong, []);
    },
    { fixtureOnly: true },
  );
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ])
    for (const colorScheme of ["light", "dark"])
      await check(
        `the tour tells six steps by keyboard alone at ${viewport.width} pixels, ${colorScheme}`,
        async (page) => {
          await afresh(page);
          await page.goto(url);
          const box = page.locator('aside[aria-label="Tour"]');
          await page.waitForSelector(".incident-chain");
          for (const [at, title] of TITLES.entries()) {
            await until(
              () => box.locator("h2").textContent(),
              (text) => text === title,
              `step ${at + 1}`,
            );
            assert.match(await box.textContent(), new RegExp(`Step ${at + 1} of 6`));
            assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width);
            if (at === 0 || at === 5) assert.deepEqual(await violations(page), [], title);
            const { y, height } = await box.boundingBox();
            assert.ok(y >= 0 && y + height <= viewport.height, "the step is in sight");
            const button = box.getByRole("button", { name: at < 5 ? "Next" : "Connect your own data" });
            if (at === 0) await button.focus();
            else
              for (let tabs = 0; !(await button.evaluate((one) => one === document.activeElement)); tabs++) {
                assert.ok(tabs < 4, "four tabs from the title to the way on");
                await page.keyboard.press("Tab");
              }
            await page.keyboard.press("Enter");
          }
          await page.waitForURL(/\/connect$/);
          await page.goto(url);
          await page.waitForSelector(".incident-chain");
          assert.equal(await box.count(), 0, "done, it does not come again");
        },
        { fixtureOnly: true, viewport, colorScheme },
      );

  await check(
    "the tour can be left at any step, does not come again, blocks nothing and starts from the help menu",
    async (page) => {
      await afresh(page);
      await page.goto(url);
      const box = page.locator('aside[aria-label="Tour"]');
      await box.waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.closest(".tour") ?? null), null);
      await box.getByRole("button", { name: "Next" }).click();
      await page.locator('nav[aria-label="Pages"] a', { hasText: "Jobs" }).click();
      await page.waitForURL(/\/jobs/);
      assert.equal(await box.locator("h2").textContent(), "The slow job");
      await page.keyboard.press("Escape");
      await box.waitFor({ state: "detached" });
      await page.goto(url);
      await page.waitForSelector(".incident-chain");
      assert.equal(await box.count(), 0);
      await page.getByRole("button", { name: "Help" }).click();
      await page.getByRole("menuitem", { name: "Take the tour" }).click();
      await box.waitFor();
      await box.getByRole("button", { name: "Leave the tour" }).click();
      await box.waitFor({ state: "detached" });
    },
    { fixtureOnly: true },
  );

  await check(
    "on a machine that is not simulated no tour comes by itself",
    async (page) => {
      await afresh(page);
      await page.route("**/api/v1/fabrics", async (route) => {
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: { ...answer, items: answer.items.map((one) => ({ ...one, simulated: false })) } });
      });
      await page.goto(`${url}/?machine=${fabrics[0].name}`);
      await page.waitForSelector(".incident-chain");
      await atRest(page);
      assert.equal(await page.locator('aside[aria-label="Tour"]').count(), 0);
    },
    { fixtureOnly: true },
  );
}

// Visits as people make them: the slow job, the long list, the phone, hostile names.

export async function visits({ url, check, api, timed }) {
  await check("what home, a job's neighbours and health list leaves as CSV", async (page) => {
    const saved = async (button, entry) => readCsv(await savedBy(page, button, entry));
    // A moment of the past: more may come to the list of now between the file and the count.
    const moment = Math.floor(Date.parse(timed.last_ts) / 60_000) * 60_000 - 60_000;
    await page.goto(`${url}/?machine=${timed.name}&at=${new Date(moment).toISOString()}`);
    const items = page.locator(".home-item");
    await items.first().waitFor();
    await atRest(page);
    const listed = await saved(page.locator(".context button", { hasText: "Export" }), "attention as CSV");
    assert.equal(listed.rows.length, 1 + (await items.count()), "the incident and the rows of the list");
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
    "in a picture the name of a job ends before what is next to it, however long it is",
    async (page) => {
      await page.route(/api\/v1\/(incidents|jobs)\/\d+/, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replace(/"(amg|pf3d)"/g, JSON.stringify("one-name-".repeat(20)));
        await route.fulfill({ response, body });
      });
      const box = (locator) => locator.evaluate((one) => one.getBoundingClientRect().toJSON());
      await page.goto(`${url}/incidents/140`);
      const row = page.locator("g", { has: page.locator(".incident-bar") }).last();
      assert.ok((await box(row.locator("text").first())).right <= (await box(row.locator(".incident-bar"))).left);
      await page.goto(`${url}/jobs/${(await api("/incidents/140")).victims[0].job_id}`);
      const onset = page.locator(".job-steps .onset text").first();
      assert.ok((await box(onset)).left >= (await box(page.locator(".job-steps svg[role=img]"))).left);
    },
    { fixtureOnly: true },
  );

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
        await atRest(page);
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
      await (await openSearch(page)).fill("img src");
      await page.locator(".menu-item", { hasText: "<img src=x" }).first().waitFor();
      await page.goto(`${url}/fabric/${timed.name}?job=${hostile.job_id}`);
      await page.locator(".chip", { hasText: "<img src=x" }).waitFor();
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
      // Where the columns stand below one another, too.
      await other.setViewportSize({ width: 1024, height: 768 });
      await other.reload();
      const heading = other.locator('section[aria-label="Task"] h2');
      await until(
        async () => (await heading.boundingBox())?.y ?? Infinity,
        (y) => y > 48 && y < 700,
        "the result in sight",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a simulated run shows its congested fraction with what it is, or says why it has none",
    async (page) => {
      const opened = async (name, args) => {
        const body = JSON.stringify({ name, args });
        const { task_id: task } = await (await fetch(`${url}/api/v1/tasks`, { method: "POST", body })).json();
        await page.goto(`${url}/lab?task=${task}`);
        return page.locator('section[aria-label="Task"]');
      };
      const loop = await opened("routing.loop", { pattern: "bisection-shuffle" });
      await loop.locator(".plots canvas").nth(1).waitFor();
      const beyond = (all) =>
        all.filter((one) => one.getBoundingClientRect().right > one.closest(".card").getBoundingClientRect().right + 1);
      assert.equal(await loop.locator(".before-after .card-head > *").evaluateAll((all) => all.length), 5);
      assert.deepEqual(await loop.locator(".before-after .card-head > *").evaluateAll(beyond), []);
      await loop.getByText("The share of the packets of the simulated jobs that waited on a link").waitFor();
      await loop.locator(".segmented button", { hasText: "Pod 1" }).click();
      const ghost = await opened("sim.study", { study: "taffet-minighost", parameters: {} });
      assert.equal(
        await (await ghost.locator(".plots rect").first().waitFor(), ghost.locator(".plots rect")).count(),
        128,
      );
      await ghost.getByText("Each square is a node").waitFor();
      assert.deepEqual(await violations(page), []);
      const flows = await opened("sim.study", { study: "hoefler-fig13", parameters: {} });
      await flows.getByText("Congested fraction: unknown. This model has flows instead of packets").waitFor();
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
      const task = page.locator('section[aria-label="Task"]');
      const facts = await task.locator(".facts").textContent();
      assert.match(facts, /window ends\d\d:\d\d:\d\d UTC.*other jobs' traffic, GiB\/s812\.4/);
      assert.equal(await task.locator(".card-title .subtitle").first().textContent(), "succeeded");
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
      await page.locator(".context button", { hasText: "Compare" }).click();
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
        await atRest(page);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
        assert.deepEqual(await violations(page), []);
      },
      { viewport: { width: 390, height: 844 } },
    );
  }
}
