// At the width of a phone, a finger hits meaning: every target is 44 pixels wide and high, or nothing else is that near (WCAG 2.5.5, and the spacing of 2.5.8).
import assert from "node:assert/strict";
import { opened, pagesOf } from "../pages.mjs";

const PHONE = { width: 390, height: 844 };
/** Targets that are too small and have another target within 44 pixels, in words. */
const tooNear = (page) =>
  page.evaluate(() => {
    const SIZE = 44;
    const inText = (one) =>
      one.tagName === "A" &&
      getComputedStyle(one).display === "inline" &&
      [...one.parentElement.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && /\p{L}{2}/u.test(node.data));
    const box = (one) => (one.matches("label input") ? one.closest("label") : one).getBoundingClientRect();
    const targets = [...document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=tab]")]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("svg") && !inText(one))
      .map((one) => ({ one, at: box(one) }))
      // What only a keyboard finds (skip links) is one pixel, or out of sight.
      .filter(({ at }) => at.width > 1 && at.height > 1 && at.bottom > 0 && at.right > 0);
    const small = ({ at }) => at.width < SIZE - 0.5 || at.height < SIZE - 0.5;
    const centre = ({ at }) => [(at.left + at.right) / 2, (at.top + at.bottom) / 2];
    /** Distance of a point to a box, which is 0 inside it. */
    const distance = ([x, y], at) =>
      Math.hypot(Math.max(at.left - x, 0, x - at.right), Math.max(at.top - y, 0, y - at.bottom));
    const near = (a, b) => {
      const [p, q] = [centre(a), centre(b)];
      return distance(p, b.at) < SIZE / 2 - 0.5 || (small(b) && Math.hypot(p[0] - q[0], p[1] - q[1]) < SIZE - 0.5);
    };
    const name = ({ one, at }) => {
      const words = (one.getAttribute("aria-label") ?? one.textContent ?? "").trim().slice(0, 30);
      return `${one.tagName.toLowerCase()}.${one.className} "${words}" ${Math.round(at.width)} x ${Math.round(at.height)}`;
    };
    return targets
      .filter(
        (a) =>
          small(a) && targets.some((b) => b !== a && !a.one.contains(b.one) && !b.one.contains(a.one) && near(a, b)),
      )
      .map(name);
  });

export async function touch(site) {
  const { url, check } = site;
  const pages = await pagesOf(site);
  await check(
    "a finger hits every button, link, input and tab at the width of a phone",
    async (page) => {
      const wrong = {};
      for (const path of pages) {
        await opened(page, url + path);
        const found = await tooNear(page);
        if (found.length) wrong[path] = found;
      }
      assert.deepEqual(wrong, {});
    },
    { viewport: PHONE },
  );
}
