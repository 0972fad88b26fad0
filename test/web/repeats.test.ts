import assert from "node:assert/strict";
import { test } from "node:test";

// The types of these tests have no page.
const source = new URL("../../src/web/repeats.ts", import.meta.url).href;
const { ignoreStrayRepeats } = (await import(source)) as { ignoreStrayRepeats(page: object): void };

const heard = new Map<string, (event: object) => void>();
ignoreStrayRepeats({
  addEventListener: (type: string, hear: (event: object) => void) => heard.set(type, hear),
});

/** Whether an event does something. */
function isHeeded(type: string, given: object): boolean {
  let heeded = true;
  const preventDefault = () => {
    heeded = false;
  };
  heard.get(type)?.({ ...given, preventDefault, stopPropagation() {} });
  return heeded;
}

test("The second click of a double one presses the same button, and no other with the same words", () => {
  const click = (target: object | null, detail: number) =>
    isHeeded("click", { detail, target: { closest: () => target } });
  const [close, next] = [{ textContent: "Close" }, { textContent: "Close" }];
  assert.deepEqual(
    [click(close, 1), click(close, 2), click(next, 3), click(null, 4)],
    [true, true, false, true],
  );
  assert.ok(click(next, 1));
});

test("Enter held down presses once", () => {
  const press = (repeat: boolean) => isHeeded("keydown", { key: "Enter", repeat });
  assert.deepEqual([press(false), press(true)], [true, false]);
});
