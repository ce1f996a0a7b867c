import { useEffect, useRef, useState } from "react";

/** Copies a text; where the browser refuses the clipboard (plain HTTP), it says how to copy by hand. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [said, setSaid] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const say = (words: string) => {
    setSaid(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid(""), 3000);
  };
  const copy = () => {
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const refused = () => say("Select the text and press Ctrl+C");
    if (clipboard) clipboard.writeText(text).then(() => say("Copied"), refused);
    else refused();
  };
  return (
    <button className="button" onClick={copy} aria-label={`Copy ${what}`}>
      <span role="status">{said || "Copy"}</span>
    </button>
  );
}
