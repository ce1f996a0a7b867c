// A planted incident (tests/e2e/test_page.py): job 2 slows job 1. FLITWATCH_DURING is a moment of it, FLITWATCH_ASKED the last one; FLITWATCH_STATE is what it is then.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const { FLITWATCH_DURING: during, FLITWATCH_ASKED: asked, FLITWATCH_STATE: state } = process.env;
const moment = (path, at) => `${url}${path}?at=${encodeURIComponent(at)}`;
const says = (found, text, what) =>
  until(
    () => found.textContent(),
    (shown) => shown.includes(text),
    what,
  );

await check("home names the culprit while it lasts, with the API's title", async (page) => {
  for (const at of state === "open" ? [during, asked] : [during]) {
    const [machine] = (await api("/fabrics")).items;
    const told = await api(`/incident?fabric=${machine.id}&at=${encodeURIComponent(at)}`);
    assert.equal(told.verdict, "incident");
    assert.equal(told.aggressor.job_id, "2");
    await page.goto(moment("/", at));
    await says(page.locator('section[aria-label="Incident"]'), told.title, `${told.title} on home at ${at}`);
  }
});

await check("the slowed job's page names it, and leads to the incident", async (page) => {
  const told = await api(`/jobs/1/explanation?at=${encodeURIComponent(asked)}`);
  assert.equal(told.named, "2");
  await page.goto(moment("/jobs/1", asked));
  const verdict = page.locator('section[aria-label="Verdict"]');
  await says(verdict, told.title, "the title");
  await page.locator(`main a[href^="/incidents/${told.incident_id}"]`).first().waitFor();
});

await check("the culprit's page begins with whom it slowed; an innocent job's does not", async (page) => {
  await page.goto(moment("/jobs/2", asked));
  await says(page.locator("main"), "Slowed 1 job by ", "what it cost");
  await page.goto(moment("/jobs/3", asked));
  await page.locator('section[aria-label="Verdict"] h2').waitFor();
  assert.ok(!(await page.locator("main").textContent()).includes("Slowed"), "job 3 slowed nobody");
});

await check("the list has it, alone", async (page) => {
  const { items } = await api("/incidents");
  assert.equal(items.length, 1);
  assert.equal(items[0].state, state);
  await page.goto(`${url}/incidents`);
  await page.getByRole("link", { name: items[0].title }).waitFor();
});

await suite.finish();
