// Stored incidents: the list with its filters, one incident's page, and the pages that lead there.
import assert from "node:assert/strict";
import { addressed, openSearch, query, until } from "../harness.mjs";

export async function incidents({ url, fixture, check, api }) {
  if (!fixture) return;
  const { items } = await api("/incidents");
  const of = (state) => items.find((one) => one.state === state);
  const [open, over, withdrawn] = ["open", "over", "withdrawn"].map(of);
  const verdict = (page) => page.locator('section[aria-label="Verdict"]');
  const rows = (page) => page.locator(".incidents-card tbody tr[aria-rowindex]");

  await check("the list of incidents says what each cost, and the address holds its filters", async (page) => {
    await page.goto(`${url}/incidents`);
    const first = rows(page).first();
    await first.waitFor();
    const said = await first.textContent();
    for (const text of [open.state, open.title, "so far", open.causes[0].job_id, open.causes[0].user])
      assert.ok(said.includes(text), `${text} in ${said}`);
    assert.match(await rows(page).nth(1).textContent(), /1\.1 \(0\.9 to 1\.4\)/);
    await page
      .getByRole("radio", { name: "Withdrawn" })
      .or(page.getByRole("button", { name: "Withdrawn" }))
      .click();
    await until(
      () => rows(page).allTextContents(),
      (all) => all.length === 1 && all[0].startsWith("withdrawn"),
      "the withdrawn one alone",
    );
    await addressed(page, { state: "withdrawn" });
    await page.goto(`${url}/incidents?job=${over.causes[0].job_id}`);
    await until(
      () => rows(page).count(),
      (n) => n === 1,
      "the incidents of one job",
    );
    await page.getByLabel("User whose jobs").fill(over.causes[0].user);
    await until(
      () => query(page).user,
      (user) => user === over.causes[0].user,
      "the user in the address",
    );
    await until(
      () => rows(page).count(),
      (n) => n === 1,
      "the incident of that job and user",
    );
    await rows(page).first().getByRole("link", { name: over.title }).click();
    await page.waitForURL(`**/incidents/${over.incident_id}`);
  });

  await check(
    "on a phone the list says of each incident its title in full and when it began, without a scroll sideways",
    async (page) => {
      await page.goto(`${url}/incidents`);
      const row = rows(page).first();
      await row.waitFor();
      const { cut, right } = await row.evaluate((one) => {
        const link = one.cells[1].querySelector("a");
        return { cut: link.scrollHeight - link.clientHeight, right: one.cells[2].getBoundingClientRect().right };
      });
      assert.ok(cut <= 1 && right <= 390, `${cut} pixels of the title are cut, it began at ${right}`);
      for (const one of [open, over]) {
        await page.goto(`${url}/incidents/${one.incident_id}`);
        const slowed = page.locator(".incident-table .data-table");
        await slowed.waitFor();
        const hidden = await slowed.evaluate((box) => box.scrollHeight - box.clientHeight);
        assert.ok(hidden <= 0, `${hidden} pixels of the slowed jobs are hidden`);
      }
    },
    { viewport: { width: 390, height: 844 } },
  );

  await check("older incidents come as the list is scrolled, and all of a window as a file", async (page) => {
    await page.goto(`${url}/incidents`);
    await page.getByText("100 shown, more below").waitFor();
    await page.locator(".incidents-card .data-table").evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await until(
      () => page.locator(".context .subtitle").textContent(),
      (text) => /^139 · newest first$/.test(text),
      "all of them",
    );
    const from = new Date(Date.parse(withdrawn.began) - 60_000).toISOString();
    await page.goto(`${url}/incidents?from=${from}`);
    await until(
      () => rows(page).count(),
      (n) => n === 3,
      "those of the window",
    );
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    assert.equal(file.suggestedFilename(), "incidents.csv");
    const chunks = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString().trim().split("\n").length, 4, "a header and the window's three");
    await page.getByRole("button", { name: "Any time" }).click();
    await page.getByText("100 shown, more below").waitFor();
    await page.getByRole("button", { name: "Window…" }).click();
    await page.getByRole("button", { name: "Show" }).click();
    await until(
      () => Object.keys(query(page)).sort().join(),
      (keys) => keys === "from,to",
      "the chosen day in the address",
    );
  });

  await check("without a stored incident the list says what that means", async (page) => {
    await page.goto(`${url}/incidents?user=u-of-nothing`);
    await page.getByRole("heading", { name: "No incident is stored for this window and these filters" }).waitFor();
    await page.getByText("cannot be examined").waitFor();
  });

  await check(
    "an incident's page has causes, minutes, slowed jobs, links, remedies, alerts and notes",
    async (page) => {
      const told = await api(`/incidents/${over.incident_id}`);
      await page.goto(`${url}/incidents/${over.incident_id}`);
      await verdict(page).getByRole("heading", { name: told.title }).waitFor();
      assert.equal(await page.title(), `Incident ${over.incident_id} · Flitwatch`);
      assert.match(
        await verdict(page).textContent(),
        /2jobs slowed.*1\.1node-hours lost, 95 %: 0\.9 to 1\.4.*4 min 25 s/,
      );
      const part = (name) => page.locator(`section[aria-label="${name}"]`);
      const causes = await part("Causes").locator("tbody tr").allTextContents();
      assert.match(causes[0], new RegExp(`${told.causes[0].job_id}.*72 %`));
      assert.match(causes[1], /unknown/, "a part that is not known is not 0 %");
      const chart = part("Waiting over time").locator('svg[role="img"]');
      assert.match(await chart.getAttribute("aria-label"), /up to 5\.2 stalls per flit, 0\.3 in a quiet minute/);
      const bars = await chart
        .locator(".incident-bar")
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
      assert.equal(bars.length, 2);
      assert.ok(bars[1].left > bars[0].left && bars[1].right < bars[0].right, "the second came later and recovered");
      const slowed = await part("Slowed jobs").locator("tbody tr[aria-rowindex]").allTextContents();
      assert.match(slowed[0], /×2\.9.*3 min 48 s \(3 min 14 s to 4 min 22 s\).*its end/);
      assert.match(await part("What would have helped").textContent(), /Lost 3 min 48 s\./);
      assert.match(await part("Alerts").textContent(), /group-stalls fired .*, resolved .* · 2 messages delivered/);
      assert.equal(await part("Alerts").locator("a").getAttribute("href"), "/alerts?alert=40");
      await part("What was done").getByText("Asked the owner to limit checkpoints").waitFor();
      const link = new URL(await page.locator(".incident-links a").first().getAttribute("href"), url);
      assert.deepEqual(
        [link.pathname, link.searchParams.get("router")],
        ["/fabric/perlis", String(told.links[0].to_router)],
      );
      const replay = new URL(await page.getByRole("link", { name: "Replay with" }).getAttribute("href"), url);
      assert.equal(replay.searchParams.get("job"), told.victims[0].job_id);
      assert.equal(await page.evaluate(() => window.__hurt), undefined);
    },
  );

  await check("a very long user name leaves the table of causes low, and its title holds it whole", async (page) => {
    const told = await api(`/incidents/${over.incident_id}`);
    const user = "u".repeat(200);
    const causes = told.causes.map((one) => ({ ...one, user }));
    await page.route(/\/v1\/incidents\/\d+$/, (route) => route.fulfill({ json: { ...told, causes } }));
    await page.goto(`${url}/incidents/${over.incident_id}`);
    const name = page.locator(".neighbour-user a").first();
    assert.ok((await name.getAttribute("title")).includes(user));
    const { height } = await name.boundingBox();
    assert.ok(height < 40, `the name is ${height} pixels high`);
  });

  await check("the number of an incident that became part of another leads to that one", async (page) => {
    await page.goto(`${url}/incidents/137`);
    await page.waitForURL(`**/incidents/${over.incident_id}`);
    await page.getByRole("heading", { name: `Incident ${over.incident_id}` }).waitFor();
    await page.goto(`${url}/incidents/999`);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
  });

  await check("beside an incident the top bar speaks of its machine, whichever was looked at before", async (page) => {
    await page.goto(`${url}/fabric/torus-like`);
    await page.locator(".freshness", { hasText: "Recorded" }).waitFor();
    await page.goto(`${url}/incidents/${open.incident_id}`);
    await page.locator(".top button", { hasText: open.fabric }).first().waitFor();
    await page.locator(".freshness", { hasText: "Live" }).waitFor();
  });

  await check("a withdrawn incident says so, and blames no job", async (page) => {
    await page.goto(`${url}/incidents/${withdrawn.incident_id}`);
    await verdict(page).getByRole("heading", { name: withdrawn.title }).waitFor();
    await verdict(page).getByText("No job is named, and no loss is counted").waitFor();
    assert.equal(await verdict(page).locator(".figures").count(), 0);
    for (const name of ["Causes", "Slowed jobs", "What would have helped"])
      assert.equal(await page.locator(`section[aria-label="${name}"]`).count(), 0, name);
  });

  await check("home leads to its incident, and from there to the job that caused it", async (page) => {
    await page.goto(url);
    const card = page.locator('section[aria-label="Incident"]');
    await card.getByRole("link", { name: open.title }).click();
    await page.waitForURL(`**/incidents/${open.incident_id}`);
    await page.locator('section[aria-label="Causes"]').getByRole("link", { name: open.causes[0].job_id }).click();
    await page.waitForURL(`**/jobs/${open.causes[0].job_id}`);
    await page.goto(url);
    await card.getByRole("link", { name: "All incidents" }).click();
    await page.waitForURL("**/incidents?fabric=perlis");
  });

  await check("a quiet machine's last incident leads to its page", async (page) => {
    const now = await api("/incident?fabric=perlis");
    const last = { ...now, incident_id: over.incident_id, title: over.title, until: over.ended };
    const quiet = {
      ...now,
      verdict: "none",
      title: "No incident",
      incident_id: null,
      victims: [],
      aggressor: null,
      last,
    };
    await page.route(/\/incident(\?|$)/, (route) => route.fulfill({ json: quiet }));
    await page.goto(url);
    const card = page.locator('section[aria-label="Incident"]');
    await card.getByRole("heading", { name: "No incident" }).waitFor();
    assert.equal(await card.locator("h2 a").count(), 0, "what is not stored leads nowhere");
    await card.getByRole("link", { name: over.title }).click();
    await page.waitForURL(`**/incidents/${over.incident_id}`);
  });

  await check(
    "the culprit's page begins with what it cost others; a slow job's leads to its incident",
    async (page) => {
      await page.goto(`${url}/jobs/${open.causes[0].job_id}`);
      await verdict(page).getByRole("heading", { name: "Not slow" }).waitFor();
      const said = await verdict(page).getByRole("heading").allTextContents();
      assert.deepEqual(said, ["Slowed 3 jobs by 10 min 25 s in total (95 %: 9 min 23 s to 11 min 28 s)", "Not slow"]);
      assert.match(await page.locator('section[aria-label="Why"]').textContent(), /Cost to others/);
      await verdict(page)
        .getByRole("link", { name: `Incident ${over.incident_id}` })
        .click();
      await page.waitForURL(`**/incidents/${over.incident_id}`);
      await page.goto(`${url}/jobs/${(await api(`/incidents/${open.incident_id}`)).victims[0].job_id}`);
      await verdict(page)
        .getByRole("link", { name: `Incident ${open.incident_id}` })
        .waitFor();
    },
  );

  await check(
    "jobs of one user begin with the incidents that they are named for, where there are any",
    async (page) => {
      await page.goto(`${url}/jobs?user=${over.causes[0].user}`);
      await page.getByRole("link", { name: "Named for 1 incident in which slowed jobs lost 1.1 node-hours" }).click();
      await page.waitForURL(`**/incidents?user=${over.causes[0].user}`);
      const named = new Set(
        (await api("/incidents?limit=1000")).items.flatMap((one) => one.causes.map((job) => job.user)),
      );
      const innocent = (await api("/jobs?limit=200")).items.find((one) => !named.has(one.user));
      await page.goto(`${url}/jobs?user=${innocent.user}`);
      await page.locator(".jobs-card tbody tr").first().waitFor();
      assert.equal(await page.locator(".jobs-cost").count(), 0);
    },
  );

  await check("the search finds incidents by number and by job", async (page) => {
    await page.goto(url);
    await page.waitForSelector("h1");
    const field = await openSearch(page);
    await field.fill(`incident ${withdrawn.incident_id}`);
    await page.locator(".search-list .menu-item", { hasText: withdrawn.title }).click();
    await page.waitForURL(`**/incidents/${withdrawn.incident_id}`);
  });

  await check("a note is kept with its incident, and whoever may not write one reads why", async (page) => {
    await page.goto(`${url}/incidents/${open.incident_id}`);
    const card = page.locator('section[aria-label="What was done"]');
    await card.getByLabel("Note").fill("Held the job");
    await card.getByRole("button", { name: "Add the note" }).click();
    await card.locator(".incident-note", { hasText: "Held the job" }).waitFor();
    assert.equal(await card.getByLabel("Note").inputValue(), "");
    await page.context().addCookies([{ name: "anonymous", value: "viewer", url }]);
    await page.reload();
    await card.getByText("Requires a login with role user").waitFor();
    assert.ok(await card.getByLabel("Note").isDisabled());
  });

  await check("an open incident and its list follow the stream", async (page) => {
    const list = await page.context().newPage();
    await page.goto(`${url}/incidents/${open.incident_id}`);
    await list.goto(`${url}/incidents`);
    await verdict(page).getByText("open so far").waitFor();
    await rows(list).first().waitFor();
    try {
      await fetch(`${url}/fixture/close`);
      await verdict(page).getByText("lasted").waitFor({ timeout: 10_000 });
      await until(
        () => rows(list).first().textContent(),
        (text) => text.startsWith("over"),
        "over in the list",
      );
    } finally {
      await fetch(`${url}/fixture/reopen`);
    }
    await verdict(page).getByText("open so far").waitFor({ timeout: 20_000 });
  });
}
