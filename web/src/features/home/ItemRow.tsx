import { SeverityMark } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import { moment as momentText } from "../../lib/time";
import type { Item } from "./attention";

/** One line of what needs attention: what, what is at stake, since when, and where the evidence is. */
export function ItemRow({ item, current, now }: { item: Item; current: boolean; now: number }) {
  return (
    <li className="home-item" data-current={current || undefined} aria-current={current || undefined}>
      <SeverityMark level={item.level} />
      <div className="ellipsis">
        <div className="home-title ellipsis" title={item.title}>
          {item.title}
        </div>
        <div className="subtitle ellipsis" title={item.detail}>
          {item.detail}
        </div>
      </div>
      <span className="home-stake">{item.stake}</span>
      <span className="home-at">{item.at === null ? "" : momentText(item.at, now)}</span>
      <PageLink href={item.href} aria-label={`${item.action}: ${item.title}`}>
        {item.action} →
      </PageLink>
    </li>
  );
}
