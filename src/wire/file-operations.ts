import { exportQuery } from "./ledger.ts";
import type { Operation } from "./operation.ts";
import { personalData } from "./personal-data.ts";
import { statementFileQuery } from "./statement-file.ts";

/** The operations whose answers are files for others. */
export const fileOperations = {
  statementFile: {
    method: "GET",
    path: "/api/user/{pesel}/statement",
    summary: "The statement of a period as a file",
    description:
      "All entries of the days from `from` to `to`, in Poland. `csv` is for a spreadsheet, newest first. `camt.053` is " +
      "camt.053.001.08 of ISO 20022: a statement for each currency, with balances before and after, oldest first. The " +
      "answer is a stream.",
    tag: "accounts",
    role: "viewer",
    query: statementFileQuery,
    success: { status: 200, types: ["text/csv", "application/xml"] },
    errors: ["invalid-pesel", "account-not-found", "storage-unavailable", "overloaded"],
  },
  personalData: {
    method: "GET",
    path: "/api/user/{pesel}/export",
    summary: "Everything that fx holds about one person",
    description:
      "For who asks under article 15 of the GDPR: the account, the words of names by which it is found, all entries with " +
      "notes, keys and the names of tokens, and the refusals that are kept under keys. `elsewhere` says what is not in it.",
    tag: "accounts",
    role: "operator",
    success: { status: 200, schema: personalData },
    errors: ["invalid-pesel", "account-not-found", "storage-unavailable", "overloaded"],
  },
  exportJournal: {
    method: "GET",
    path: "/api/export",
    summary: "The journal as double entry, or as the register of an exchange office",
    description:
      "Text that hledger or beancount reads, CSV with a line for each posting, or JSON with a line for each entry; in " +
      "the order in which the entries were made. Each entry balances in each currency. Customers are told apart by an " +
      "id that is made of the PESEL and a secret of the ledger. `register` is CSV for Excel in Poland: the purchases and " +
      "sales of foreign currency as a Polish exchange office records them. The answer is a stream. Its last line says that " +
      "it came to its end, and with how many entries; without that line it is to be thrown away.",
    tag: "ledger",
    role: "operator",
    query: exportQuery,
    success: { status: 200, types: ["text/plain", "text/csv", "application/x-ndjson"] },
    errors: ["storage-unavailable", "overloaded"],
  },
} as const satisfies Record<string, Operation>;
