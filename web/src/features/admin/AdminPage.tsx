/** People: accounts, tokens and the audit log for admins; everyone's own tokens. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { sessionQuery } from "../../api/session";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/Segmented";
import { ZONE } from "../../lib/time";
import "../estimates/estimates.css";
import type { AdminView } from "./address";
import "./admin.css";
import { AuditView } from "./AuditView";
import { TokensView } from "./TokensView";
import { UsersView } from "./UsersView";

const VIEWS: { value: AdminView; label: string }[] = [
  { value: "users", label: "Users" },
  { value: "tokens", label: "Tokens" },
  { value: "audit", label: "Audit log" },
];

export function AdminPage() {
  const search = useSearch({ from: "/admin" });
  const navigate = useNavigate({ from: "/admin" });
  const session = useQuery(sessionQuery());
  if (session.error && !session.data) return <Failure error={session.error} retry={() => void session.refetch()} />;
  if (!session.data) return <Waiting what="who you are" />;
  const known = session.data;
  if (known.user === null)
    return (
      <div className="estimate-page admin-page">
        <div className="context">
          <h1>People</h1>
        </div>
        <Empty title="Sign in to see tokens and accounts">
          You are not signed in.{" "}
          <Link className="link strong" to="/login" search={{ to: "/admin" }}>
            Sign in
          </Link>
          ; the password of the first admin is in the file that the service named when it first started.
        </Empty>
      </div>
    );
  const manages = known.scopes.includes("admin");
  const view: AdminView = manages ? (search.view ?? "users") : "tokens";
  return (
    <div className="estimate-page admin-page">
      <div className="context">
        <h1>{manages ? "People" : "My tokens"}</h1>
        <span className="subtitle">
          you are {known.user}, {known.role} · times are {ZONE}
        </span>
        <span className="spacer" />
        {manages && (
          <Segmented
            label="Show"
            value={view}
            options={VIEWS}
            onChange={(next) => void navigate({ search: next === "users" ? {} : { view: next } })}
          />
        )}
      </div>
      {view === "users" ? (
        <UsersView self={known.user} />
      ) : view === "audit" ? (
        <AuditView actor={search.actor} />
      ) : (
        <TokensView session={known} />
      )}
    </div>
  );
}
