import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { followEvents } from "./api/live";
import { fabricsQuery, routersQuery } from "./api/queries";
import { makeRouter } from "./app/router";
import "./app/main.css";
import { listenForKeys } from "./lib/keys";
import { unsaved } from "./lib/tables";
import { startTheme } from "./lib/theme";

startTheme();
listenForKeys();

// What a client did wrong does not get better by repetition; what the network did may.
const mayHelp = (failures: number, error: Error) =>
  failures < 3 && !(error instanceof ApiError && error.problem.status >= 200 && error.problem.status < 500);

// A page that failed for a reason that may pass asks again by itself; what stands on it stays meanwhile.
const AGAIN_MS = 10_000;
const again = ({ state }: { state: { status: string; error: Error | null } }) =>
  state.status === "error" && state.error && mayHelp(0, state.error) ? AGAIN_MS : false;

/** After an update of the platform the files of a page that is open are gone: it is loaded anew. If they are only out of reach, or the page says that an export failed, it stays. */
async function renew(): Promise<void> {
  const index = await fetch("/", { cache: "no-store" });
  const updated = index.ok && !(await index.text()).includes(new URL(import.meta.url).pathname);
  if (updated && !unsaved.get()) location.reload();
}
addEventListener("vite:preloadError", () => void renew().catch(() => undefined));

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      gcTime: 60_000,
      retry: mayHelp,
      retryDelay: (n) => Math.min(1000 * 2 ** n, 10_000),
      refetchOnWindowFocus: false,
      refetchInterval: again,
    },
  },
});
const router = makeRouter();
followEvents(queries);

/** None if the address is not well-formed; the router then says so. */
function nameIn(part: string | undefined): string | undefined {
  try {
    return part && decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

// A fabric page needs its code, the list of machines and the routers: asked for at once, not one after the other.
const opening = nameIn(/^\/fabric\/([^/]+)/.exec(location.pathname)?.[1]);
if (opening) {
  void import("./features/fabric/FabricPage");
  void queries.prefetchQuery(fabricsQuery());
  void queries.prefetchQuery(routersQuery(opening));
}

const root = document.getElementById("app");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
