import * as Dropdown from "@radix-ui/react-dropdown-menu";
import * as ToggleGroup from "@radix-ui/react-toggle-group";
import type { ReactNode } from "react";

export interface MenuEntry {
  id: string;
  label: ReactNode;
  detail?: string;
  onSelect: () => void;
  /** It is listed, and cannot be chosen; `detail` says why. */
  disabled?: boolean;
}

interface MenuProps {
  trigger: ReactNode;
  heading?: string;
  entries: MenuEntry[];
  empty?: string;
}

export function Menu({ trigger, heading, entries, empty }: MenuProps) {
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

export interface Option<T extends string> {
  value: T;
  label: string;
  title?: string;
}

interface SegmentedProps<T extends string> {
  label: string;
  value: T;
  options: Option<T>[];
  onChange: (value: T) => void;
}

/** One of a few, all of them in sight. */
export function Segmented<T extends string>({ label, value, options, onChange }: SegmentedProps<T>) {
  return (
    <ToggleGroup.Root
      type="single"
      className="segmented"
      aria-label={label}
      value={value}
      onValueChange={(next) => {
        if (next) onChange(next as T);
      }}
    >
      {options.map((option) => (
        <ToggleGroup.Item key={option.value} value={option.value} title={option.title}>
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}
