/** Keyboard: one listener with the bindings of the open page, and text fields that are stored in the address. */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Store } from "./store";

// A field whose text stands in the address: written there after a pause, taken from there after a link, back or forward.

const PAUSE_MS = 200;

/** [text, setText]; `write` is stable and gets the text without outer blanks. */
export function useTyped(inAddress: string, write: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress);
  const agreed = useRef(inAddress);
  useEffect(() => {
    if (inAddress === agreed.current) return;
    agreed.current = inAddress;
    setText(inAddress);
  }, [inAddress]);
  useEffect(() => {
    const asked = text.trim();
    if (asked === agreed.current) return;
    const timer = setTimeout(() => {
      agreed.current = asked;
      write(asked);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, write]);
  return [text, setText];
}

export interface Binding {
  /** As pressed: "d", "ArrowLeft", "g f" for a sequence. */
  keys: string;
  label: string;
  run: () => void;
  /** Left out of the help: another binding's label speaks for it. */
  silent?: boolean;
}

export interface KeySection {
  title: string;
  bindings: Binding[];
}

export const keySections = new Store<ReadonlyMap<symbol, KeySection>>(new Map());

const SEQUENCE_MS = 1200;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

// Where a widget has its own arrow keys and Enter, they are the widget's.
const WIDGETS = '[role="menu"],[role="listbox"],[role="radiogroup"],[role="dialog"],[role="separator"],[role="group"]';
const ownsKeys = (target: EventTarget | null, key: string) =>
  target instanceof HTMLElement &&
  ((/^(Arrow|Home|End)/.test(key) && target.closest(WIDGETS) !== null) ||
    ((key === "Enter" || key === " ") && /^(A|BUTTON)$/.test(target.tagName)));

export function listenForKeys(): () => void {
  let prefix = "";
  let since = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || ownsKeys(event.target, event.key)) return;
    if (document.querySelector('[role="dialog"]') && event.key !== "?") return;
    const pressed = prefix && event.timeStamp - since < SEQUENCE_MS ? `${prefix} ${event.key}` : event.key;
    const bindings = [...keySections.get().values()].reverse().flatMap((section) => section.bindings);
    const hit =
      bindings.find((binding) => binding.keys === pressed) ?? bindings.find((binding) => binding.keys === event.key);
    const opens = bindings.some((binding) => binding.keys.startsWith(`${event.key} `));
    prefix = !hit && opens ? event.key : "";
    since = event.timeStamp;
    if (!hit) return;
    event.preventDefault();
    hit.run();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

/** Bindings of a part of the page, from the moment in which it is drawn: what is in sight listens. */
export function useKeys(title: string, bindings: Binding[]): void {
  useLayoutEffect(() => {
    const id = Symbol(title);
    keySections.set(new Map(keySections.get()).set(id, { title, bindings }));
    return () => {
      const rest = new Map(keySections.get());
      rest.delete(id);
      keySections.set(rest);
    };
  }, [title, bindings]);
}
