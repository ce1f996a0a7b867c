// The table of hot links says whose the traffic is, or why nobody can tell, in full: neither is cut.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";

/** What in the table's cells and above it is shown with its end cut off, in words. */
const cut = (page) =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll(".hot-links td, .hot-links td *, .hot-links-head *")];
    return parts
      .filter((one) => getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.tagName.toLowerCase()}.${one.className} "${one.textContent.slice(0, 60)}"`);
  });

export async function hotLinks(site) {
  const { url, check, api, timed, fabricUrl } = site;

  for (const width of [1440, 390]) {
    await check(
      `who uses a hot link, or why nobody can tell, is read whole at ${width} pixels`,
      async (page) => {
        await page.goto(`${url}/fabric/${timed.name}?view=links`);
        await page.waitForSelector(".hot-links tbody tr");
        const { items } = await api(`/fabrics/${timed.id}/links/hot?limit=100`);
        const why = [...new Set(items.map((one) => one.cannot_tell).filter((one) => one !== null))];
        const head = await page.locator(".hot-links-head").textContent();
        for (const reason of why) assert.equal(head.split(reason).length, 2, `said once above the table: ${reason}`);
        if (!why.length) assert.ok(!/cannot tell/i.test(head), `nothing is unknown, and the head says ${head}`);
        assert.deepEqual(await cut(page), []);
        // The head never pushes what it says out of the screen.
        const right = await page.evaluate(() =>
          Math.max(...[...document.querySelectorAll(".hot-links-head *")].map((x) => x.getBoundingClientRect().right)),
        );
        assert.ok(right <= width, `the head ends at ${right}`);
      },
      { viewport: { width, height: 900 } },
    );
  }

  await check(
    "resting on a link or a router says who sends over it, and Show senders outlines these jobs",
    async (page) => {
      const tip = page.locator(".tooltip");
      const says = (what) =>
        until(
          () => tip.textContent(),
          (text) => /sent by \(estimated\)\n\d+ \w+ \d+ %|who sends: cannot tell/.test(text),
          what,
          10_000,
        );
      for (const [view, address] of [
        ...["tiles", "group"].map((name) => [name, `${fabricUrl}?view=${name}&router=5`]),
        ...["stalls", "packets"].map((name) => [
          `tree by ${name}`,
          `${url}/fabric/quartz-like?slice=1&measure=${name}`,
        ]),
      ]) {
        await page.goto(address);
        const box = await page.locator(".view-box canvas").last().boundingBox();
        await page.waitForTimeout(500);
        for (let x = 30; x < 300 && !(await tip.isVisible()); x += 4) {
          await page.mouse.move(box.x + x, box.y + 30 + x / 3);
          await page.waitForTimeout(60);
        }
        await says(view);
      }
      await page.goto(`${fabricUrl}?view=group&router=5`);
      const panel = page.locator(".router-block", { hasText: "Jobs that use its links" });
      await panel.locator("a").first().waitFor();
      const first = (await panel.locator("a").first().textContent()).split(" ")[0];
      await panel.getByRole("button", { name: "Show senders" }).click();
      await page.locator(".chip", { hasText: first }).waitFor();
    },
    { fixtureOnly: true },
  );
}
