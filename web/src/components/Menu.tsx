import * as Dropdown from "@radix-ui/react-dropdown-menu";
import type { ReactNode } from "react";

export interface MenuEntry {
  id: string;
  label: ReactNode;
  detail?: string;
  onSelect: () => void;
  /** It is listed, and cannot be chosen; `detail` says why. */
  disabled?: boolean;
}

interface Props {
  trigger: ReactNode;
  heading?: string;
  entries: MenuEntry[];
  empty?: string;
}

export function Menu({ trigger, heading, entries, empty }: Props) {
  return (
    <Dropdown.Root modal={false}>
      <Dropdown.Trigger className="button">{trigger}</Dropdown.Trigger>
      <Dropdown.Portal>
        <Dropdown.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {heading && <Dropdown.Label className="menu-label">{heading}</Dropdown.Label>}
          {entries.map((entry) => (
            <Dropdown.Item
              key={entry.id}
              className="menu-item"
              onSelect={entry.onSelect}
              disabled={entry.disabled ?? false}
            >
              {entry.label}
              {entry.detail && <span className="muted">{entry.detail}</span>}
            </Dropdown.Item>
          ))}
          {!entries.length && empty && <div className="menu-label">{empty}</div>}
        </Dropdown.Content>
      </Dropdown.Portal>
    </Dropdown.Root>
  );
}
