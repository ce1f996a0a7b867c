// A stored incident of a planted job (tests/e2e/test_page.py stores it): FLITWATCH_INCIDENT, FLITWATCH_MERGED, which became part of it, FLITWATCH_JOB and FLITWATCH_PLANTED.
import assert from "node:assert/strict";
import { start } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const {
  FLITWATCH_INCIDENT: incident,
  FLITWATCH_MERGED: merged,
  FLITWATCH_JOB: job,
  FLITWATCH_PLANTED: planted,
} = process.env;

await check("the list and the page of an incident say what the API says", async (page) => {
  const told = await api(`/incidents/${incident}`);
  await page.goto(`${url}/incidents?job=${job}`);
  await page.getByRole("link", { name: told.title }).click();
  await page.waitForURL(`**/incidents/${incident}`);
  const part = (name) => page.locator(`section[aria-label="${name}"]`);
  await part("Verdict").getByText(told.detail).waitFor();
  assert.match(await part("Causes").locator("tbody tr").textContent(), new RegExp(`^${planted}`));
  const slowed = await part("Slowed jobs").locator("tbody tr[aria-rowindex]").textContent();
  assert.ok(slowed.startsWith(job) && slowed.includes("5 min 48 s (5 min 10 s to 6 min 30 s)"), slowed);
  await part("Waiting over time").locator("path.high").first().waitFor();
  for (const one of told.remedies) await part("What would have helped").getByText(one.text).waitFor();
});

await check("the address of an incident that became part of another leads to that one", async (page) => {
  await page.goto(`${url}/incidents/${merged}`);
  await page.waitForURL(`**/incidents/${incident}`);
  await page.getByRole("heading", { name: `Incident ${incident}` }).waitFor();
});

await check("a note stays, and the file of the list has the incident", async (page) => {
  await page.goto(`${url}/incidents/${incident}`);
  await page.getByLabel("Note").fill("Asked the owner to limit checkpoints");
  await page.getByRole("button", { name: "Add the note" }).click();
  await page.locator(".incident-note", { hasText: "limit checkpoints" }).waitFor();
  await page.reload();
  await page.locator(".incident-note", { hasText: "limit checkpoints" }).waitFor();
  await page.goto(`${url}/incidents`);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export as CSV" }).click(),
  ]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  const [, row] = Buffer.concat(chunks).toString().trim().split("\n");
  assert.ok(row.startsWith(`${incident},drawn,over,`) && row.includes(planted), row);
});

await suite.finish();
