import { parseOpening } from "../../../core/account.ts";
import { warsawDate } from "../../../core/date.ts";
import { type Decimal, parseDecimal } from "../../../core/decimal.ts";
import { parseTerms } from "../../../core/exchange.ts";
import { parsePesel } from "../../../core/pesel.ts";
import type { ExchangeService } from "../../../core/service.ts";
import type { Environment } from "../../terminal/terminal.ts";

/** Made up: the PESELs are valid, and nobody's that we know of. Each exchange is "from to amount-to-buy". */
const people = [
  {
    pesel: "80010112340",
    name: "Anna",
    surname: "Nowak",
    pln: "10000",
    exchanges: ["PLN USD 500", "PLN EUR 250.50"],
  },
  { pesel: "75061598768", name: "Jan", surname: "Kowalski", pln: "2500", exchanges: ["PLN JPY 30000"] },
  { pesel: "02291234562", name: "Zofia", surname: "Wiśniewska", pln: "1000", exchanges: [] },
] as const;

export async function openDemoAccounts(service: ExchangeService): Promise<void> {
  const today = warsawDate(new Date());
  for (const { pesel, name, surname, pln, exchanges } of people) {
    await service.createAccount(parseOpening({ pesel, name, surname, initial: decimal(pln) }, today));
    for (const exchange of exchanges) {
      const [from = "", to = "", toBuy = ""] = exchange.split(" ");
      await service.exchange({
        ...parseTerms({ from, to, toBuy: decimal(toBuy) }),
        pesel: parsePesel(pesel, today),
      });
    }
  }
}

export function describeDemo(url: string, env: Environment): string {
  const [first, second] = people;
  // Elsewhere than in the folder of a clone, npx would take another program from the registry.
  const isClone = env.npm_command !== undefined && !import.meta.url.includes("/node_modules/");
  const fx = isClone ? "npx fx" : "fx";
  const at = url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  const accounts = people.map(({ pesel, name, surname }) => `  ${pesel}  ${name} ${surname}`);
  return [
    "Accounts to try:",
    ...accounts,
    "",
    isClone ? "In another terminal, in the folder of fx:" : "In another terminal:",
    `  ${fx} rates${at}`,
    `  ${fx} account show ${first.pesel}${at}`,
    `  ${fx} exchange ${first.pesel} --from PLN --to USD --to-buy 100${at}`,
    `  ${fx} account history ${first.pesel}${at}`,
    `  curl ${url}/api/user/${second.pesel}`,
    "",
    "Ctrl-C stops the server, and all of this is gone.",
  ].join("\n");
}

function decimal(text: string): Decimal {
  return parseDecimal(text) as Decimal;
}
