import { useEffect, useState } from "react";
import type { Store } from "../../lib/store";
import { hottestRouter, type Scene, type Values } from "../../machine/scene";

/** The chosen router; until one is chosen, the hottest one of the job (or machine) when the page was opened: it does not jump about. */
export function useSelection(
  values: Store<Values | null>,
  chosen: number | undefined,
  members: ReadonlySet<number> | null,
  scene: Scene | null,
): number | null {
  const [found, setFound] = useState<{ router: number; members: ReadonlySet<number> | null } | null>(null);
  useEffect(() => {
    const look = () => {
      const shown = values.get();
      if (!shown) return;
      setFound((old) => {
        if (old && old.members === members) return old;
        const router = hottestRouter(shown, members);
        return router === null ? old : { router, members };
      });
    };
    look();
    return values.subscribe(look);
  }, [values, members]);
  if (chosen !== undefined && scene && chosen < scene.machine.size) return chosen;
  return found?.router ?? (scene && scene.machine.size > 0 && !found ? fallback(values, scene) : null);
}

// Without a single counted router the first one is as good as any.
const fallback = (values: Store<Values | null>, scene: Scene) => (values.get() && scene.machine.size > 0 ? 0 : null);
