// Verdicts on one's own runs: two files, a name and a button, by pointer and by keyboard; what is wrong is said in place.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { query } from "../harness.mjs";
import { measuredRuns } from "../measuredRuns.mjs";

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
      await result.getByText(/dealt out at random, \d+ of 100 sets had a name/).waitFor();
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
