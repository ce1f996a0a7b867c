/** Asks for a study's parameters, those of its own model, and starts it as a task. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { startTask, type Task } from "../../api/tasks";
import { AccessButton } from "../../components/AccessButton";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { fieldLabel, fieldsOf, parametersFrom, type StudyField, type Typed } from "./studyForm";
import type { StudyCard } from "./studies";

interface Asking {
  card: StudyCard;
  onClose: () => void;
  onStarted: (task: Task) => void;
}

export function StudyDialog({ card, onClose, onStarted }: Asking) {
  const fields = fieldsOf(card.study);
  const [typed, setTyped] = useState<Typed>({});
  const start = useMutation({
    mutationFn: () => startTask("sim.study", { study: card.study, parameters: parametersFrom(fields, typed) }),
    onSuccess: onStarted,
  });
  return (
    <Dialog open title={`${card.title}: ${card.study}`} onClose={onClose}>
      <form
        className="form rows"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <p className="muted">{card.asks}</p>
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={typed[field.name] ?? ""}
            onChange={(value) => setTyped((old) => ({ ...old, [field.name]: value }))}
          />
        ))}
        <DialogEnd error={start.error} onClose={onClose}>
          <AccessButton need="tasks" type="submit" className="button primary" disabled={start.isPending}>
            Run
          </AccessButton>
        </DialogEnd>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  field: StudyField;
  value: string | string[];
  onChange: (value: string | string[]) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  const usual = field.usual === undefined ? "the study's own" : String(field.usual);
  if (field.type === "choices") {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset className="lab-checks">
        <legend>{fieldLabel(field.name)}</legend>
        {field.choices?.map((one) => (
          <label key={one}>
            <input
              type="checkbox"
              checked={chosen.includes(one)}
              onChange={(event) => onChange(event.target.checked ? [...chosen, one] : chosen.filter((x) => x !== one))}
            />
            <span>{one}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  const options = field.type === "boolean" ? ["true", "false"] : field.choices;
  return (
    <label title={field.says}>
      <span>{fieldLabel(field.name)}</span>
      {options ? (
        <select className="field" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{usual}</option>
          {options.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input
          className="field"
          type={field.type === "integer" || field.type === "number" ? "number" : "text"}
          step={field.type === "integer" ? 1 : "any"}
          min={field.least}
          max={field.most}
          placeholder={usual}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </label>
  );
}
