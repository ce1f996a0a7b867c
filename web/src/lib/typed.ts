/** A field whose text stands in the address: written there after a pause, taken from there after a link, back or forward. */
import { useEffect, useRef, useState } from "react";

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
