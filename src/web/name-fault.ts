import type { Name } from "./requests.ts";
import type { Texts } from "./texts.ts";

/** The message about a new name of a holder; undefined if it can be saved. */
export function nameFault(before: Name, after: Name, texts: Texts): string | undefined {
  const [name, surname] = [after.name.trim(), after.surname.trim()];
  if (name === "" || surname === "") return texts.nameMissing;
  return name === before.name && surname === before.surname ? texts.nameSame : undefined;
}
