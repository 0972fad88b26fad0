import { adult } from "./fixture.ts";

const pesel = adult();
const order = `${pesel} --from PLN --to USD --to-buy 1`;
const receipt = "019e9a70-3c5e-7000-8000-5d1f0c2b7a11";

/** Command lines that change nothing, one at least of every command that reads a ledger, but for doctor and watch. */
export const readingLines: readonly string[] = [
  ...[`account show ${pesel}`, "account list", `account history ${pesel}`, `account export ${pesel}`],
  ...[`account history ${pesel} --format camt.053`, "statements --month 2020-01 --out out"],
  ...["position", "till", "audit", "entries", "export --format hledger", "export --format register"],
  ...["rates show", "rates history USD", "trading show", "house show", "house history --account cash"],
  ...["quote --from PLN --to USD --to-buy 1", `exchange ${order} --dry-run`],
  `account deposit ${pesel} --amount 1 --currency USD --dry-run`,
  `account withdraw ${pesel} --amount 1 --currency PLN --dry-run`,
  "house deposit --account cash --amount 1 --currency USD --dry-run",
];

/** Command lines of every command that changes a ledger, or takes a receipt of it, and that makes none. */
export const changingLines: readonly string[] = [
  ...[`exchange ${order}`, `exchange ${order} --yes --key k-1`],
  `account deposit ${pesel} --amount 1 --currency PLN`,
  `account withdraw ${pesel} --amount 1 --currency PLN`,
  ...[`account rename ${pesel} --name Jan --surname Nowak`, `account close ${pesel}`],
  ...[`account block ${pesel} --reason freeze`, `account unblock ${pesel} --reason lifted`],
  ...[`receipt show ${receipt}`, `receipt proof ${receipt}`, `receipt reverse ${receipt} --reason slip`],
  ...["trading suspend --reason holiday", "trading resume"],
  "house deposit --account cash --amount 1 --currency PLN",
  "house withdraw --account bank --amount 1 --currency PLN",
  "backup copy.db",
];
