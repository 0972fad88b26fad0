import { useId } from "preact/hooks";
import { useCodes } from "./app.ts";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** What is wrong with it. */
  readonly fault?: string | undefined;
  readonly inputMode?: "numeric" | "decimal";
  readonly maxLength?: number;
  readonly placeholder?: string;
  /** Of the shortcut that leads here. */
  readonly "data-key"?: string;
}

/** A text box with its label above it, and what is wrong with it below. */
export function Field({ label, value, onValue, fault, ...rest }: FieldProps) {
  const own = useId();
  return (
    <div class="field">
      <label for={own}>{label}</label>
      <input
        type="text"
        autocomplete="off"
        spellcheck={false}
        {...rest}
        id={own}
        value={value}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={fault === undefined ? undefined : `${own}-fault`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <p class="fault" id={`${own}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

/** One of the currencies that accounts can hold, by its code. */
export function CurrencyField({ label, value, onValue }: Pick<FieldProps, "label" | "value" | "onValue">) {
  const own = useId();
  const codes = useCodes();
  return (
    <div class="field">
      <label for={own}>{label}</label>
      <select id={own} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {codes.map((code) => (
          <option key={code} value={code}>
            {code}
          </option>
        ))}
      </select>
    </div>
  );
}
