/** Who looks: a way in for who has not signed in, else their name and role, their tokens (for admins: people), and the way out. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouterState } from "@tanstack/react-router";
import { sessionQuery } from "../api/session";
import { Icon } from "../components/Icon";
import { Menu } from "../components/Menu";

export function AccountMenu() {
  const navigate = useNavigate();
  const here = useRouterState({ select: (state) => state.location.href });
  const session = useQuery(sessionQuery()).data;
  if (!session?.user)
    return (
      <Link to="/login" search={here.startsWith("/login") ? {} : { to: here }} className="button plain">
        Sign in
      </Link>
    );
  const manages = session.scopes.includes("admin");
  return (
    <Menu
      heading={`Signed in as ${session.role ?? "nobody"}`}
      empty=""
      trigger={
        <>
          <span className="visually-hidden">Account </span>
          <span className="ellipsis account-name">{session.user}</span>
          <Icon name="down" />
        </>
      }
      entries={[
        {
          id: "admin",
          label: manages ? "People, tokens, audit log" : "My tokens",
          onSelect: () => void navigate({ to: "/admin" }),
        },
        { id: "leave", label: "Sign out…", onSelect: () => void navigate({ to: "/login" }) },
      ]}
    />
  );
}
