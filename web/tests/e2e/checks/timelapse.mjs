// Time-lapse: a window plays along the axis and every panel follows; the axis is zoomed by wheel, keys and buttons.
import assert from "node:assert/strict";
import { query, ready, until } from "../harness.mjs";
import { demandFresh } from "./switches.mjs";

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
