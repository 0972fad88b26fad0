import assert from "node:assert/strict";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from "playwright-core";

const named = process.env.FX_TEST_CHROMIUM;
const usual = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** The browser of the file's tests, or the reason for none. One named by FX_TEST_CHROMIUM has to start. */
const started = named === "none" ? "FX_TEST_CHROMIUM=none leaves the browser out" : await start();

/** The reason to skip browser tests, or false. */
export const noBrowser = typeof started === "string" ? started : false;

async function start(): Promise<Browser | string> {
  const path = named ?? installed();
  if (path === undefined) return "no Chromium is installed (apt-get install chromium)";
  try {
    const args = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"];
    // In other locales Chromium does not find files with non-ASCII paths.
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    const browser = await chromium.launch({ executablePath: path, args, env });
    after(() => browser.close());
    return browser;
  } catch (error) {
    if (named !== undefined) throw error;
    return `${path} does not start: ${(error as Error).message.split("\n")[0]}`;
  }
}

function installed(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap((folder) => usual.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Visit {
  readonly page: Page;
  readonly requests: readonly Request[];
  /** The requests that change something. */
  readonly changes: () => readonly Request[];
  /** Opens another tab, watched like the first. */
  readonly anotherTab: () => Promise<Page>;
}

/** The browser's own message for a failed request. */
const refused = /^Failed to load resource: (the server responded with a status of|net::ERR_)/;

/** Loads the page again without the refresh of every minute, which would hide that something else does not refresh. */
export async function withoutTimer(page: Page): Promise<void> {
  await page.addInitScript("globalThis.setInterval = () => 0");
  await page.reload();
}

/**
 * Opens a page of a server in a fresh browser profile. Afterwards the test fails if the page has sent a request to
 * another origin, written to the console, or left an error uncaught.
 */
export async function visit(
  t: TestContext,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  if (typeof started === "string") throw new Error(started);
  const context = await started.newContext({
    locale: "en-GB",
    timezoneId: "Europe/Warsaw",
    viewport: { width: 1440, height: 1000 },
    ...options,
  });
  context.setDefaultTimeout(120_000);
  const requests: Request[] = [];
  const wrong: string[] = [];
  context.on("request", (request) => {
    requests.push(request);
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && protocol !== "blob:") wrong.push(`asked for ${request.url()}`);
  });
  context.on("console", (message) => {
    if (!refused.test(message.text())) wrong.push(`${message.type()} on the console: ${message.text()}`);
  });
  context.on("weberror", (error) => wrong.push(`uncaught: ${error.error()}`));
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  const open = async () => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  return {
    page: await open(),
    requests,
    changes: () => requests.filter((request) => request.method() !== "GET"),
    anotherTab: open,
  };
}
