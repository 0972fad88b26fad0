/** A period of whole days: "2026-06-01", or "" for no bound. */
export interface TypedPeriod {
  readonly from: string;
  readonly to: string;
}

export function endsBeforeItBegins({ from, to }: TypedPeriod): boolean {
  return from !== "" && to !== "" && from > to;
}
