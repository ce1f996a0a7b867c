// How fast the fabric page is with 3,264 routers, in a headless Chromium with a cold cache; one JSON object on standard output.
//   first_paint_ms      navigation to the first frame that shows the coloured machine, median of runs
//   transfer_kb         everything received until the page is at rest, frames for brushing included
//   js_kb               compressed JavaScript received until then
//   brush_frame_p95_ms  main-thread work (scripts, style, layout, paint) a frame while the window is dragged over the time axis
//   hover_ms            the same, p95, while the pointer moves over the machine
//   jobs_frame_p95_ms   the same while 2,000 jobs are scrolled through and filtered letter by letter
//   users_frame_p95_ms  the same while 300 users on the page of blame are
//   replay_frame_p99_ms the same, p99, while a window plays along the axis at its fastest, panels included
//   ring_longest_ms     longest task of the main thread while the ring is loaded, median of runs
//   links_100k_frame_ms  main-thread work a frame, p95, of the frames in which a tree of 100,352 links was drawn anew (the theme changes with each)
//   links_100k_hover_ms  the same while the pointer moves over it
//   layout_shift        the largest cumulative layout shift of any page while it loads, and the page
import { launch, platform } from "../tests/e2e/browser.mjs";
import { pagesOf } from "../tests/e2e/pages.mjs";

const RUNS = Number(process.env.RUNS ?? 5);
const FABRIC = process.env.FLITWATCH_FABRIC ?? "perlis";
const FRAME = "ProxyMain::BeginMainFrame";
const MARK = "flitwatch-bench";
const quantile = (values, q) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const round = (x) => Math.round(x * 100) / 100;

// Counts what the main thread of this page does for each frame from the browser's own trace: every top-level task, attributed to the
// frame after it. Other pages may be open, so the thread is the one that writes the mark.
async function work(page, session, act) {
  const events = [];
  const onData = ({ value }) => events.push(...value);
  session.on("Tracing.dataCollected", onData);
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: {
      includedCategories: [
        "toplevel",
        "disabled-by-default-devtools.timeline",
        "devtools.timeline",
        "benchmark",
        "blink.user_timing",
      ],
    },
  });
  await page.evaluate((name) => performance.mark(name), MARK);
  await act();
  const done = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await done;
  session.off("Tracing.dataCollected", onData);
  const main = events.find((e) => e.name === MARK);
  if (!main || !events.some((e) => e.name === FRAME && e.pid === main.pid))
    throw new Error(
      `the trace holds no animation frame: ${events.length} events, ${[...new Set(events.map((e) => e.name))].slice(0, 60)}`,
    );
  const own = events.filter((e) => e.pid === main.pid && e.tid === main.tid).sort((a, b) => a.ts - b.ts);
  const tasks = own.filter((e) => e.ph === "X" && e.name === "ThreadControllerImpl::RunTask");
  const frames = own.filter((e) => e.name === FRAME).map((e) => e.ts);
  const perFrame = new Map();
  let frame = 0;
  for (const task of tasks) {
    while (frame + 1 < frames.length && frames[frame + 1] < task.ts + task.dur) frame++;
    perFrame.set(frame, (perFrame.get(frame) ?? 0) + (task.tdur ?? task.dur) / 1000);
  }
  return [...perFrame.values()].slice(2);
}

async function load(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const sizes = new Map();
  const scripts = new Set();
  session.on("Network.responseReceived", (e) => e.type === "Script" && scripts.add(e.requestId));
  session.on("Network.loadingFinished", (e) => sizes.set(e.requestId, e.encodedDataLength));
  await page.addInitScript(() => {
    // A picture is meaningful once some cells of its base canvas have the colours of the scale.
    const look = () => {
      const canvas = document.querySelector(".view-box canvas");
      if (canvas?.width > 10) {
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, Math.min(canvas.height, 200)).data;
        let coloured = 0;
        for (let i = 0; i < data.length; i += 4 * 37)
          if (data[i + 3] && Math.abs(data[i] - data[i + 2]) > 30) coloured++;
        if (coloured > 50) {
          window.__painted = performance.now();
          return;
        }
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(url);
  await page.waitForFunction(() => window.__painted, null, { timeout: 60_000 });
  const painted = await page.evaluate(() => window.__painted);
  return { context, page, session, sizes, scripts, painted };
}

/** Main-thread work a frame while a table is scrolled through and filtered. */
async function table(page, session, address, field, letters) {
  await page.goto(address);
  const rows = page.locator(".data-table tbody tr[aria-rowindex]");
  await rows.first().waitFor();
  await page.waitForTimeout(1500);
  return work(page, session, async () => {
    await page.locator(".data-table").first().hover();
    for (let i = 0; i < 120; i++) {
      await page.mouse.wheel(0, 100);
      await page.waitForTimeout(16);
    }
    for (const letter of letters) {
      await page.getByLabel(field).press(letter);
      await page.waitForTimeout(300);
    }
  });
}

/** Longest task of the main thread until the ring is at rest. */
async function longestTask(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.__longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.__longest = Math.max(window.__longest, duration);
    }).observe({ type: "longtask", buffered: true });
  });
  await page.goto(url);
  await page.waitForSelector(".view-box canvas");
  await page.waitForTimeout(6000);
  const longest = await page.evaluate(() => window.__longest);
  await context.close();
  return longest;
}

/** Cumulative layout shift (web.dev/cls: shifts without input, by sessions) of each page while it loads. */
async function shifts(browser, url, paths) {
  const found = [];
  for (const path of paths) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(() => {
      localStorage.setItem("flitwatch-tour", "seen");
      window.__shift = 0;
      let [session, first, last] = [0, 0, -Infinity];
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput, startTime } of list.getEntries()) {
          if (hadRecentInput) continue;
          if (startTime - last > 1000 || startTime - first > 5000) [session, first] = [0, startTime];
          [session, last] = [session + value, startTime];
          window.__shift = Math.max(window.__shift, session);
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(url + path);
    await page.waitForTimeout(4000);
    found.push([path, await page.evaluate(() => window.__shift)]);
    await context.close();
  }
  return found.sort((a, b) => b[1] - a[1]);
}

/** Redraws of the largest tree that are measured. */
const REDRAWS = 60;

/** Main-thread work a frame of a picture of 100,352 links: [drawn anew, pointed at]. */
async function vast(browser) {
  const { url, stop } = await platform({ groups: 4, vast: true });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await page.addInitScript(() => {
    window.__drawn = 0;
    const { putImageData } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.putImageData = function (...given) {
      window.__drawn++;
      return putImageData.apply(this, given);
    };
  });
  try {
    await page.goto(`${url}/fabric/vast-like`);
    await page.waitForSelector(".tree-picture canvas", { timeout: 120_000 });
    await page.waitForTimeout(8000);
    const box = await page.locator(".tree-picture .layers").boundingBox();
    const pixels = () =>
      page.evaluate(() => {
        const canvas = document.querySelector(".tree-picture .layers canvas");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return data.reduce((hash, value) => (Math.imul(hash, 31) + value) | 0, 0);
      });
    const before = await pixels();
    await page.keyboard.press("t");
    await page.waitForTimeout(500);
    if ((await pixels()) === before) throw new Error("the picture of 100,352 links was not drawn anew");
    await page.waitForTimeout(1500);
    const drawn = await work(page, session, async () => {
      const times = await page.evaluate(async (redraws) => {
        const [start, from] = [window.__drawn, performance.now()];
        for (let i = 0; i < redraws; i++)
          await new Promise((next) =>
            requestAnimationFrame(() => {
              document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "t", bubbles: true }));
              next();
            }),
          );
        return [window.__drawn - start, performance.now() - from];
      }, REDRAWS);
      if (times[0] !== REDRAWS) throw new Error(`${times[0]} redraws of 100,352 links in ${REDRAWS} frames`);
    });
    await page.waitForTimeout(1500);
    const hover = await work(page, session, async () => {
      for (let i = 0; i <= 90; i++) {
        await page.mouse.move(
          box.x + box.width * (0.05 + (0.9 * i) / 90),
          box.y + box.height * (0.4 + 0.3 * Math.sin(i / 9)),
        );
        await page.waitForTimeout(8);
      }
    });
    // Frames of the theme's transition that follow the last redraw are none of it.
    return [drawn.slice(0, REDRAWS - 2), hover];
  } finally {
    await context.close();
    stop();
  }
}

const { url, stop } = await platform({ groups: 34 });
const browser = await launch();
try {
  const address = `${url}/fabric/${FABRIC}?view=tiles`;
  await fetch(`${url}/api/v1/fabrics`);
  const paints = [];
  for (let run = 0; run < RUNS; run++) {
    const { context, painted } = await load(browser, address);
    paints.push(painted);
    await context.close();
  }
  const { page, session, sizes, scripts } = await load(browser, address);
  await page.waitForTimeout(6000);
  const kb = (ids) => round([...ids].reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0) / 1000);
  const transfer = kb(sizes.keys());
  const js = kb(scripts);
  const brush = await page.locator(".brush svg").boundingBox();
  const y = brush.y + 60;
  const drag = await work(page, session, async () => {
    await page.mouse.move(brush.x + brush.width * 0.3, y);
    await page.mouse.down();
    for (let i = 0; i <= 120; i++) {
      await page.mouse.move(brush.x + brush.width * (0.3 + 0.6 * Math.abs(Math.sin(i / 24))), y);
      await page.waitForTimeout(8);
    }
    await page.mouse.up();
  });
  await page.waitForTimeout(1500);
  const box = await page.locator(".view-box").boundingBox();
  const hover = await work(page, session, async () => {
    for (let i = 0; i <= 120; i++) {
      await page.mouse.move(
        box.x + box.width * (0.05 + (0.9 * i) / 120),
        box.y + box.height * (0.5 + 0.4 * Math.sin(i / 9)),
      );
      await page.waitForTimeout(8);
    }
  });
  await page.mouse.move(0, 0);
  await page.locator(".play-controls button", { hasText: "per second" }).click();
  await page.locator('[role="menuitem"]').last().click();
  const replay = await work(page, session, async () => {
    await page.keyboard.press("p");
    await page.waitForTimeout(9000);
  });
  const rings = [];
  for (let run = 0; run < RUNS; run++) rings.push(await longestTask(browser, `${url}/fabric/${FABRIC}?view=ring`));
  const api = async (path) => (await fetch(`${url}/api/v1${path}`)).json();
  const { items: fabrics } = await api("/fabrics");
  const timed = fabrics.find((one) => one.name === FABRIC);
  const moved = await shifts(browser, url, await pagesOf({ api, timed, fabrics }));
  const jobs = await table(page, session, `${url}/jobs`, "Filter jobs", "amg");
  const users = await table(page, session, `${url}/blame`, "Filter names", "u41");
  const [redrawn, pointed] = await vast(browser);
  console.log(
    JSON.stringify({
      first_paint_ms: round(quantile(paints, 0.5)),
      transfer_kb: transfer,
      js_kb: js,
      brush_frame_p95_ms: round(quantile(drag, 0.95)),
      hover_ms: round(quantile(hover, 0.95)),
      jobs_frame_p95_ms: round(quantile(jobs, 0.95)),
      users_frame_p95_ms: round(quantile(users, 0.95)),
      replay_frame_p99_ms: round(quantile(replay, 0.99)),
      ring_longest_ms: round(quantile(rings, 0.5)),
      links_100k_frame_ms: round(quantile(redrawn, 0.95)),
      links_100k_hover_ms: round(quantile(pointed, 0.95)),
      links_100k_frames: redrawn.length,
      layout_shift: round(moved[0][1]),
      layout_shift_worst: moved.slice(0, 4).map(([path, value]) => `${path} ${value.toFixed(3)}`),
      replay_frame_median_ms: round(quantile(replay, 0.5)),
      replay_frames: replay.length,
      brush_frame_median_ms: round(quantile(drag, 0.5)),
      first_paint_runs_ms: paints.map(round),
      brush_frames: drag.length,
      hover_frames: hover.length,
      routers: 3264,
    }),
  );
} finally {
  await browser.close();
  stop();
}
