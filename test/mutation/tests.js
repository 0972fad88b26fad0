import { test } from "node:test";

// Runs the test files that FX_TESTS names in this process, over SQLite alone: to start one for each takes as long as its
// tests. The first test lasts until all are loaded, since hooks after all tests run as soon as none is left.
process.env.FX_TEST_POSTGRES = "none";
let isLoaded;
const loaded = new Promise((resolve) => (isLoaded = resolve));
test("The files of this process are loaded", () => loaded);
for (const file of process.env.FX_TESTS.split(" ")) await import(new URL(`../../${file}`, import.meta.url));
isLoaded();
