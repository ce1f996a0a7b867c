import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useFreshness, useTrouble } from "../api/freshness";
import type { Fabric } from "../api/shapes";
import { Icon } from "../components/Icon";
import { pageAfter, REST_MS, wallPages, wallStore, whole } from "../lib/wall";
import { plural } from "../lib/format";
import { Failure } from "../components/Notice";
import { useKeys } from "../lib/keys";
import { useStore } from "../lib/store";
import { unsaved } from "../lib/tables";
import { clock, ZONE } from "../lib/time";

/** The pill at the right of the top bar: filled while live, hollow otherwise. */
export function Freshness({ fabric }: { fabric: Fabric | null }) {
  const { state, text } = useFreshness(fabric);
  const { failing } = useTrouble();
  const shown =
    failing > 0 && state !== "stale"
      ? { state: "stale", text: `${plural(failing, "request")} failing` }
      : { state, text };
  return (
    <div className="freshness" data-state={shown.state} data-testid="freshness">
      <b aria-hidden="true" />
      <span>{shown.text}</span>
    </div>
  );
}

// Said once above any page: what is shown is older than it should be, and since when.

// These say themselves how fresh their pictures are.
const SPEAK_FOR_THEMSELVES = /^\/($|fabric)/;

export function OldData() {
  const { since } = useTrouble();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (since === null || SPEAK_FOR_THEMSELVES.test(path)) return null;
  return (
    <div className="banner" role="status">
      <strong>
        Stale: as of {clock(since, true)} {ZONE}.
      </strong>
      <span>The server or its database does not answer. The page keeps what it has and retries automatically.</span>
    </div>
  );
}

/** Says why an export left no file, until the next export or page. */
export function NotSaved() {
  const error = useStore(unsaved);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => unsaved.set(null), [path]);
  return (
    error && (
      <div className="banner">
        <strong>The file was not saved.</strong>
        <Failure line error={error} />
      </div>
    )
  );
}

// Above a page that a portal shows in a frame: which machine it speaks of, whether that is simulated, how fresh it is, and the way out of the frame.

export function EmbedBar({ machine }: { machine: Fabric | null }) {
  const address = useRouterState({ select: (state) => state.location.href });
  return (
    <header className="top">
      {machine && (
        <>
          <span className="ellipsis">{machine.name}</span>
          {machine.simulated && <span className="tag">simulated</span>}
        </>
      )}
      <div className="spacer" />
      <Freshness fabric={machine} />
      <a href={whole(address)} target="_blank" rel="noopener">
        Open in Flitwatch
      </a>
    </header>
  );
}

// Above the pages of a wall display: the machine, whose turn it is, the time, how fresh the data are. Pages take turns by themselves.

const TICK_MS = 1000;
/** What says that the wall is in use. */
const SIGNS = ["pointerdown", "pointermove", "keydown", "wheel"] as const;

export function WallBar({ machine, pace }: { machine: Fabric | null; pace: number }) {
  const navigate = useNavigate();
  const pages = useMemo(() => wallPages(machine), [machine]);
  const address = useRouterState({ select: (state) => state.location.href });
  const at = pages.findIndex(
    (page) => address.startsWith(page.href) && (page.href !== "/" || /^\/(\?|$)/.test(address)),
  );
  const [now, setNow] = useState(() => Date.now());
  const [paused, setPaused] = useState(false);
  // Not state: they change with each move of the pointer.
  const times = useRef({ turned: Date.now(), touched: -Infinity });

  const open = useMemo(
    () => (index: number) => {
      const page = pages[index];
      if (!page) return;
      times.current.turned = Date.now();
      void navigate({ href: page.href, replace: true } as never);
    },
    [pages, navigate],
  );
  useEffect(() => {
    const touched = () => {
      times.current.touched = Date.now();
    };
    for (const sign of SIGNS) window.addEventListener(sign, touched, { passive: true });
    return () => SIGNS.forEach((sign) => window.removeEventListener(sign, touched));
  }, []);
  useEffect(() => {
    const timer = setInterval(() => {
      const time = Date.now();
      const { turned, touched } = times.current;
      setNow(time);
      setPaused(time - touched < REST_MS);
      if (time - turned >= pace * 1000 && time - touched >= REST_MS) open(pageAfter(pages, at));
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [pages, pace, at, open]);
  useKeys(
    "Wall display",
    useMemo(() => [{ keys: "n", label: "Next page", run: () => open(pageAfter(pages, at)) }], [pages, at, open]),
  );
  return (
    <header className="top wall-top">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <span className="ellipsis wall-name">{machine?.name ?? "no machine"}</span>
      {machine?.simulated && <span className="tag">simulated</span>}
      <nav aria-label="Pages">
        {pages.map((page, i) => (
          <button
            key={page.href}
            className="button plain"
            aria-current={i === at ? "page" : undefined}
            onClick={() => open(i)}
          >
            {page.label}
          </button>
        ))}
      </nav>
      <div className="spacer" />
      <span className="subtitle">{paused ? "stays while in use" : `the next page after ${pace} s`}</span>
      <span className="wall-clock">
        {clock(now)} {ZONE}
      </span>
      <Freshness fabric={machine} />
      <button
        className="button plain"
        aria-label="Leave the wall display"
        title="Leave the wall display"
        onClick={() => wallStore.set(null)}
      >
        <Icon name="close" />
      </button>
    </header>
  );
}
