import type { PartialInputHTMLAttributes } from "preact";
import { useId, useState } from "preact/hooks";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp } from "./app.ts";
import { Button } from "./elements.tsx";
import { cannotBecomeValid, typedAmount } from "./format.ts";
import { endsBeforeItBegins, type TypedPeriod } from "./period.ts";
import { fill } from "./texts.ts";

interface FieldProps
  extends Omit<PartialInputHTMLAttributes<HTMLInputElement>, "value" | "type" | "role" | "list"> {
  readonly type?: "text" | "password" | "date" | "datetime-local";
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** The message about a wrong value. */
  readonly fault?: string | undefined;
  /** Why the form cannot be sent with this value. The browser says so when one tries. */
  readonly refusal?: string | undefined;
}

/** A text box with its label above it, and what is wrong with it below. */
export function Field({ label, value, onValue, fault, refusal = "", type = "text", ...rest }: FieldProps) {
  const own = useId();
  return (
    <div class="field">
      <label for={own}>{label}</label>
      <input
        // The types have other roles for each type; no role is given here.
        type={type as "text"}
        autocomplete="off"
        spellcheck={false}
        {...rest}
        id={own}
        ref={(input) => input?.setCustomValidity(refusal)}
        value={value}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={fault === undefined ? undefined : `${own}-fault`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <p class="fault" role="status" id={`${own}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

interface PeriodFieldsProps {
  readonly period: TypedPeriod;
  readonly onPeriod: (period: TypedPeriod) => void;
}

/** The first and the last day of a period. */
export function PeriodFields({ period, onPeriod }: PeriodFieldsProps) {
  const { texts } = useApp();
  return (
    <>
      <Field
        type="date"
        label={texts.since}
        value={period.from}
        max={period.to}
        onValue={(from) => onPeriod({ ...period, from })}
      />
      <Field
        type="date"
        label={texts.until}
        value={period.to}
        min={period.from}
        onValue={(to) => onPeriod({ ...period, to })}
        fault={endsBeforeItBegins(period) ? texts.periodBackwards : undefined}
      />
    </>
  );
}

interface AmountFieldProps extends FieldProps {
  readonly currency: string;
  readonly zero?: boolean;
  /** Whether the message about it stands elsewhere. */
  readonly isTold?: boolean;
}

/** A box for an amount, with what is surely wrong with it while it is typed. */
export function AmountField({ currency, zero = false, isTold = false, ...field }: AmountFieldProps) {
  const { texts } = useApp();
  const { value } = field;
  const amount = typedAmount(value, currency, { zero });
  const isFaulty = "fault" in amount && !isTold && cannotBecomeValid(value, amount.fault);
  return (
    <Field {...field} inputMode="decimal" fault={isFaulty ? texts.amountFault[amount.fault] : undefined} />
  );
}

/**
 * The fault of a form: told once it was refused, until something else is typed.
 * @param draft the content of the form, another object after each change
 */
export function useWrong(draft: object, wrong: string | undefined) {
  const [refused, setRefused] = useState<object>();
  return [refused === draft ? wrong : undefined, () => setRefused(draft)] as const;
}

interface AllOfItProps extends MoneyJson {
  /** Gets the amount as it would be typed. */
  readonly onChoice: (typed: string) => void;
}

/** A button that puts in a whole balance, if there is one. */
export function AllOfIt({ symbol, amount, onChoice }: AllOfItProps) {
  const { texts, format } = useApp();
  if (amount <= 0) return null;
  const label = fill(texts.allOfIt, format.money({ symbol, amount }));
  return <Button label={label} class="plain" onClick={() => onChoice(format.typed(amount, symbol))} />;
}

interface ChoiceFieldProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  /** The values, with the texts that stand for them. */
  readonly of: readonly (readonly [value: Value, text: string])[];
  readonly onValue: (value: Value) => void;
}

/** One of some values. */
export function ChoiceField<Value extends string>({ label, value, of, onValue }: ChoiceFieldProps<Value>) {
  const own = useId();
  return (
    <div class="field">
      <label for={own}>{label}</label>
      <select id={own} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value as Value)}>
        {of.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface CurrencyFieldProps extends Pick<FieldProps, "label" | "value" | "onValue"> {
  readonly codes: readonly string[];
}

/** One of some currencies, by its code. */
export function CurrencyField({ codes, ...field }: CurrencyFieldProps) {
  return <ChoiceField {...field} of={codes.map((code) => [code, code])} />;
}
