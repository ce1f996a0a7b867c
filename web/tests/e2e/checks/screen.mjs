// What stands on a page has a place of its own, at every width: no card lies over another, none is cut or squeezed, and no page is wider than the screen.
import assert from "node:assert/strict";
import { violations } from "../axe.mjs";
import { platform, setAhead } from "../browser.mjs";
import { atRest, until } from "../harness.mjs";
import { opened, pagesOf, statesOf } from "../pages.mjs";

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
      for (const figures of card.querySelectorAll(".figures, .notice p, .compared-run .facts, .router-figures")) {
        if (figures.getBoundingClientRect().bottom > a.bottom + 1)
          found.push(`${figures.className || "a text"} of ${name(card)} is cut`);
      }
      const runs = [...card.querySelectorAll(".compared-run")].map((one) => one.getBoundingClientRect());
      if (runs.some((one, k) => k && one.left < runs[k - 1].right - 1 && one.top < runs[k - 1].bottom - 1))
        found.push(`runs of ${name(card)} lie over each other`);
      for (const button of card.querySelectorAll("button")) {
        const at = button.getBoundingClientRect();
        let box = button.parentElement;
        while (box !== card && getComputedStyle(box).overflowX === "visible") box = box.parentElement;
        if (box === card && at.width > 1 && (at.left < a.left - 1 || at.right > a.right + 1))
          found.push(`the button ${button.textContent} of ${name(card)} stands out`);
      }
      for (const table of card.querySelectorAll("table")) {
        // What a card scrolls, or a box in it, may be wider.
        let box = table.parentElement;
        while (box !== card.parentElement && getComputedStyle(box).overflowX === "visible") box = box.parentElement;
        const beyond = table.getBoundingClientRect().right - a.right;
        if (box === card.parentElement && beyond > 1)
          found.push(`a table of ${name(card)} stands out by ${Math.round(beyond)}`);
      }
      for (const link of card.querySelectorAll(".neighbour-name a")) {
        const [number, row] = [link.firstElementChild ?? link, link.closest("td")];
        if (number.scrollWidth > number.clientWidth + 1 && getComputedStyle(number).overflowX !== "visible")
          found.push(`the number of job ${link.textContent} is cut`);
        if (number.getBoundingClientRect().right > row.getBoundingClientRect().right + 1)
          found.push(`the number of job ${link.textContent} stands out of its cell`);
      }
      for (const application of card.querySelectorAll(".neighbour-application")) {
        if (application.scrollWidth > application.clientWidth + 1)
          found.push(`the application ${application.textContent} is cut`);
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
    for (const box of document.querySelectorAll("main :is(.chart-box, .counter-lines, .distributions)")) {
      if (!box.checkVisibility()) continue;
      const what = `the picture of ${name(box.closest(".card") ?? box)}`;
      if (!box.firstElementChild) found.push(`${what} is empty`);
      else if (box.scrollWidth > box.clientWidth + 1) found.push(`${what} is cut`);
    }
    // On a phone a job's number, and what fired, are read whole.
    if (innerWidth === 390)
      for (const text of document.querySelectorAll(".context .chip a, .alerts-past td:nth-child(2)"))
        if (text.checkVisibility() && text.scrollWidth > text.clientWidth + 1)
          found.push(`"${text.textContent.slice(0, 40)}" is cut`);
    for (const table of document.querySelectorAll(".matrix-pairs table")) {
      const row = table.querySelector("tbody tr");
      if (
        table.checkVisibility() &&
        row &&
        row.getBoundingClientRect().bottom > table.parentElement.getBoundingClientRect().bottom + 1
      )
        found.push("the hottest pairs have a head and no row");
    }
    for (const link of document.querySelectorAll(".top :is(a, button):not(.skip)")) {
      const at = link.getBoundingClientRect();
      if (link.checkVisibility() && (at.left < 0 || at.right > innerWidth))
        found.push(`${link.textContent} is out of sight in the top bar`);
    }
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
  const hiddenAtRest = async (page) => {
    await atRest(page);
    return hidden(page);
  };
  await check(
    "after midnight, when windows have two days, no text is cut on a desk",
    async (page) => {
      const ahead = 86_400 - (Math.floor(Date.now() / 1000) % 86_400) + 1200;
      const night = await platform({ groups: 34, ahead });
      const wrong = {};
      try {
        await setAhead(page.context(), ahead);
        for (const path of pages.filter((one) =>
          /^\/($|jobs|incidents|fabric|forecast|health|alerts\?alert)/.test(one),
        )) {
          await opened(page, night.url + path);
          const found = await hiddenAtRest(page);
          if (found.length) wrong[path] = found;
        }
      } finally {
        night.stop();
      }
      assert.deepEqual(wrong, {});
    },
    { fixtureOnly: true },
  );
  await check(
    "on a desk no list leaves an empty room in its card, and rows begin where the card's title does",
    async (page) => {
      await opened(page, url);
      await page.locator(".home-item").first().waitFor();
      await page.locator(".home-jobs tbody tr").first().waitFor();
      const room = await page.evaluate(() => {
        const bottom = (selector) => [...document.querySelectorAll(selector)].at(-1).getBoundingClientRect().bottom;
        return bottom(".home-attention") - bottom(".home-item");
      });
      assert.ok(room < 24, `${room} pixels below what needs attention`);
      const wrong = {};
      for (const [path, row] of [
        ["/alerts?view=silences", ".alert-item > span"],
        ["/alerts?view=contacts", ".alert-item > span"],
      ]) {
        await opened(page, url + path);
        await page.locator(row).first().waitFor();
        const off = await page.evaluate(
          (row) =>
            document.querySelector(row).getBoundingClientRect().left -
            document.querySelector(row).closest(".card").querySelector("h2").getBoundingClientRect().left,
          row,
        );
        if (Math.abs(off) > 1) wrong[path] = off;
      }
      assert.deepEqual(wrong, {});
      for (const [path, card] of [
        ["/health", ".health-card"],
        ["/blame", ".several-sets .data-table"],
      ]) {
        await opened(page, url + path);
        const found = await page.locator(card).evaluateAll((cards) =>
          cards.map((card) => {
            const rows = [...card.querySelectorAll("tbody tr")];
            return rows.length ? card.getBoundingClientRect().bottom - rows.at(-1).getBoundingClientRect().bottom : 0;
          }),
        );
        assert.ok(found.length, card);
        if (found.some((one) => one > 40)) wrong[path] = found;
      }
      assert.deepEqual(wrong, {});
    },
  );

  for (const path of pages) {
    await check(
      `every card has a place of its own at every width, and from 1024 pixels on no text is cut: ${path}`,
      async (page) => {
        await opened(page, url + path);
        const wrong = [];
        for (const [width, height] of WIDTHS) {
          await page.setViewportSize({ width, height });
          await atRest(page);
          const found = [...(await faults(page)), ...(width < 1024 ? [] : await hidden(page))];
          wrong.push(...found.map((fault) => `${width} pixels: ${fault}`));
        }
        assert.deepEqual(wrong, []);
      },
    );
  }

  await check("a dialog's buttons are in sight before it is scrolled", async (page) => {
    const wrong = {};
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      await opened(page, `${url}/lab?replay=on`);
      const button = page.locator(".dialog .dialog-buttons .button").last();
      await button.waitFor();
      const off = await button.evaluate(
        (one) => one.getBoundingClientRect().bottom - one.closest(".dialog").getBoundingClientRect().bottom,
      );
      if (off > 0) wrong[width] = off;
    }
    assert.deepEqual(wrong, {});
  });
  await check(
    "a dialog that Escape closes gives the focus back to the button that opened it",
    async (page) => {
      for (const [path, name, entry] of [
        ["/incidents", "Window"],
        ["/lab", "Worked example"],
        ["/alerts?view=silences", "New silence"],
        [`/fabric/${site.timed.name}`, "Time axis ", "Choose dates"],
      ]) {
        await opened(page, url + path);
        const button = page.locator("main button", { hasText: name }).first();
        await button.press("Enter");
        if (entry) await page.locator('[role="menuitem"]', { hasText: entry }).press("Enter");
        await page.locator(".dialog").waitFor();
        await page.keyboard.press("Escape");
        await page.locator(".dialog").waitFor({ state: "detached" });
        await until(
          () => button.evaluate((one) => one === document.activeElement),
          (focused) => focused,
          `the focus on ${name}`,
        );
      }
    },
    { fixtureOnly: true },
  );
  await check(
    "whatever is shown, the fabric's bar says its window whole and has the same controls from 1024 pixels on; above 1400 it is 48 pixels high",
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
          let desk;
          for (const width of [1440, 1024, 1181, 1280, 1360, 1401, 1600, 1920]) {
            await page.setViewportSize({ width, height: 900 });
            const found = await page.evaluate(async () => {
              for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
              const bar = document.querySelector(".context");
              const text = bar.querySelector(".subtitle");
              const cut = [text, ...text.children].some((one) => one.scrollWidth > one.clientWidth + 1);
              const words = document.createRange();
              words.selectNodeContents(text);
              const [inner, outer] = [words.getBoundingClientRect(), bar.getBoundingClientRect()];
              const next = bar.children[1].getBoundingClientRect();
              /** A click in its middle hits it. */
              const inSight = (one) => {
                const { left, top, width, height } = one.getBoundingClientRect();
                return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
              };
              return {
                ends: Math.max(...[...bar.children].map((one) => one.getBoundingClientRect().right)),
                high: outer.height,
                whole:
                  text.checkVisibility() &&
                  !cut &&
                  inner.top >= outer.top &&
                  inner.bottom <= outer.bottom &&
                  (inner.right < next.left || inner.bottom <= next.top),
                text: text.textContent,
                controls: [...bar.querySelectorAll("button, a")]
                  .filter(inSight)
                  .map((one) => one.getAttribute("aria-label") ?? one.textContent)
                  .join(),
              };
            });
            desk ??= found.controls;
            if (
              found.ends > width ||
              (width > 1400 && found.high !== 48) ||
              !found.whole ||
              (width <= 1440 && found.controls !== desk)
            )
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

// What a page says at first stays where it is while the rest comes: layout shift is below 0.05 on every page, on a desk and on a phone, and below 0.02 on Home.

const mostOf = (path) => (/^\/($|\?)/.test(path) ? 0.02 : 0.05);
/** All of a visit counts: also what moves once the page was at rest. */
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
async function shiftOf(page, address) {
  await opened(page, address);
  await page.waitForTimeout(SETTLED_MS);
  return page.evaluate(() => {
    const sum = window.shifts.reduce((all, one) => all + one.value, 0);
    const most = window.shifts.sort((a, b) => b.value - a.value).slice(0, 3);
    return { sum, most: most.map((one) => `${one.value.toFixed(3)} ${one.what.join("; ")}`) };
  });
}

export async function shifts(site) {
  const { url, check, fabrics } = site;
  const pages = await pagesOf(site);
  for (const [width, height] of [
    [390, 844],
    [1024, 768],
    [1440, 900],
    [1920, 1080],
    [3840, 2160],
  ]) {
    await check(
      `nothing on any page moves while it loads, ${width} pixels wide`,
      async (page) => {
        await watch(page);
        const wrong = {};
        // Home, too, of a machine where nothing is slow, and its parts are lower.
        for (const path of [...pages, ...fabrics.map((one) => `/?machine=${one.name}`)]) {
          const { sum, most } = await shiftOf(page, url + path);
          if (sum >= mostOf(path)) wrong[path] = [sum.toFixed(3), ...most];
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
      const { sum, most } = await shiftOf(page, `${url}/`);
      assert.ok(sum < mostOf("/"), `${sum.toFixed(3)} ${most.join("\n")}`);
    },
    { viewport: { width: 1440, height: 900 } },
  );
}

// At the width of a phone, a finger hits meaning: every target is 44 pixels wide and high, or nothing else is that near (WCAG 2.5.5, and the spacing of 2.5.8).

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

// No page has a violation that axe can find, in both themes.

/** Axe's word on the page as it stands, then in the dark. */
async function inBothThemes(page) {
  const found = {};
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await atRest(page);
    found[colorScheme] = await violations(page);
  }
  return found;
}

export async function accessible(site) {
  const { url, check, api } = site;
  for (const path of [...(await pagesOf(site)), ...(await statesOf(site))]) {
    await check(`axe finds nothing on ${path}, light and dark`, async (page) => {
      await opened(page, url + path);
      assert.deepEqual(await inBothThemes(page), { light: [], dark: [] });
    });
  }

  await check("a job's page has no axe violation and answers with evidence, light and dark", async (page) => {
    const job = (await api("/jobs?limit=1&state=RUNNING")).items[0] ?? (await api("/jobs?limit=1")).items[0];
    if (!job) return;
    await page.goto(`${url}/jobs/${encodeURIComponent(job.job_id)}`);
    await page.waitForSelector('section[aria-label="Verdict"] h2');
    assert.deepEqual(await inBothThemes(page), { light: [], dark: [] });
  });
}

// A display on a wall: pages take turns by themselves, each with twice as much on it as at a desk, in larger type.

const at = (page) => new URL(page.url()).pathname;

/** How much of a page there is (in its own lengths), and the height of a line of its title on the screen. */
const measured = (page) =>
  page.evaluate(() => {
    const main = document.querySelector("main");
    const title = document.querySelector(".home-jobs h2").getBoundingClientRect();
    return {
      area: main.clientWidth * main.clientHeight,
      line: title.height,
      wide: document.documentElement.scrollWidth,
    };
  });

export async function wall({ url, check, timed }) {
  await check(
    "a wall of 3840 pixels shows twice as much as a desk of 1920, in larger type",
    async (page) => {
      const desk = await page.context().newPage();
      await desk.setViewportSize({ width: 1920, height: 1080 });
      await desk.goto(url);
      await page.goto(`${url}/?wall=600`);
      for (const one of [desk, page]) await one.locator(".home-jobs tbody tr").first().waitFor();
      const [near, far] = [await measured(desk), await measured(page)];
      assert.ok(far.area >= 2 * near.area, `${far.area} against ${near.area}`);
      assert.ok(far.line >= 1.3 * near.line, `${far.line} pixels against ${near.line}`);
      assert.ok(far.wide <= 3840);
      const rows = (one) => one.locator(".home-jobs tbody tr, .home-pairs tbody tr").count();
      assert.ok((await rows(page)) > 1.5 * (await rows(desk)), `${await rows(page)} rows against ${await rows(desk)}`);
    },
    { viewport: { width: 3840, height: 2160 } },
  );

  await check(
    "a wall of 3840 pixels shows the incident, the ring, the worst jobs and the hottest links at once",
    async (page) => {
      await page.goto(`${url}/?wall=600`);
      const parts = {
        incident: 'section[aria-label="Incident"] h2',
        ring: ".home-picture .ring canvas",
        jobs: 'section[aria-label="Worst jobs"] tbody tr',
        links: 'section[aria-label="Hottest pairs"] tbody tr',
      };
      for (const [name, selector] of Object.entries(parts)) {
        const one = page.locator(selector).first();
        const { x, y, width, height } = await until(() => one.boundingBox(), Boolean, `${name} is shown`);
        assert.ok(x >= 0 && y >= 0 && x + width <= 3840 && y + height <= 2160, `${name} at ${x}, ${y}`);
      }
      // It speaks of what is on this page: the matrix is not.
      assert.match(await page.locator(".ring-note").textContent(), /above · the others are not drawn$/);
    },
    { viewport: { width: 3840, height: 2160 }, fixtureOnly: true },
  );

  await check("the pages of a wall take turns until somebody is there, and its key ends it", async (page) => {
    await page.goto(`${url}/?wall=5`);
    const seen = new Set();
    await until(
      async () => seen.add(at(page) + new URL(page.url()).search).size,
      (n) => n >= 3,
      "three pages in turn",
    );
    assert.ok(
      [...seen].some((one) => one.startsWith(`/fabric/${timed.name}`)),
      [...seen].join(" "),
    );
    await page.mouse.move(200, 300);
    await page.waitForSelector("text=stays while in use");
    const before = page.url();
    await page.keyboard.press("n");
    await until(
      () => page.url(),
      (now) => now !== before,
      "the next page",
    );
    assert.equal(await page.locator('.wall-top [aria-current="page"]').count(), 1);
    await page.keyboard.press("w");
    await page.locator('.top nav a[aria-current="page"]').waitFor();
    assert.equal(await page.locator(".wall-top").count(), 0);
  });
}
