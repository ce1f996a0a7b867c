// What stands on a page has a place of its own, at every width: no card lies over another, none is cut or squeezed, and no page is wider than the screen.
import assert from "node:assert/strict";
import { opened, pagesOf } from "../pages.mjs";

const WIDTHS = [
  [320, 640],
  [390, 844],
  [1024, 768],
  [1920, 1080],
  [1440, 900],
];

/** What is wrong with the cards in sight, in words. */
const faults = (page) =>
  page.evaluate(() => {
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth)
      found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    const cards = [...document.querySelectorAll("main .card")].filter(
      (card) => card.checkVisibility() && !card.parentElement.closest(".card"),
    );
    const name = (card) => card.getAttribute("aria-label") ?? card.className;
    const boxes = cards.map((card) => card.getBoundingClientRect());
    cards.forEach((card, i) => {
      const a = boxes[i];
      if (a.height < 40 || a.width < 200)
        found.push(`${name(card)} is ${Math.round(a.width)} x ${Math.round(a.height)}`);
      const title = card.querySelector("h2")?.getBoundingClientRect();
      if (title && (title.bottom > a.bottom + 1 || title.right > a.right + 1))
        found.push(`the title of ${name(card)} stands out`);
      for (const figures of card.querySelectorAll(".figures, .notice p, .beside-run .facts, .router-figures")) {
        if (figures.getBoundingClientRect().bottom > a.bottom + 1)
          found.push(`${figures.className || "a text"} of ${name(card)} is cut`);
      }
      for (const button of card.querySelectorAll("button")) {
        const at = button.getBoundingClientRect();
        let box = button.parentElement;
        while (box !== card && getComputedStyle(box).overflowX === "visible") box = box.parentElement;
        if (box === card && at.width > 1 && (at.left < a.left - 1 || at.right > a.right + 1))
          found.push(`the button ${button.textContent} of ${name(card)} stands out`);
      }
      for (let j = i + 1; j < cards.length; j++) {
        const b = boxes[j];
        const [wide, high] = [
          Math.min(a.right, b.right) - Math.max(a.left, b.left),
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
        ];
        if (wide > 1 && high > 1)
          found.push(`${name(card)} and ${name(cards[j])} overlap by ${Math.round(wide)} x ${Math.round(high)}`);
      }
    });
    for (const picture of document.querySelectorAll(".picture > :first-child")) {
      // A tree has a strip of its leaves above it.
      const boxes = [...picture.querySelectorAll("canvas")].map((canvas) => canvas.getBoundingClientRect());
      if (!boxes.length) continue;
      const [width, height] = [Math.min(...boxes.map((one) => one.width)), Math.max(...boxes.map((one) => one.height))];
      if (width < Math.min(280, innerWidth - 44) || height < 200)
        found.push(`the picture is ${Math.round(width)} x ${Math.round(height)}`);
    }
    const here = document.querySelector('.top nav [aria-current="page"]')?.getBoundingClientRect();
    const bar = document.querySelector(".top nav").getBoundingClientRect();
    if (here && (here.left < bar.left - 1 || here.right > bar.right + 1))
      found.push("the open page is out of sight in the top bar");
    return found;
  });

/** Tables and pictures that must be scrolled sideways, and texts whose end is cut off with no way to read it, in words. */
const hidden = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("main *")]
      .filter(
        (one) =>
          one.checkVisibility() &&
          !one.closest("svg") &&
          one.clientWidth > 1 &&
          one.scrollWidth > one.clientWidth + 1 &&
          getComputedStyle(one).overflowX !== "visible",
      )
      .filter(
        (one) =>
          one.matches(".data-table, .heat-scroll, .neighbour-box") ||
          !(one.closest("[title]") ?? one.querySelector(":scope > [title]")),
      )
      .map(
        (one) =>
          `${one.className || one.tagName} "${one.textContent.slice(0, 80)}" ends ${one.scrollWidth - one.clientWidth} on`,
      ),
  );

export async function layout(site) {
  const { url, check } = site;
  const pages = await pagesOf(site);
  await check("on a desk no table is scrolled sideways and no text is cut", async (page) => {
    const wrong = {};
    for (const path of pages) {
      await opened(page, url + path);
      let found;
      for (let tries = 0; tries < 12 && (tries < 3 || found.length); tries++) {
        await page.waitForTimeout(250);
        found = await hidden(page);
      }
      if (found.length) wrong[path] = found;
    }
    assert.deepEqual(wrong, {});
  });
  for (const path of pages) {
    await check(`every card has a place of its own at every width: ${path}`, async (page) => {
      await opened(page, url + path);
      const wrong = [];
      for (const [width, height] of WIDTHS) {
        await page.setViewportSize({ width, height });
        // A busy machine draws later; what is wrong stays wrong.
        let found;
        for (let tries = 0; tries < 20 && (tries === 0 || found.length); tries++) {
          await page.waitForTimeout(250);
          found = await faults(page);
        }
        wrong.push(...found.map((fault) => `${width} pixels: ${fault}`));
      }
      assert.deepEqual(wrong, []);
    });
  }

  await check(
    "whatever is shown, the fabric's bar is 48 pixels high, says its window whole and keeps its controls on the screen",
    async (page) => {
      const { api, timed } = site;
      const job = (await api("/jobs?state=RUNNING&limit=1")).items[0].job_id;
      const to = Math.floor(Date.parse(timed.last_ts) / 60_000) * 60_000 - 600_000;
      const ten = (end) => `&from=${new Date(end - 600_000).toISOString()}&to=${new Date(end).toISOString()}`;
      const times = { live: null, past: to, "another day": to - 86_400_000 - 5000 };
      const dayOf = (ms) => Math.floor(ms / 86_400_000);
      const shows = { stalls: "", difference: "&diff=on", job: `&job=${job}`, both: `&diff=on&job=${job}` };
      const wrong = [];
      for (const [when, end] of Object.entries(times)) {
        const time = end === null ? "" : ten(end);
        const begins = (end ?? Date.parse(timed.last_ts)) - 600_000;
        for (const [what, shown] of Object.entries(shows)) {
          await page.goto(`${url}/fabric/${timed.name}?view=ring${shown}${time}`);
          await page.waitForSelector(shown.includes("job") ? ".context .chip" : ".context .subtitle");
          for (const width of [1440, 1600, 1920]) {
            await page.setViewportSize({ width, height: 900 });
            const found = await page.evaluate(() => {
              const bar = document.querySelector(".context");
              const text = bar.querySelector(".subtitle");
              const cut = [text, ...text.children].some((one) => one.scrollWidth > one.clientWidth + 1);
              const words = document.createRange();
              words.selectNodeContents(text);
              const [inner, outer] = [words.getBoundingClientRect(), bar.getBoundingClientRect()];
              const next = bar.children[1].getBoundingClientRect();
              return {
                ends: Math.max(...[...bar.children].map((one) => one.getBoundingClientRect().right)),
                high: outer.height,
                whole: !cut && inner.top >= outer.top && inner.bottom <= outer.bottom && inner.right < next.left,
                text: text.textContent,
              };
            });
            if (found.ends > width || found.high !== 48 || !found.whole)
              wrong.push(`${width} pixels, ${what}, ${when}: ${JSON.stringify(found)}`);
            const day = /\d{1,2} [A-Z][a-z]{2}/.test(found.text);
            if (day !== dayOf(begins) < dayOf(Date.parse(timed.last_ts)))
              wrong.push(`${what}, ${when}: the day in "${found.text}"`);
          }
        }
      }
      assert.deepEqual(wrong, []);
    },
  );
}
