import type { ComponentChildren, JSX } from "preact";
import { useErrorBoundary } from "preact/hooks";
import type { MoneyJson } from "../wire/fields.ts";
import { useApp, useFailureText } from "./app.ts";
import type { Format } from "./format.ts";
import type { Read } from "./reads.ts";
import { fill, type Language, type Texts } from "./texts.ts";

/** A button that submits no form, with a text on it. */
export function Button({ label, ...rest }: JSX.IntrinsicElements["button"] & { readonly label: string }) {
  return (
    <button type="button" {...rest}>
      {label}
    </button>
  );
}

interface LanguageButtonProps {
  readonly texts: Texts;
  readonly language: Language;
  readonly onClick: () => void;
}

/** Changes to the other language, in whose words it is labelled. */
export function LanguageButton({ texts, language, onClick }: LanguageButtonProps) {
  const other = language === "en" ? "pl" : "en";
  return <Button label={texts.language} class="plain" lang={other} onClick={onClick} />;
}

interface Column {
  readonly label: ComponentChildren;
  /** The class of the column's cells. */
  readonly class?: string;
  readonly title?: string | undefined;
}

/** A column of figures, which are aligned to the right. */
export function figures(label: ComponentChildren, title?: string): Column {
  return { label, class: "number", title };
}

const columnOf = (column: string | Column): Column =>
  typeof column === "string" ? { label: column } : column;

/** The head of a table. */
export function Columns({ of }: { readonly of: readonly (string | Column)[] }) {
  return (
    <thead>
      <tr>
        {of.map(columnOf).map(({ label, ...rest }, nth) => (
          <th key={nth} scope="col" {...rest}>
            {label}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface TableProps {
  readonly label?: string;
  readonly caption?: string;
  readonly class?: string;
  readonly columns: readonly (string | Column)[];
  readonly rows: readonly {
    readonly key: string | number;
    readonly class?: string | undefined;
    readonly cells: readonly ComponentChildren[];
  }[];
  /** Whether the first cell of a row is its head. */
  readonly hasRowHeads?: boolean;
  readonly foot?: ComponentChildren;
}

export function Table({ label, caption, columns, rows, hasRowHeads = false, foot, ...rest }: TableProps) {
  const classes = columns.map((column) => columnOf(column).class);
  return (
    <table aria-label={label} {...rest}>
      {caption !== undefined && <caption>{caption}</caption>}
      <Columns of={columns} />
      <tbody>
        {rows.map(({ key, class: name, cells }) => (
          <tr key={key} class={name}>
            {cells.map((cell, nth) =>
              hasRowHeads && nth === 0 ? (
                <th key={nth} scope="row" class={classes[nth]}>
                  {cell}
                </th>
              ) : (
                <td key={nth} class={classes[nth]}>
                  {cell}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
      {foot !== undefined && <tfoot>{foot}</tfoot>}
    </table>
  );
}

export type Fact = readonly [label: string, value: ComponentChildren];

interface FactsProps {
  readonly of: readonly Fact[];
  readonly class: string;
}

/** Labels with their values; a label without a value is left out. */
export function Facts({ of, ...rest }: FactsProps) {
  return (
    <dl {...rest}>
      {of.map(
        ([label, value]) =>
          value !== undefined && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

interface SumProps {
  readonly money: MoneyJson;
  readonly format: Format;
  readonly sign?: string;
}

/** An amount, whose currency goes to the next line where there is no room for both. */
export function Sum({ money: { symbol, amount }, format, sign = "" }: SumProps) {
  return (
    <>
      <span class="sum">
        {sign}
        {format.amount(amount, symbol)}
      </span>{" "}
      {symbol}
    </>
  );
}

interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly isBad?: boolean;
  readonly title?: string;
}

/** A figure that counts most, in a list of such. */
export function Tile({ label, value, isBad = false, title }: TileProps) {
  return (
    <div class={isBad ? "bad" : ""} title={title}>
      <dt>{label}</dt>
      <dd class="figures">{value}</dd>
    </div>
  );
}

/** The state of a read in place of its value or above it: loading, or the failure and the age of the value. */
export function ReadState({ read: { value, failure, isLoading, time } }: { readonly read: Read<unknown> }) {
  const { format, texts } = useApp();
  const failureText = useFailureText();
  if (failure !== undefined) {
    return (
      <p role="alert">
        {failureText(failure)}
        {value !== undefined && time !== undefined && ` ${fill(texts.asOf, format.time(time.toISOString()))}`}
      </p>
    );
  }
  return value === undefined && isLoading ? <p role="status">{texts.loading}</p> : null;
}

/** A part of the page whose errors, such as an answer of an unknown shape, leave the other parts standing. */
export function Part({ children }: { readonly children: ComponentChildren }) {
  const { texts } = useApp();
  const [error, retry] = useErrorBoundary();
  if (error === undefined) return <>{children}</>;
  return (
    <section class="card">
      <p role="alert">
        {texts.partFailed} <code>{String(error)}</code>
      </p>
      <Button label={texts.retry} onClick={retry} />
    </section>
  );
}
