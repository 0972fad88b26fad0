import { useApp, useFailureText } from "./app.ts";
import type { Read } from "./reads.ts";

/** What stands in place of, or above, what could not be read: that it is on its way, or why not, and how old the rest is. */
export function Unread({ read: { value, failure, isLoading, time } }: { readonly read: Read<unknown> }) {
  const { format, texts } = useApp();
  const failureText = useFailureText();
  if (failure !== undefined) {
    return (
      <p role="alert">
        {failureText(failure)}
        {value !== undefined && time !== undefined && ` ${texts.asOf(format.time(time.toISOString()))}`}
      </p>
    );
  }
  return value === undefined && isLoading ? <p role="status">{texts.loading}</p> : null;
}
