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

  /** The frames that a window of time covers: at least one, [first, last). */
  range(from: number, to: number): [number, number] {
    const clamp = (n: number, low: number, high: number) => Math.max(low, Math.min(high, n));
    const first = clamp(Math.round((from - this.from) / this.stepMs), 0, this.frames - 1);
    const last = clamp(Math.round((to - this.from) / this.stepMs), first + 1, this.frames);
    return [first, last];
  }

  covers(from: number, to: number): boolean {
    const slack = this.stepMs;
    return this.frames > 0 && from >= this.from - slack && to <= this.from + this.frames * this.stepMs + slack;
  }

  /** Writes the sums of frames [first, last) into `out`. */
  window(first: number, last: number, out: Sums): void {
    const a = first * this.routers;
    const b = last * this.routers;
    const length = last - first;
    for (let r = 0; r < this.routers; r++) {
      out.flits[r] = (this.flits[b + r] as number) - (this.flits[a + r] as number);
      out.stalls[r] = (this.stalls[b + r] as number) - (this.stalls[a + r] as number);
      out.coverage[r] = ((this.counted[b + r] as number) - (this.counted[a + r] as number)) / length;
    }
  }
}

export const emptySums = (routers: number): Sums => ({
  flits: new Float64Array(routers),
  stalls: new Float64Array(routers),
  coverage: new Float32Array(routers),
});
