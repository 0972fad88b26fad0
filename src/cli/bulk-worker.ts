import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import type { BulkLine } from "../core/service.ts";
import { answersText, linesOf } from "./bulk-message.ts";
import type { BulkReport, BulkTask, BulkWish } from "./bulk-thread.ts";
import { openService } from "./open.ts";

const { settings, rates } = workerData as BulkTask;
const port = parentPort as MessagePort;
const report = (message: BulkReport) => port.postMessage(message);

/** Nobody waits beside the bulk, and a page of the index of keys that many lines change is written once. */
const bulkLimit = 4096;

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
      yield texts.flatMap((text) => linesOf(text, answered));
    } else if (hasEnded) return;
    else {
      await new Promise<void>((resolve) => {
        tellChange = resolve;
      });
    }
  }
}

try {
  const service = await openService(settings, { rates, access: "write", bulkLimit });
  try {
    report("ready");
    for await (const answers of service.bulk(lines())) report({ answers: answersText(answers, answered) });
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
