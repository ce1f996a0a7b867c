/** A value that follows later while something plays: what hangs on it is neither asked for nor drawn in the same frame as the rest. */
import { startTransition, useEffect, useState } from "react";

/** `value` at once, or, while `active`, as it was until `ms` milliseconds after it changed. */
export function useTrailing<T extends object | number | null>(value: T, ms: number, active: boolean): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => startTransition(() => setLate(value)), active ? ms : 0);
    return () => clearTimeout(timer);
  }, [value, ms, active]);
  return active ? late : value;
}
