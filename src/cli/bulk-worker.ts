import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type CalendarDate, warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../core/service.ts";
import { bulkAnswerText, parseBulkLine } from "../wire/bulk.ts";
import type { BulkReport, BulkTask, BulkWish } from "./bulk-thread.ts";
import { openService } from "./open.ts";

const { settings, rates } = workerData as BulkTask;
const port = parentPort as MessagePort;
const report = (message: BulkReport) => port.postMessage(message);

/** Stands for a line that is its own answer. */
const answered = new FxError("internal", "This line was not sent.");
const waiting: string[] = [];
let hasEnded = false;
let tellChange = () => {};

port.on("message", (wish: BulkWish) => {
  if (wish === "end") hasEnded = true;
  else waiting.push(wish.lines);
  tellChange();
});

async function* lines(): AsyncGenerator<readonly BulkLine[]> {
  for (;;) {
    const texts = waiting.splice(0);
    if (texts.length > 0) {
      const today = warsawDate(new Date());
      yield texts
        .join("\n")
        .split("\n")
        .map((text) => (text === "" ? answered : lineOf(text, today)));
    } else if (hasEnded) return;
    else {
      await new Promise<void>((resolve) => {
        tellChange = resolve;
      });
    }
  }
}

function lineOf(text: string, today: CalendarDate): BulkLine {
  try {
    return parseBulkLine(text, today);
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

function textOf(answer: BulkAnswer): string {
  return answer === answered ? "null" : bulkAnswerText(1, answer, "");
}

try {
  const service = await openService(settings, { rates, access: "write" }, () => {});
  try {
    report("ready");
    for await (const answers of service.bulk(lines())) report({ answers: `[${answers.map(textOf)}]` });
  } finally {
    await service.close();
  }
} catch (error) {
  // The one that started it opens the ledger, too, and says what is wrong with it.
  if (!(error instanceof FxError)) throw error;
} finally {
  report("ended");
  port.close();
}
