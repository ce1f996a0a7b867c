/**
 * Sums over any window of frames in constant time per router: differences of running sums.
 *
 * Frames hold flits and stall cycles of every router in each step of time; NaN says that nothing was known then. A window's ratio is
 * summed stalls over summed flits, so both are summed and the division comes last.
 */
export interface Frames {
  from: number;
  stepMs: number;
  frames: number;
  routers: number;
  flits: Float32Array;
  stalls: Float32Array;
}

export interface Sums {
  flits: Float64Array;
  stalls: Float64Array;
  /** Share of the window's frames in which the router was counted. */
  coverage: Float32Array;
}

export class PrefixSums {
  readonly from: number;
  readonly stepMs: number;
  readonly frames: number;
  readonly routers: number;
  private flits: Float64Array;
  private stalls: Float64Array;
  private counted: Uint32Array;

  constructor(source: Frames) {
    const { frames, routers } = source;
    this.from = source.from;
    this.stepMs = source.stepMs;
    this.frames = frames;
    this.routers = routers;
    this.flits = new Float64Array((frames + 1) * routers);
    this.stalls = new Float64Array((frames + 1) * routers);
    this.counted = new Uint32Array((frames + 1) * routers);
    for (let i = 0, next = routers; i < frames * routers; i++, next++) {
      const flits = source.flits[i] as number;
      const known = flits === flits;
      this.flits[next] = (this.flits[i] as number) + (known ? flits : 0);
      this.stalls[next] = (this.stalls[i] as number) + (known ? (source.stalls[i] as number) || 0 : 0);
      this.counted[next] = (this.counted[i] as number) + (known ? 1 : 0);
    }
  }

  /** The window of time in frames, with fractions: between frames the sums are taken to grow evenly. At least a tenth of a frame. */
  range(from: number, to: number): [number, number] {
    const clamp = (n: number, low: number, high: number) => Math.max(low, Math.min(high, n));
    const first = clamp((from - this.from) / this.stepMs, 0, this.frames - 0.1);
    const last = clamp((to - this.from) / this.stepMs, first + 0.1, this.frames);
    return [first, last];
  }

  covers(from: number, to: number): boolean {
    const slack = this.stepMs;
    return this.frames > 0 && from >= this.from - slack && to <= this.from + this.frames * this.stepMs + slack;
  }

  /** Writes the sums of frames [first, last) into `out`; both may be fractions. */
  window(first: number, last: number, out: Sums): void {
    const [a, aPart] = this.split(first);
    const [b, bPart] = this.split(last);
    const length = last - first;
    const { flits, stalls, counted, routers } = this;
    // Sum up to frame a + part of the next one. The loop is what a drag costs, so it is written flat.
    for (let r = 0; r < routers; r++) {
      const a0 = a + r,
        a1 = a0 + routers,
        b0 = b + r,
        b1 = b0 + routers;
      const fa = flits[a0] as number,
        sa = stalls[a0] as number,
        ca = counted[a0] as number;
      const fb = flits[b0] as number,
        sb = stalls[b0] as number,
        cb = counted[b0] as number;
      out.flits[r] =
        fb -
        fa +
        (bPart ? bPart * ((flits[b1] as number) - fb) : 0) -
        (aPart ? aPart * ((flits[a1] as number) - fa) : 0);
      out.stalls[r] =
        sb -
        sa +
        (bPart ? bPart * ((stalls[b1] as number) - sb) : 0) -
        (aPart ? aPart * ((stalls[a1] as number) - sa) : 0);
      out.coverage[r] =
        (cb -
          ca +
          (bPart ? bPart * ((counted[b1] as number) - cb) : 0) -
          (aPart ? aPart * ((counted[a1] as number) - ca) : 0)) /
        length;
    }
  }

  /** Offset of the whole frames before a position, and the part of the frame after them. */
  private split(position: number): [number, number] {
    const whole = Math.min(Math.floor(position), this.frames);
    const part = whole >= this.frames ? 0 : position - whole;
    return [whole * this.routers, part];
  }
}

export const emptySums = (routers: number): Sums => ({
  flits: new Float64Array(routers),
  stalls: new Float64Array(routers),
  coverage: new Float32Array(routers),
});
