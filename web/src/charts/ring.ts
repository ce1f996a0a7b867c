/** Ring: panels on a circle, links between groups as bundled curves inside it (layout and drawing). */
import type { Arrangement } from "./arrange";
import { type CellShape, hairline, hatch } from "./cells";
import { font, type Palette } from "./palette";
import { CHANGE, changeColour, HEAT, heatColour, NOT_SAMPLED, SILENT } from "./scale";
import type { TilesMarks } from "./tiles";
import type { RouterWindow } from "./window";

export interface RingLayout {
  cx: number;
  cy: number;
  inner: number;
  rowHeight: number;
  panels: number;
  cols: number;
  gap: number;
  /** Pixels between the cells of a row. */
  space: number;
  width: number;
  height: number;
}

const TURN = 2 * Math.PI;
/** Narrower cells touch, or the surface between them would outweigh their colour. */
const NARROW = 2;

export function ringLayout(arrangement: Arrangement, width: number, height: number): RingLayout {
  const panels = arrangement.panels.length;
  const outer = Math.min(width, height) / 2 - 20;
  const rowHeight = Math.max(3, Math.min(panels > 20 ? 9 : 11, (outer * 0.34) / arrangement.rows));
  const inner = outer - arrangement.rows * rowHeight;
  const gap = Math.min(0.05, (TURN / panels) * 0.12);
  return {
    cx: width / 2,
    cy: height / 2,
    inner,
    rowHeight,
    panels,
    cols: arrangement.cols,
    gap,
    space: (inner * (TURN / panels - gap)) / arrangement.cols < NARROW ? 0 : 1,
    width,
    height,
  };
}

const panelAngle = (layout: RingLayout, panel: number) => -Math.PI / 2 + (panel / layout.panels) * TURN;

export function columnAngle(layout: RingLayout, panel: number, column: number): number {
  const share = TURN / layout.panels;
  return panelAngle(layout, panel) + layout.gap / 2 + (column / layout.cols) * (share - layout.gap);
}

interface Sector {
  a0: number;
  a1: number;
  r0: number;
  r1: number;
}

export function sectorOf(layout: RingLayout, arrangement: Arrangement, router: number): Sector {
  const panel = arrangement.panelOf[router] as number;
  const col = arrangement.colOf[router] as number;
  const r0 = layout.inner + (arrangement.rowOf[router] as number) * layout.rowHeight;
  return {
    a0: columnAngle(layout, panel, col),
    a1: columnAngle(layout, panel, col + 1),
    r0,
    r1: r0 + layout.rowHeight,
  };
}

export function ringAt(
  layout: RingLayout,
  arrangement: Arrangement,
  index: Int32Array,
  x: number,
  y: number,
): number | null {
  const [dx, dy] = [x - layout.cx, y - layout.cy];
  const row = Math.floor((Math.hypot(dx, dy) - layout.inner) / layout.rowHeight);
  if (row < 0 || row >= arrangement.rows) return null;
  const turn = ((Math.atan2(dy, dx) + Math.PI / 2) / TURN + 1) % 1;
  const panel = Math.floor(turn * layout.panels);
  const within = turn * TURN - (panel / layout.panels) * TURN - layout.gap / 2;
  const col = Math.floor((within / (TURN / layout.panels - layout.gap)) * layout.cols);
  if (col < 0 || col >= layout.cols) return null;
  const router = index[(panel * arrangement.rows + row) * arrangement.cols + col];
  return router !== undefined && router >= 0 ? router : null;
}

const point = (layout: RingLayout, angle: number, radius: number): [number, number] => [
  layout.cx + Math.cos(angle) * radius,
  layout.cy + Math.sin(angle) * radius,
];

function sectorPath(context: CanvasRenderingContext2D, layout: RingLayout, { a0, a1, r0, r1 }: Sector): void {
  context.moveTo(...point(layout, a0, r0));
  context.lineTo(...point(layout, a0, r1));
  context.arc(layout.cx, layout.cy, r1, a0, a1);
  context.lineTo(...point(layout, a1, r0));
  context.arc(layout.cx, layout.cy, r0, a1, a0, true);
  context.closePath();
}

export const ringShape = (layout: RingLayout, arrangement: Arrangement): CellShape => ({
  edge: (context, { router, side }) => {
    const { a0, a1, r0, r1 } = sectorOf(layout, arrangement, router);
    // Rows grow outwards: the top of a cell is its inner arc.
    if (side === 0 || side === 2) {
      const radius = side === 0 ? r0 - 0.5 : r1 - 0.5;
      context.moveTo(...point(layout, a0, radius));
      context.arc(layout.cx, layout.cy, radius, a0, a1);
    } else {
      const angle = side === 3 ? a0 : a1;
      context.moveTo(...point(layout, angle, r0 - 0.5));
      context.lineTo(...point(layout, angle, r1 - 0.5));
    }
  },
  cell: (context, router, grow) => {
    const { a0, a1, r0, r1 } = sectorOf(layout, arrangement, router);
    const by = grow / ((r0 + r1) / 2);
    sectorPath(context, layout, { a0: a0 - by, a1: a1 + by, r0: r0 - grow, r1: r1 + grow - 1 });
  },
});

/** One curve inside the ring: from a router or a group to another. */
export interface Chord {
  /** Its link, or null if it stands for all links of the pair of groups. */
  link: number | null;
  src: number;
  dst: number;
  from: { panel: number; column: number };
  to: { panel: number; column: number };
  ratio: number;
  /** How the ratio changed (`changeFactor`); null if windows are not compared. */
  factor: number | null;
}

type Point = [number, number];

/** Ends and control points of a chord: start, two controls, end. */
function chordCurve(layout: RingLayout, { from, to }: Chord): [Point, Point, Point, Point] {
  const middle = (panel: number) => panelAngle(layout, panel) + Math.PI / layout.panels;
  const [m0, m1] = [middle(from.panel), middle(to.panel)];
  let apart = Math.abs(m0 - m1);
  if (apart > Math.PI) apart = TURN - apart;
  const radius = layout.inner * (0.93 - 0.78 * (apart / Math.PI) ** 0.55);
  return [
    point(layout, columnAngle(layout, from.panel, from.column + 0.5), layout.inner - 3),
    point(layout, m0, radius),
    point(layout, m1, radius),
    point(layout, columnAngle(layout, to.panel, to.column + 0.5), layout.inner - 3),
  ];
}

/** Pixels by which a pointer may miss a chord. */
const REACH = 4;
const PIECES = 24;

/** The chord under a place, the one drawn last (the hottest) where several cross; null if there is none. */
export function chordAt(layout: RingLayout, chords: readonly Chord[], x: number, y: number): Chord | null {
  if (Math.hypot(x - layout.cx, y - layout.cy) > layout.inner) return null;
  for (let i = chords.length - 1; i >= 0; i--) {
    const chord = chords[i] as Chord;
    const [a, b, c, d] = chordCurve(layout, chord);
    let before = a;
    for (let k = 1; k <= PIECES; k++) {
      const [t, s] = [k / PIECES, 1 - k / PIECES];
      const at = (j: 0 | 1) => s ** 3 * a[j] + 3 * s * s * t * b[j] + 3 * s * t * t * c[j] + t ** 3 * d[j];
      const next: Point = [at(0), at(1)];
      if (distance(before, next, x, y) <= REACH) return chord;
      before = next;
    }
  }
  return null;
}

/** From a place to a straight piece. */
function distance([ax, ay]: Point, [bx, by]: Point, x: number, y: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

/** A change by its size alone, on the scale of stalls: four times, and a quarter, weigh as eight stalls per flit do. */
const ofChange = (factor: number): number => 2 * Math.max(factor, 1 / factor);

/** The hottest chords (those that changed most, where windows are compared), cut at a step of the scale so that at most `most` are drawn; the cut is written next to the picture. */
export function shownChords(chords: Chord[], most: number): { shown: Chord[]; cut: number } {
  const weight = ({ ratio, factor }: Chord) => (factor === null ? ratio : Math.max(factor, 1 / factor));
  const ordered = [...chords].sort((a, b) => weight(a) - weight(b));
  if (ordered.length <= most) return { shown: ordered, cut: 0 };
  for (const cut of [0.5, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]) {
    const shown = ordered.filter((chord) => weight(chord) >= cut);
    if (shown.length <= most) return { shown, cut };
  }
  const last = ordered.at(-most);
  return { shown: ordered.slice(-most), cut: last ? weight(last) : 0 };
}

/** The base canvas of the ring: drawn whole at rest (edges of curves are blended, so nothing can be drawn over), by what differs while it moves. */
export class RingDrawing {
  private drawn: Uint8Array | null = null;
  private colours: readonly string[] = [];

  constructor(
    private context: CanvasRenderingContext2D,
    readonly layout: RingLayout,
    private arrangement: Arrangement,
    private palette: Palette,
  ) {}

  draw(window: RouterWindow, chords: Chord[], marks: TilesMarks, moving = false): void {
    const { context, layout, palette } = this;
    const colours = (window.factor ? CHANGE : HEAT)[palette.theme];
    const whole = !this.drawn || !moving || colours !== this.colours;
    this.colours = colours;
    if (whole) {
      context.fillStyle = palette.surface;
      context.fillRect(0, 0, layout.width, layout.height);
      this.drawn = new Uint8Array(window.codes.length).fill(255);
    }
    this.cells(window.codes);
    if (!whole) return;
    this.chords(chords);
    this.labels(marks);
  }

  private cells(codes: Uint8Array): void {
    const drawn = this.drawn;
    if (!drawn) return;
    for (let router = 0; router < codes.length; router++) {
      const code = codes[router] as number;
      if (drawn[router] === code) continue;
      drawn[router] = code;
      this.cell(router, code);
    }
  }

  private cell(router: number, code: number): void {
    const { context, layout, arrangement, palette } = this;
    const sector = sectorOf(layout, arrangement, router);
    const half = layout.space / 2 / sector.r1;
    const inside = { a0: sector.a0 + half, a1: sector.a1 - half, r0: sector.r0, r1: sector.r1 - 1 };
    const colour = this.colours[code];
    if (colour) {
      context.fillStyle = colour;
      context.beginPath();
      sectorPath(context, layout, inside);
      context.fill();
      return;
    }
    context.save();
    context.beginPath();
    sectorPath(context, layout, inside);
    context.clip();
    const [x, y] = point(layout, (sector.a0 + sector.a1) / 2, (sector.r0 + sector.r1) / 2);
    const reach = layout.rowHeight + (sector.a1 - sector.a0) * sector.r1;
    const box = { x: x - reach, y: y - reach, w: 2 * reach, h: 2 * reach };
    if (code === SILENT) hatch(context, box, palette);
    else hairline(context, box, palette);
    context.restore();
    if (code !== NOT_SAMPLED) return;
    context.strokeStyle = palette.line;
    context.lineWidth = 0.8;
    context.beginPath();
    sectorPath(context, layout, inside);
    context.stroke();
  }

  private labels(marks: TilesMarks): void {
    const { context, layout, arrangement, palette } = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    arrangement.panels.forEach((panel, p) => {
      const angle = panelAngle(layout, p) + Math.PI / layout.panels;
      const [x, y] = point(layout, angle, layout.inner + arrangement.rows * layout.rowHeight + 11);
      context.fillStyle = palette.surface;
      context.fillRect(x - 9, y - 7, 18, 14);
      const selected = p === marks.selectedPanel;
      context.font = font(11, selected ? 650 : marks.jobPanels.has(p) ? 500 : 400);
      context.fillStyle = selected ? palette.accent : marks.jobPanels.has(p) ? palette.ink : palette.ink3;
      context.fillText(panel.label.replace(/^g(?=\d)/, ""), x, y);
    });
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
  }

  private chords(chords: Chord[]): void {
    const { context, layout, palette } = this;
    context.fillStyle = palette.surface;
    context.beginPath();
    context.arc(layout.cx, layout.cy, layout.inner - 1.5, 0, TURN);
    context.fill();
    for (const chord of chords) {
      const { ratio, factor } = chord;
      const [start, one, two, end] = chordCurve(layout, chord);
      const weight = factor === null ? ratio : ofChange(factor);
      context.strokeStyle = factor === null ? heatColour(ratio, palette.theme) : changeColour(factor, palette.theme);
      context.globalAlpha = weight < 2 ? 0.6 : weight < 4 ? 0.8 : 0.95;
      context.lineWidth = weight < 4 ? 0.9 : weight < 8 ? 1.3 : weight < 16 ? 1.8 : 2.4;
      context.beginPath();
      context.moveTo(...start);
      context.bezierCurveTo(...one, ...two, ...end);
      context.stroke();
    }
    context.globalAlpha = 1;
  }
}
