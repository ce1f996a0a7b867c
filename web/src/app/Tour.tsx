/** Six steps that explain a demo, in a bar below the page that covers none of it. Escape leaves it at any step. */
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { Icon } from "../components/Icon";
import { leaveTour, tourStore } from "../lib/tour";
import { useStore } from "../lib/store";

interface Step {
  title: string;
  text: string;
  /** What on the home page it speaks of; the first that is there is marked. */
  marks: string[];
}

const STEPS: Step[] = [
  {
    title: "The machine",
    text: "This machine is simulated. Colours show stalls per flit: how long data wait in each part of the network.",
    marks: ['section[aria-label="Fabric"]', ".home-fabric", ".home-figures"],
  },
  {
    title: "The slow job",
    text: "The incident panel names a job that is slower than its earlier runs, and since when. On a quiet machine, it reports no slow job.",
    marks: [".incident-chain > li:nth-child(3)", 'section[aria-label="Incident"]'],
  },
  {
    title: "The cause",
    text: "This job started just before and shares links with the slow one. If the data are insufficient, Flitwatch reports that it cannot tell.",
    marks: [".incident-chain > li:nth-child(1)", 'section[aria-label="Incident"]'],
  },
  {
    title: "Affected links",
    text: "The links that both jobs use, hottest first, with the jobs at both ends.",
    marks: [".incident-chain > li:nth-child(2)", 'section[aria-label="Hottest pairs"]'],
  },
  {
    title: "What would help",
    text: "Simulate other routes or another placement before you change anything. In the Lab, you can replay the job on other nodes.",
    marks: [".incident-chain > li:nth-child(4)", 'section[aria-label="Incident"]'],
  },
  {
    title: "Connect your own data",
    text: "Copy a command for your source, run it, and watch the first records arrive.",
    marks: [],
  },
];

export default function Tour() {
  const at = useStore(tourStore) ?? 0;
  const path = useRouterState({ select: (state) => state.location.pathname });
  const navigate = useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  const step = STEPS[at] as Step;
  const last = at === STEPS.length - 1;

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // A dialog or menu that is open has its own Escape.
      if (event.key !== "Escape" || document.querySelector('[role="dialog"], [role="menu"]')) return;
      event.preventDefault();
      event.stopPropagation();
      leaveTour();
    };
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, []);

  useEffect(() => {
    const found = step.marks.map((mark) => document.querySelector<HTMLElement>(mark)).find((one) => one !== null);
    found?.setAttribute("data-tour", "");
    // The first step comes by itself: the page stays where the reader is.
    if (at > 0) found?.scrollIntoView({ block: "nearest" });
    // A reader who works by keys goes on from the step's title. The first step came by itself and takes nobody's focus.
    if (at > 0) heading.current?.focus({ preventScroll: true });
    return () => found?.removeAttribute("data-tour");
  }, [at, step, path]);

  const connect = () => {
    leaveTour();
    void navigate({ to: "/connect" });
  };
  return (
    <aside className="tour" aria-label="Tour">
      <h2 tabIndex={-1} ref={heading}>
        {step.title}
      </h2>
      <p>{step.text}</p>
      <div className="tour-foot">
        <span className="subtitle">
          Step {at + 1} of {STEPS.length}
        </span>
        <button className="button" disabled={at === 0} onClick={() => tourStore.set(at - 1)}>
          Back
        </button>
        {last ? (
          <button className="button primary" onClick={connect}>
            Connect your own data
          </button>
        ) : (
          <button className="button primary" onClick={() => tourStore.set(at + 1)}>
            Next
          </button>
        )}
        <button className="button plain" onClick={leaveTour} aria-label="Leave the tour" title="Leave the tour (Esc)">
          <Icon name="close" />
        </button>
      </div>
    </aside>
  );
}
