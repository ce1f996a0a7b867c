/** Small signs drawn in the text's colour. A link class is a shape, never a colour. */
const CLASS_PATHS: Record<string, string> = {
  green: "M2 6h8",
  black: "M6 2v8",
  blue: "M2.5 9.5l7-7M5.5 2.5h4v4",
  up: "M6 10V2.5M3 5.5l3-3 3 3",
  down: "M6 2v7.5M3 6.5l3 3 3-3",
  dim0: "M2 6h8",
  dim1: "M6 2v8",
  dim2: "M2.5 9.5l7-7",
};
const SQUARE = "M3.5 3.5h5v5h-5z";

export function classPath(linkClass: string | null | undefined): string {
  if (linkClass === "terminal" || linkClass === "host") return SQUARE;
  return CLASS_PATHS[linkClass ?? ""] ?? "M2.5 6h7M6 2.5v7";
}

export function ClassGlyph({ linkClass }: { linkClass: string | null | undefined }) {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" className="glyph">
      <path d={classPath(linkClass)} fill="none" stroke="currentColor" strokeWidth="1.4" />
    </svg>
  );
}

const SIGNS: Record<string, string> = {
  sun: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.8A6 6 0 016.2 2.5a6 6 0 107.3 7.3z",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  check: "M3 8.5l3 3 7-7",
  search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.5 10.5L14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
  lock: "M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 015 0v2.5",
  play: "M5 3l7.5 5L5 13z",
  pause: "M5.5 3v10M10.5 3v10",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  link: "M7 9a3 3 0 004.2 0l2-2A3 3 0 009 2.8l-.8.8M9 7a3 3 0 00-4.2 0l-2 2A3 3 0 007 13.2l.8-.8",
  bell: "M4 11V7a4 4 0 018 0v4l1.2 1.5H2.8zM6.8 14.2h2.4",
};

export function Icon({ name }: { name: keyof typeof SIGNS & string }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" className="icon">
      <path
        d={SIGNS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** Severity is shape and word first: filled triangle, hollow triangle, ring. */
export function SeverityMark({ level }: { level: "high" | "medium" | "info" }) {
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" className={`severity severity-${level}`}>
      {level === "info" ? (
        <circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" strokeWidth="1.4" />
      ) : (
        <path
          d="M7 2l5.5 10h-11z"
          fill={level === "high" ? "currentColor" : "none"}
          stroke="currentColor"
          strokeWidth="1.4"
          strokeLinejoin="round"
        />
      )}
    </svg>
  );
}
