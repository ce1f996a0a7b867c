import { useInfiniteQuery } from "@tanstack/react-query";
import { alertsQuery } from "../api/alerts";
import { ApiError } from "../api/client";

/** How many alerts fire, or "?" with the reason where that cannot be known; nothing while none does. The same question as home's and the alerts' page. */
export function FiringBadge() {
  const { data, error } = useInfiniteQuery(alertsQuery("firing"));
  const first = data?.pages[0];
  if (!first && error) {
    const reason = (error instanceof ApiError && error.problem.detail) || error.message;
    return (
      <span className="nav-badge" data-unknown title={reason}>
        ?<span className="visually-hidden"> firing alerts are not known: {reason}</span>
      </span>
    );
  }
  const firing = first?.items.length ?? 0;
  if (!firing) return null;
  const shown = `${firing}${first?.next_cursor ? "+" : ""}`;
  return (
    <span className="nav-badge">
      {shown}
      <span className="visually-hidden"> firing</span>
    </span>
  );
}
