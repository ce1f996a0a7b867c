// A platform without machines of its own that shows those of a remote, "theta" (tests/e2e/test_remotes.py serves both); another remote, "gone", does not answer.
import assert from "node:assert/strict";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const { FLITWATCH_MACHINE: machine, FLITWATCH_JOB: job } = process.env;

const menu = (page) => page.locator("header.top > button", { hasText: "Machine" });

await check("the machine menu has a remote's machines, and says which remote does not answer", async (page) => {
  await page.goto(url);
  await menu(page).click();
  await page.getByRole("menuitem", { name: `${machine} at theta` }).waitFor();
  const gone = page.getByRole("menuitem", { name: "gone does not answer" });
  assert.equal(await gone.getAttribute("aria-disabled"), "true");
});

await check("a remote's machine is shown from its own answers, under an address that can be shared", async (page) => {
  const asked = [];
  page.on("request", (request) => {
    const path = new URL(request.url()).pathname;
    if (path.startsWith("/api/")) asked.push(path);
  });
  await page.goto(url);
  await menu(page).click();
  asked.length = 0;
  await page.getByRole("menuitem", { name: `${machine} at theta` }).click();
  await page.waitForURL(`${url}/at/theta/fabric/${encodeURIComponent(machine)}**`);
  await page.locator(".view-box canvas").first().waitFor();
  await until(
    () => menu(page).textContent(),
    (text) => text.includes(machine) && text.includes("at theta, read only"),
    "the menu says where the machine is",
  );
  await until(
    () => asked.some((path) => path.startsWith("/api/v1/remotes/theta/events")),
    Boolean,
    "the remote's events are followed",
  );
  const here = asked.filter((path) => !path.startsWith("/api/v1/remotes/theta/"));
  for (const path of here)
    assert.ok(/^\/api\/v1\/(session|remotes|fabrics)$/.test(path), `${path} was asked of this platform`);
  await page.reload();
  await page.locator(".view-box canvas").first().waitFor();
  assert.ok(new URL(page.url()).pathname.startsWith("/at/theta/"));
});

await check("every way from a remote's page stays at the remote, and the job there is the remote's", async (page) => {
  await page.goto(`${url}/at/theta/jobs`);
  await page.getByRole("link", { name: job, exact: true }).first().click();
  await page.waitForURL(`${url}/at/theta/jobs/**`);
  await page.locator('section[aria-label="Verdict"] h2').waitFor();
  const ways = await page.locator("a[href]").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const away = ways.filter((way) => way.startsWith("/") && !way.startsWith("/at/theta") && !way.startsWith("/docs"));
  assert.deepEqual(away, []);
});

await check("who may do everything here can only read there, and is told so before the click", async (page) => {
  const sent = [];
  page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
  await page.goto(`${url}/at/theta/alerts?view=silences`);
  const locked = page.locator(".locked", { hasText: "New silence" }).first();
  await locked.waitFor();
  assert.ok((await locked.textContent()).includes("Read-only here. Use the page of theta"));
  assert.ok(await locked.locator("button").isDisabled());
  assert.deepEqual(sent, []);
  await page.goto(`${url}/alerts?view=silences`);
  await page.getByRole("button", { name: "New silence" }).waitFor();
  assert.equal(await page.locator(".locked", { hasText: "New silence" }).count(), 0, "at home they may");
});

await check("a remote that does not answer is said to be away, not empty", async (page) => {
  await page.goto(`${url}/at/gone/fabric`);
  await page.getByText("gone does not answer").first().waitFor();
  assert.equal(await page.getByText("No machines yet").count(), 0);
});

await suite.finish();
