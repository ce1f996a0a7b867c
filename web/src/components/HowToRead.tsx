import type { ReactNode } from "react";

/** Three lines for the reader, and what the result does not show. */
export function HowToRead({ lines, not }: { lines: [ReactNode, ReactNode, ReactNode]; not: ReactNode }) {
  return (
    <section className="card how" aria-label="How to read this">
      <h2 className="block-title">How to read this</h2>
      <ol>
        {lines.map((line, i) => (
          <li key={i}>{line}</li>
        ))}
      </ol>
      <p>
        <strong>What it does not prove.</strong> {not}
      </p>
    </section>
  );
}
