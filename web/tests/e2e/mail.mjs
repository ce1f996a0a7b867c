// An alert by mail, from home, in at most five clicks: a real engine sends it to a real SMTP server (tests/e2e/test_page.py stands behind both).
// `fire` asks the test to make a run slow; "Told" then names the contact.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { byMail } from "./checks/navigation.mjs";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await byMail(suite, async () => {
  console.log("fire");
  await answers.next();
});

await check("a test mail that the server refuses says why, and a contact can be removed", async (page) => {
  await page.goto(`${url}/alerts?view=contacts`);
  await page.getByRole("button", { name: "Add a contact…" }).click();
  await page.getByLabel("Mail address").fill("nobody@refused.example");
  await page.getByLabel("Name").fill("refused");
  await page.getByRole("button", { name: "Save and send a test mail" }).click();
  const contact = page.locator(".contact-item", { hasText: "nobody@refused.example" });
  await until(
    () => contact.textContent(),
    (text) => /test mail not sent .*refuses/.test(text),
    "the refusal",
    20_000,
  );
  await contact.getByRole("button", { name: /^Remove/ }).click();
  await until(
    () => contact.count(),
    (n) => n === 0,
    "it is gone",
  );
  assert.equal(await page.locator(".contact-item").count(), 1);
});

process.stdin.destroy();
await suite.finish();
