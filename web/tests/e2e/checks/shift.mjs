// What a page says at first stays where it is while the rest comes: layout shift is below 0.05 on every page, on a desk and on a phone.
import assert from "node:assert/strict";
import { opened, pagesOf } from "../pages.mjs";

const MOST = 0.05;
/** All of a visit counts, not only the worst five seconds. */
const SETTLED_MS = 1500;

/** Notes every layout shift of the pages to come. */
const watch = (page) =>
  page.addInitScript(() => {
    window.shifts = [];
    const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
    const named = ({ node, previousRect, currentRect }) => {
      const one = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
      return `${one?.tagName?.toLowerCase()}.${one?.className} (${box(previousRect)} -> ${box(currentRect)})`;
    };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        if (!entry.hadRecentInput) window.shifts.push({ value: entry.value, what: entry.sources.map(named) });
    }).observe({ type: "layout-shift", buffered: true });
  });

/** Sum of what moved since the page was opened, and what moved most, in words. */
async function shiftOf(page, address, settledMs = SETTLED_MS) {
  await opened(page, address);
  await page.waitForTimeout(settledMs);
  return page.evaluate(() => {
    const sum = window.shifts.reduce((all, one) => all + one.value, 0);
    const most = window.shifts.sort((a, b) => b.value - a.value).slice(0, 3);
    return { sum, most: most.map((one) => `${one.value.toFixed(3)} ${one.what.join("; ")}`) };
  });
}

export async function shifts(site) {
  const { url, check } = site;
  const pages = await pagesOf(site);
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ]) {
    await check(
      `nothing on any page moves while it loads, ${width} pixels wide`,
      async (page) => {
        await watch(page);
        const wrong = {};
        for (const path of pages) {
          const { sum, most } = await shiftOf(page, url + path);
          if (sum >= MOST) wrong[path] = [sum.toFixed(3), ...most];
        }
        assert.deepEqual(wrong, {});
      },
      { viewport: { width, height } },
    );
  }
  await check(
    "nothing on home moves when its incident comes last",
    async (page) => {
      await watch(page);
      await page.route(/\/incident(\?|$)/, async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 3000));
        await route.continue();
      });
      const { sum, most } = await shiftOf(page, `${url}/`, 3000 + SETTLED_MS);
      assert.ok(sum < MOST, `${sum.toFixed(3)} ${most.join("\n")}`);
    },
    { viewport: { width: 1440, height: 900 } },
  );
}
