// A job that was slowed by a planted one (tests/e2e/test_page.py lives through the incident): FLITWATCH_JOB and FLITWATCH_PLANTED name the two.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const { FLITWATCH_JOB: job, FLITWATCH_PLANTED: planted } = process.env;

await check("the job's page names who was planted, as the API does", async (page) => {
  const told = await api(`/jobs/${job}/explanation`);
  assert.equal(told.verdict, "named");
  assert.equal(told.named, planted);
  await page.goto(`${url}/jobs/${job}`);
  const verdict = page.locator('section[aria-label="Verdict"]');
  await until(
    () => verdict.locator("h2").textContent(),
    (text) => text === told.title,
    "the API's title",
  );
  assert.match(told.title, new RegExp(`when job ${planted} started on`));
  assert.ok((await verdict.textContent()).includes(told.detail), "the API's detail");
  // The chain in the API's words, each remedy with its minutes or the reason why they are unknown, and one click to the replay.
  const chain = page.locator('section[aria-label="Why, and what would help"]');
  for (const one of told.chain) assert.ok((await chain.textContent()).includes(one.text), one.text);
  assert.equal(await chain.locator('ul[aria-label="What would help"] li').count(), told.remedies.length);
  await until(
    () => page.locator(".job-steps .onset text").textContent(),
    (text) => text.endsWith(`${planted} started`),
    "the start of the named job as a labelled line",
  );
  // Who is named stands first among the neighbours, and nobody else is.
  const first = page.locator('section[aria-label="Neighbours"] tbody tr').first();
  await until(
    () => first.textContent(),
    (text) => text.includes(planted) && text.includes("named"),
    "the named job first",
  );
  assert.equal(await page.locator('section[aria-label="Neighbours"] .tag', { hasText: "named" }).count(), 1);
});

// The reader's browser prints; its dialog is stood in for by a note of what it would print.
await check("the evidence is printed from the job's page, under the server's own policy", async (page) => {
  await page.addInitScript(() => {
    globalThis.print = () => {
      globalThis.top.printed = globalThis.document.body.innerText;
    };
  });
  await page.goto(`${url}/jobs/${job}`);
  await page.locator("button", { hasText: "Print, or save as PDF" }).click();
  const printed = await until(
    () => page.evaluate(() => globalThis.printed ?? ""),
    (text) => text.length > 0,
    "the evidence is handed to the printer",
  );
  for (const words of [`Job ${job}: `, planted, "What this does not prove", "SHA-256 of this file"])
    assert.ok(printed.includes(words), words);
  await page.goto("about:blank");
  await page.setContent(await (await fetch(`${url}/api/v1/jobs/${job}/case`)).text());
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
  assert.ok(pages.length >= 1 && pages.length <= 6, `${pages.length} pages`);
});

await suite.finish();
