/** What a box shows, as one SVG document in the light theme, whatever the screen shows: canvases, SVG and captions where they stand, under a heading. */
import { flushSync } from "react-dom";
import { record } from "./recording";
import { save } from "./csv";
import { element, savePng, standalone } from "./picture";
import { redraw } from "./redraw";
import { themeStore } from "./theme";
import { originOf } from "./origin";
import { zoomOf } from "./zoom";

const MARGIN = 24;
const HEAD = 56;
/** Height of a line of what the picture says of itself, below it. */
const FOOT_LINE = 15;
const TYPE = 'Inter, "DejaVu Sans", sans-serif';
/** Smaller ones are signs beside a text. */
const SIGN = 16;

export interface Heading {
  title: string;
  subtitle: string;
}

function inLight<T>(act: () => T): T {
  const root = document.documentElement;
  const shown = themeStore.get();
  if (shown === "light") return act();
  const set = (theme: "light" | "dark") => {
    root.dataset.theme = theme;
    flushSync(() => themeStore.set(theme));
  };
  set("light");
  try {
    return act();
  } finally {
    set(shown);
  }
}

const token = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** A box within another, in the page's own lengths. */
function within(part: Element, box: DOMRect): { x: number; y: number; width: number; height: number } {
  const [at, zoom] = [part.getBoundingClientRect(), zoomOf()];
  return {
    x: (at.left - box.left) / zoom + MARGIN,
    y: (at.top - box.top) / zoom + HEAD,
    width: at.width / zoom,
    height: at.height / zoom,
  };
}
const captions = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>("figcaption, [data-caption]")];
const pictures = (box: HTMLElement) =>
  [...box.querySelectorAll("svg")].filter((svg) => !svg.closest("button") && svg.getBoundingClientRect().width > SIGN);

type Vector = CanvasRenderingContext2D & { getSvg: () => SVGSVGElement };

/** Canvases draw once more, into contexts that write SVG, and then again on the screen. */
export async function capture(box: HTMLElement, { title, subtitle }: Heading): Promise<SVGSVGElement> {
  const { Context } = await import("svgcanvas");
  return inLight(() => {
    const drawn = record((size) => new Context(size), redraw);
    redraw();
    const place = box.getBoundingClientRect();
    const said = originOf();
    const [width, height] = [
      Math.ceil(place.width / zoomOf() + 2 * MARGIN),
      Math.ceil(place.height / zoomOf() + HEAD + MARGIN + said.length * FOOT_LINE),
    ];
    const root = element("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    const words = (text: string, x: number, y: number, style: string) => {
      const line = element("text", { x, y, style });
      line.textContent = text;
      root.append(line);
    };
    const put = (part: SVGSVGElement, shown: Element) => {
      for (const [name, value] of Object.entries(within(shown, place))) part.setAttribute(name, value.toFixed(2));
      root.append(part);
    };
    root.append(element("rect", { width: "100%", height: "100%", fill: token("--surface") }));
    words(title, MARGIN, 28, `font: 650 18px ${TYPE}; fill: ${token("--ink")}`);
    words(subtitle, MARGIN, 46, `font: 400 12px ${TYPE}; fill: ${token("--ink-3")}`);
    for (const caption of captions(box)) {
      const at = within(caption, place);
      words(caption.textContent, at.x, at.y + 14, `font: 400 12px ${TYPE}; fill: ${token("--ink-2")}`);
    }
    for (const canvas of box.querySelectorAll("canvas")) {
      const context = drawn.get(canvas) as Vector | undefined;
      if (context) put(context.getSvg(), canvas);
    }
    for (const svg of pictures(box)) put(standalone(svg), svg);
    said.forEach(([name, value], i) =>
      words(
        `${name}: ${value}`,
        MARGIN,
        height - MARGIN / 2 - (said.length - 1 - i) * FOOT_LINE,
        `font: 400 11px ${TYPE}; fill: ${token("--ink-3")}`,
      ),
    );
    return root;
  });
}

/** Entries of an Export menu for the pictures in a box. */
export function captureEntries(box: () => HTMLElement | null, name: string, heading: () => Heading) {
  const act = (write: (svg: SVGSVGElement) => void | Promise<void>) => () => {
    const found = box();
    if (found) void capture(found, heading()).then(write);
  };
  return [
    {
      id: "svg",
      label: "Picture as SVG",
      onSelect: act((svg) => save(`${name}.svg`, new XMLSerializer().serializeToString(svg), "image/svg+xml")),
    },
    { id: "png", label: "Picture as PNG", onSelect: act((svg) => savePng(svg, name)) },
  ];
}
