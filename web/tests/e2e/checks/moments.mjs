// One time for all that a page shows: links out of a job keep it, an address holds it, and a replay is of the job that was asked for.
import assert from "node:assert/strict";
import { query, ready, until } from "../harness.mjs";

const OVER = "2139990";
const LEFT = "2139991";

export async function moments({ url, check, api, fabricUrl }) {
  const job = (id) => api(`/jobs/${id}`);

  await check(
    "a finished job opens the fabric as it was at its end, not now",
    async (page) => {
      const { end } = await job(OVER);
      await page.goto(`${url}/jobs/${OVER}`);
      await page.locator(".context a", { hasText: "On the fabric" }).click();
      await ready(page);
      const { from, to } = query(page);
      assert.ok(from && to, "the window is in the address");
      assert.ok(
        Date.parse(to) <= Date.parse(end) && Date.parse(to) > Date.parse(end) - 60_000,
        `${to} is the job's end ${end}`,
      );
      assert.equal(await page.locator(".chip .alarm").count(), 0);
      assert.doesNotMatch(await page.locator(".context .subtitle").textContent(), /live/);
    },
    { fixtureOnly: true },
  );

  await check(
    "a neighbour that left before the end is drawn, with the time at which it left",
    async (page) => {
      await page.goto(`${url}/jobs/${OVER}`);
      const overlay = page.locator('section[aria-label="Placement"] canvas').nth(1);
      await overlay.waitFor();
      const drawn = () =>
        overlay.evaluate((canvas) =>
          canvas
            .getContext("2d")
            .getImageData(0, 0, canvas.width, canvas.height)
            .data.reduce((n, v, i) => n + (i % 4 === 3 && v > 0 ? 1 : 0), 0),
        );
      const alone = await until(drawn, (n) => n > 0, "the job's own outline");
      await page.locator('section[aria-label="Neighbours"] button', { hasText: "show" }).click();
      await until(drawn, (n) => n > alone, "the neighbour's outline beside it");
      assert.match(
        await page.locator(".placement-key").textContent(),
        new RegExp(`${LEFT}, left at (\\d+ \\w+ )?\\d\\d:\\d\\d`),
      );
      await page.locator('section[aria-label="Placement"] a', { hasText: "Open" }).click();
      await page.waitForURL(/\/fabric\//);
      assert.ok(query(page).to, "the time goes with it");
      await page.waitForSelector(".chip >> nth=1");
    },
    { fixtureOnly: true },
  );

  await check(
    "a replay from a finished job is of that job, at a time at which it ran",
    async (page) => {
      await page.goto(`${url}/jobs/${OVER}`);
      await page.locator(".context a", { hasText: "Replay with another placement" }).click();
      const dialog = page.locator('[role="dialog"]');
      await until(
        () => dialog.locator("select").nth(1).inputValue(),
        (value) => value === OVER,
        "the job that was asked for",
      );
      await until(() => dialog.locator("button", { hasText: "Replay it" }).isEnabled(), Boolean, "it can be replayed");
      assert.equal(await dialog.locator(".alarm").count(), 0);
      const [request] = await Promise.all([
        page.waitForRequest((one) => one.method() === "POST" && one.url().endsWith("/tasks")),
        dialog.locator("button", { hasText: "Replay it" }).click(),
      ]);
      const { args } = request.postDataJSON();
      const { start, end } = await job(OVER);
      assert.equal(args.job, OVER);
      assert.ok(args.at_s * 1000 > Date.parse(start) && args.at_s * 1000 < Date.parse(end));
    },
    { fixtureOnly: true },
  );

  await check(
    "a replay of a job that did not run then is refused with the reason, not made of another job",
    async (page) => {
      const { last_ts } = (await api("/fabrics")).items[0];
      await page.goto(`${url}/lab?replay=on&fabric=perlis&job=${OVER}&at=${last_ts}`);
      const dialog = page.locator('[role="dialog"]');
      await until(
        () => dialog.textContent(),
        (text) => new RegExp(`Job ${OVER} did not run at`).test(text),
        "the reason",
      );
      assert.equal(await dialog.locator("select").nth(1).inputValue(), OVER);
      assert.ok(await dialog.locator("button", { hasText: "Replay it" }).isDisabled());
    },
    { fixtureOnly: true },
  );

  await check(
    "a link to this moment shows the same moment later on",
    async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const copied = async (address) => {
        await page.goto(address);
        await page.getByRole("button", { name: "Copy link to this moment" }).click();
        await until(
          () => page.getByRole("button", { name: "Copy link to this moment" }).textContent(),
          (text) => text === "Copied",
          "copied",
        );
        return new URL(await page.evaluate(() => navigator.clipboard.readText()));
      };
      const fabric = await copied(fabricUrl);
      assert.ok(fabric.searchParams.get("from") && fabric.searchParams.get("to"));
      const home = await copied(url);
      assert.ok(home.searchParams.get("at") && home.searchParams.get("machine"));
      const running = (await api("/jobs?state=RUNNING")).items.find((one) => one.runs > 0);
      const link = await copied(`${url}/jobs/${running.job_id}`);
      const at = link.searchParams.get("at");
      assert.ok(at);
      await page.goto(link.href);
      await page.locator(".context a", { hasText: "On the fabric" }).click();
      await page.waitForURL(/\/fabric\//);
      assert.ok(Math.abs(Date.parse(query(page).to) - Date.parse(at)) <= 5000, "a link out of it keeps that moment");
      await page.goto(home.href);
      await page.waitForSelector("h1 >> text=Then");
      await page.locator('section[aria-label="Fabric"] a', { hasText: "Open" }).click();
      await page.waitForURL(/\/fabric\//);
      assert.equal(query(page).to, home.searchParams.get("at"));
    },
    { fixtureOnly: true },
  );
}
