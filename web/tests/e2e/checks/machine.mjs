// The table of hot links says whose the traffic is, or why nobody can tell, in full: neither is cut.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { atRest, colours, query, ready, until } from "../harness.mjs";

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
        await atRest(page);
        let x = 30;
        const rest = async () => {
          await page.mouse.move(box.x + x, box.y + 30 + x / 3);
          x += 4;
          return tip.isVisible();
        };
        await until(rest, Boolean, "something under the pointer");
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

// One time for all that a page shows: links out of a job keep it, an address holds it, and a replay is of the job that was asked for.

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

// Whatever was switched on the way, the picture is that of a fresh load of the same address: pixel by pixel.

/** Without the card's round corners, which Chromium blends a shade differently after a change of theme. */
async function picture(page) {
  const { x, y, width, height } = await page.locator('section[aria-label="Picture"]').boundingBox();
  return page.screenshot({
    clip: { x: x + 12, y: y + 12, width: width - 24, height: height - 24 },
    animations: "disabled",
  });
}

/** Nothing is pointed at, nothing holds the focus: those marks are not what an address holds. */
async function settle(page) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
}

/** Loads the address of `page` anew beside it, and demands the same picture of both. */
export async function demandFresh(page, step) {
  await settle(page);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await ready(other);
  let pictures = [];
  const same = async () => {
    pictures = [await picture(page), await picture(other)];
    return pictures[0].equals(pictures[1]);
  };
  try {
    await until(same, Boolean, `the picture after "${step}" is that of a fresh load of ${page.url()}`, 8000);
  } catch (error) {
    pictures.forEach((one, i) => writeFileSync(`/tmp/flitwatch-switch-${["switched", "fresh"][i]}.png`, one));
    throw error;
  }
  await other.close();
  return pictures[0];
}

const press = (key) => (page) => page.keyboard.press(key);
const pick = (trigger, entry) => async (page) => {
  await page.locator(".context button", { hasText: trigger }).click();
  await page.locator('[role="menuitem"]', { hasText: entry }).first().click();
};
/** Where the bar has no room for all classes, they are in a menu. */
const chooseClass = (option) => async (page) => {
  const side = page.locator('[aria-label="Link class"] button', { hasText: option });
  if (await side.count()) return side.click();
  await page.locator(".context button", { hasText: /^(All links|Green|Black|Blue)$/ }).click();
  await page.locator('[role="menuitem"]', { hasText: option }).first().click();
};
const drag = async (page) => {
  const axis = await page.locator(".brush svg").boundingBox();
  await page.mouse.move(axis.x + axis.width * 0.5, axis.y + 60);
  await page.mouse.down();
  for (const at of [0.6, 0.7, 0.65]) await page.mouse.move(axis.x + axis.width * at, axis.y + 60, { steps: 6 });
  await page.mouse.up();
};

/** Every view meets every mode, theme, window and class from another one. */
const WALK = [
  ["tiles to difference", press("d")],
  ["another theme", press("t")],
  ["an earlier window", press("[")],
  ["difference to now", press("d")],
  ["black links", chooseClass("Black")],
  ["black links in difference", press("d")],
  ["all links in difference", chooseClass("All")],
  ["ring in difference", press("2")],
  ["ring with stalls", press("d")],
  ["another theme on the ring", press("t")],
  ["ring with changes", press("d")],
  ["a later window on the ring", press("]")],
  ["another comparison", pick(/^Against/, /^an hour earlier/)],
  ["a dragged window", drag],
  ["group in difference", press("3")],
  ["group with stalls", press("d")],
  ["blue links of a group", chooseClass("Blue")],
  ["tiles after the group", press("1")],
  ["ring of blue links", press("2")],
  ["a dragged window on the ring", drag],
  ["a longer axis", pick(/1 h/, /^6 h/)],
  [
    "tiles again, compared",
    async (page) => {
      await page.keyboard.press("1");
      await page.keyboard.press("d");
    },
  ],
];

export async function switches({ url, check, api }) {
  await check(
    "after any switch the picture is that of a fresh load",
    async (page) => {
      const { items } = await api("/fabrics");
      const fabric = items.find((one) => one.name === "switched");
      const to = Math.floor(Date.parse(fabric.last_ts) / 60_000) * 60_000 - 600_000;
      const iso = (ms) => new Date(ms).toISOString();
      await page.goto(`${url}/fabric/switched?view=tiles&router=5&span=1h&from=${iso(to - 300_000)}&to=${iso(to)}`);
      await ready(page);
      const seen = [await demandFresh(page, "the first load")];
      for (const [name, step] of WALK) {
        await step(page);
        await atRest(page);
        const now = await demandFresh(page, name);
        if (!/axis|links/.test(name)) assert.ok(!now.equals(seen.at(-1)), `"${name}" changes the picture`);
        seen.push(now);
      }
    },
    { fixtureOnly: true },
  );

  await check(
    "a change from next to nothing to next to nothing is none",
    async (page) => {
      await page.goto(`${url}/fabric/whisper?view=tiles&diff=on&router=5`);
      await ready(page);
      const strong = () =>
        page.evaluate(() => {
          const canvas = document.querySelector(".view-box canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let red = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i] - data[i + 2] > 60) red++;
          return red;
        });
      await page.waitForSelector("text=change, this window");
      await atRest(page);
      assert.equal(await strong(), 0, "pixels in the colour of a rise");
    },
    { fixtureOnly: true },
  );

  await check(
    "a difference with a window without counters says so; one with counters does not",
    async (page) => {
      const words = page.getByText(/^No counters are stored for .*, so no change is shown/);
      await page.goto(`${url}/fabric/switched?view=tiles&diff=on`);
      await page.locator(".matrix-pairs th", { hasText: "change" }).waitFor();
      assert.equal(await words.count(), 0);
      await page.route(/\/stalls\?/, async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        const { searchParams: asked } = new URL(route.request().url());
        // Week-ago windows end days before the newest data.
        if (Date.parse(asked.get("at")) < Date.now() - 86_400_000)
          for (const column of Object.values(body.routers)) column.length = 0;
        await route.fulfill({ response: answer, json: body });
      });
      await page.goto(`${url}/fabric/switched?view=tiles&diff=on&against=week-ago`);
      await words.waitFor();
    },
    { fixtureOnly: true },
  );

  await check(
    "a pair of groups that was not counted before has no colour of change",
    async (page) => {
      const { items } = await api("/fabrics");
      const fabric = items.find((one) => one.name === "switched");
      const to = Math.floor(Date.parse(fabric.last_ts) / 60_000) * 60_000 - 600_000;
      const iso = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");
      // Counters of links began after the earlier window.
      await page.route(/\/stalls\?/, async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        const at = Date.parse(new URL(route.request().url()).searchParams.get("at"));
        if (at < to) for (const column of Object.values(body.groups)) if (Array.isArray(column)) column.length = 0;
        await route.fulfill({ response: answer, json: body });
      });
      await page.goto(`${url}/fabric/switched?view=tiles&diff=on&from=${iso(to - 300_000)}&to=${iso(to)}`);
      // The column comes with the answer of the earlier window.
      await page.locator(".matrix-pairs th", { hasText: "change" }).waitFor();
      const row = page.locator(".matrix-pairs tbody tr").first();
      assert.equal(await row.locator("td").last().textContent(), "–");
      const colour = await row.locator(".swatch").evaluate((one) => getComputedStyle(one).backgroundColor);
      assert.equal(colour, "rgba(0, 0, 0, 0)");
    },
    { fixtureOnly: true },
  );
}

// Time-lapse: a window plays along the axis and every panel follows; the axis is zoomed by wheel, keys and buttons.

const iso = (ms) => new Date(ms).toISOString();

export async function timelapse({ url, check, api }) {
  /** A machine of the past on an axis of an hour, its window at `ago` to `until` milliseconds before the newest data. */
  const open = async (page, name, ago, rest, view = "tiles") => {
    const fabric = (await api("/fabrics")).items.find((one) => one.name === name);
    const edge = Math.floor(Date.parse(fabric.last_ts) / 60_000) * 60_000;
    await page.goto(
      `${url}/fabric/${name}?view=${view}&router=5&span=1h&from=${iso(edge - ago)}&to=${iso(edge - rest)}`,
    );
    await ready(page);
    return edge;
  };
  const speed = async (page, words) => {
    await page.locator(".play-controls button", { hasText: "per second" }).click();
    await page.locator('[role="menuitem"]', { hasText: words }).click();
  };
  /** What each panel shows now, in words; the picture by the sum of its pixels. */
  const panels = (page) =>
    page.evaluate(() => {
      const text = (selector) => document.querySelector(selector)?.textContent ?? "";
      const canvas = document.querySelector(".view-box canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return {
        picture: data.reduce((sum, value, i) => (sum * 31 + value * (i % 7)) % 1_000_003, 0),
        pairs: text(".matrix-pairs"),
        router: text(".router-figures"),
        subtitle: text(".context .subtitle"),
        axis: text(".brush .playing"),
      };
    });

  await check(
    "a window plays along the axis, all panels follow, and pausing leaves what a fresh load shows",
    async (page) => {
      const edge = await open(page, "switched", 3_000_000, 2_400_000);
      await speed(page, "2 min per second");
      const before = await panels(page);
      await page.locator(".play-controls button", { hasText: "Play" }).click();
      const changed = new Set();
      await until(
        async () => {
          const now = await panels(page);
          for (const [name, value] of Object.entries(now)) if (value !== before[name]) changed.add(name);
          return changed.size;
        },
        (size) => size === Object.keys(before).length,
        "every panel follows",
        15_000,
      );
      const { from } = query(page);
      assert.equal(Date.parse(from), edge - 3_000_000, "the address waits until it rests");
      await page.locator(".play-controls button", { hasText: "Pause" }).click();
      await until(
        () => Date.parse(query(page).from),
        (at) => at > edge - 3_000_000,
        "the address holds where it rests",
      );
      const { from: start, to } = query(page);
      assert.equal(Date.parse(to) - Date.parse(start), 600_000, "as long a window as before");
      await demandFresh(page, "playing and pausing");
    },
    { fixtureOnly: true },
  );

  await check(
    "what plays names each event that it passes, and comes to rest at the end of the axis",
    async (page) => {
      await open(page, "switched", 3_000_000, 2_700_000, "ring");
      const { items } = await api("/fabrics");
      const { id } = items.find((one) => one.name === "switched");
      // From before it plays, and from within: looks from outside miss what a slow machine shows between two of them.
      await page.evaluate(() => {
        window.__said = new Set();
        new MutationObserver(() => {
          for (const one of document.querySelectorAll(".brush .playing")) window.__said.add(one.textContent);
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      await page.keyboard.press("p");
      await speed(page, "6 min per second");
      await until(
        () => page.locator(".play-controls button", { hasText: "Play" }).count(),
        (count) => count === 1,
        "it ends by itself",
      );
      const said = new Set(await page.evaluate(() => [...window.__said]));
      const { from, to } = query(page);
      assert.equal(Date.parse(to) - Date.parse(from), 300_000);
      const axis = await page.locator(".brush svg").getAttribute("aria-label");
      assert.match(axis, /selected/);
      const { marks } = await api(
        `/fabrics/${id}/overview?from=${iso(Date.parse(to) - 3_000_000)}&to=${to}&points=100`,
      );
      const passed = marks.filter((mark) => Date.parse(mark.ts) < Date.parse(to) - 400_000);
      assert.ok(passed.length > 0, "something happened in that hour");
      for (const { text } of passed) assert.ok(said.has(text), `${text} is said: ${[...said].join(" | ")}`);
      await demandFresh(page, "the end of the axis");
    },
    { fixtureOnly: true },
  );

  await check(
    "the wheel zooms the axis about the pointer, keys and buttons about the window, and one click shows the whole again",
    async (page) => {
      await open(page, "switched", 1_800_000, 1_500_000);
      const axis = () => {
        const { afrom, ato } = query(page);
        return afrom ? { from: Date.parse(afrom), to: Date.parse(ato) } : null;
      };
      const box = await page.locator(".brush svg").boundingBox();
      const whole = await page.locator(".brush svg").getAttribute("aria-label");
      await page.mouse.move(box.x + 40 + (box.width - 44) * 0.25, box.y + 60);
      for (let i = 0; i < 3; i++) await page.mouse.wheel(0, -100);
      const hour = 3_600_000;
      const spans = (ms) => (now) => now !== null && Math.abs(now.to - now.from - ms) < 3000;
      // A slow machine takes the wheel for at rest between two of its notches, and writes the axis so far.
      await until(axis, spans(hour / 1.25 ** 3), "the axis after three notches is in the address");
      const { from, to } = query(page);
      assert.ok(Date.parse(to) - Date.parse(from) === 300_000, "the window stays");
      await page.keyboard.press("-");
      await until(axis, spans((2 * hour) / 1.25 ** 3), "twice as long");
      await page.getByRole("button", { name: "Zoom into the time axis" }).click();
      await until(axis, spans(hour / 1.25 ** 3), "and back");
      await demandFresh(page, "a zoomed axis");
      await page.locator(".play-controls button", { hasText: "Whole axis" }).click();
      await until(axis, (now) => now === null, "the whole axis");
      await until(
        () => page.locator(".brush svg").getAttribute("aria-label"),
        (label) => label === whole,
        "as it was",
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "who wants little motion gets it in steps of half a second",
    async (page) => {
      await page.emulateMedia({ reducedMotion: "reduce" });
      await open(page, "switched", 3_000_000, 2_400_000);
      await page.keyboard.press("p");
      const steps = await page.evaluate(
        () =>
          new Promise((resolve) => {
            const seen = new Set();
            const until = performance.now() + 2500;
            const look = () => {
              seen.add(document.querySelector(".brush .playing-band")?.style.transform);
              if (performance.now() < until) requestAnimationFrame(look);
              else resolve(seen.size);
            };
            look();
          }),
      );
      assert.ok(steps >= 2 && steps <= 7, `${steps} places in 2.5 s`);
    },
    { fixtureOnly: true },
  );
}

// What stands when data stop, and that it goes away by itself.

export async function stale({ url, check, fabricUrl }) {
  await check(
    "silence is shown as stale and recovers by itself",
    async (page) => {
      await page.goto(fabricUrl);
      await ready(page);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live at first",
      );
      await fetch(`${url}/fixture/fail`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Stale/.test(t),
        "stale when the connection is lost",
        15_000,
      );
      assert.match(await page.locator(".banner").textContent(), /Live data stopped at .*next try|trying again/s);
      const desk = page.viewportSize();
      await page.setViewportSize({ width: 390, height: 844 });
      const beyond = await page.locator(".banner").evaluate((banner) => {
        const box = banner.getBoundingClientRect();
        const out = (one) =>
          one.getBoundingClientRect().bottom > box.bottom || one.getBoundingClientRect().top < box.top;
        return [...banner.children].filter(out).map((one) => one.textContent);
      });
      assert.deepEqual(beyond, [], "on a phone the banner holds its whole text");
      await page.setViewportSize(desk);
      await until(
        () => colours(page),
        (n) => n >= 5,
        "the picture stays",
      );
      await fetch(`${url}/fixture/mend`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live again by itself",
        40_000,
      );
      await page.waitForSelector(".banner", { state: "detached" });
      await fetch(`${url}/fixture/quiet`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Stale/.test(t),
        "stale when nothing new comes",
        45_000,
      );
      assert.match(await page.locator(".banner").textContent(), /no new samples/);
      await fetch(`${url}/fixture/talk`);
      await until(
        () => page.getByTestId("freshness").textContent(),
        (t) => /^Live/.test(t),
        "live once samples come",
        15_000,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a job that ends leaves the list of running jobs by itself",
    async (page) => {
      await page.goto(`${url}/forecast`);
      const list = page.locator('section[aria-label="Running jobs"]');
      await list.locator("tbody tr[aria-rowindex]").first().waitFor();
      await fetch(`${url}/fixture/end`);
      await until(
        () => list.textContent(),
        (text) => /No running job records steps/.test(text),
        "the list is empty",
        8000,
      );
      await fetch(`${url}/fixture/begin`);
    },
    { fixtureOnly: true },
  );

  await check(
    "a page without a clock says that what it shows is old, keeps it, and recovers",
    async (page) => {
      await page.goto(`${url}/health`);
      await page.waitForSelector("h1 >> text=Ingest health");
      const rows = await page.locator("table tbody tr").count();
      await fetch(`${url}/fixture/fail`);
      await until(
        () => page.locator(".app-banner").textContent(),
        (text) => /Stale: as of \d\d:\d\d:\d\d UTC/.test(text),
        "said to be stale",
        40_000,
      );
      assert.equal(await page.locator("table tbody tr").count(), rows);
      await fetch(`${url}/fixture/mend`);
      await until(
        () => page.locator(".app-banner").textContent(),
        (text) => text === "",
        "renewed by itself",
        40_000,
      );
    },
    { fixtureOnly: true },
  );

  await check(
    "a failure of the API names what to do and offers a retry",
    async (page) => {
      await fetch(`${url}/fixture/fail`);
      await page.goto(`${url}/health`);
      await page.waitForSelector('[role="alert"] >> text=log', { timeout: 30_000 });
      await fetch(`${url}/fixture/mend`);
      await page.locator('[role="alert"] button').click();
      await page.waitForSelector("h1 >> text=Ingest health");
    },
    { fixtureOnly: true },
  );
}
